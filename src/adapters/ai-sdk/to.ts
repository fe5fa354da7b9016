import type { ModelMessage } from "ai";
import type { Part } from "../../core/message.ts";
import { type Fields, ownOf } from "../shared/own.ts";
import { textOrList } from "../shared/plain-text.ts";
import { CallNames, isContent, isForeignBlock, partsOf, type Speech, standInFor } from "../shared/speech.ts";
import { partOfFile } from "./files.ts";
import { partOfResult } from "./outputs.ts";

/**
 * Our messages, those of a rendered context above all, as model messages of the AI SDK: one for each. Which of them a
 * provider takes, and how, is what the SDK sees to. Words stand for data, and for files in a system's message; texts of one
 * system message are joined by line breaks, as it takes no list. Parts of a UI message that are there for the user alone are left out.
 */
export function toAiSdk(messages: readonly Speech[]): ModelMessage[] {
  const names = new CallNames();
  const translated = messages.map((message) => {
    const { fields, form } = ownOf(message.metadata, "aiSdk");
    const parts = partsOf(message);
    names.learn(parts);
    return { ...fields, role: message.role, content: contentOf(message.role, parts, form, names) };
  });
  return translated as unknown as ModelMessage[];
}

function contentOf(role: Speech["role"], parts: readonly Part[], form: Fields, names: CallNames): unknown {
  const isList = form.content === "list";
  if (role === "system" && !isList) {
    return parts
      .filter(isContent)
      .map((part) => (part.type === "text" ? part.text : standInFor(part)))
      .join("\n");
  }
  return textOrList(
    parts.filter((part) => !isForeignBlock(part, "aiSdkUi")).map((part) => partFor(part, names)),
    isList,
  );
}

function partFor(part: Part, names: CallNames): unknown {
  if (isForeignBlock(part, "aiSdk")) return part.data;
  const { fields, form } = ownOf(part, "aiSdk");
  switch (part.type) {
    case "text":
    case "reasoning":
      return { ...fields, type: part.type, text: part.text };
    case "tool_call":
      return {
        ...fields,
        type: "tool-call",
        toolCallId: part.toolCallId,
        toolName: part.name,
        input: part.args === undefined ? {} : part.args,
      };
    case "tool_result": {
      if (form.as !== "tool-approval-response") return partOfResult(part, names.nameFor(part));
      const [reason] = typeof part.content === "string" ? [] : part.content;
      const told = reason?.type === "text" ? { reason: reason.text } : {};
      return { ...fields, type: form.as, approvalId: part.toolCallId, ...told };
    }
    case "file":
      return (part.data ?? part.url) === undefined ? { type: "text", text: standInFor(part) } : partOfFile(part);
    case "data":
      return { type: "text", text: standInFor(part) };
  }
}
