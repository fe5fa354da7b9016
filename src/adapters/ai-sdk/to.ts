import type { ModelMessage } from "ai";
import type { Part } from "../../core/message.ts";
import { wellFormed } from "../../core/well-formed.ts";
import {
  type AnyMessage,
  CallNames,
  hasContent,
  isContent,
  isUnknownBlock,
  partsOf,
  standInFor,
  textOfContents,
  textOrList,
} from "../shared/message.ts";
import { type Fields, ownOf } from "../shared/own.ts";
import { partOfFile } from "./files.ts";
import { partOfResult } from "./outputs.ts";

/**
 * Converts our messages, usually those of a rendered context, to model messages of the AI SDK, one to one. Data becomes text,
 * and so do files in a system message. The texts of a system message are joined by line breaks, because the SDK takes one
 * string there. UI parts that only the user should see are left out.
 */
export function toAiSdk(messages: readonly AnyMessage[]): ModelMessage[] {
  const names = new CallNames();
  const translated = wellFormed(messages).map((message) => {
    const { fields, form } = ownOf(message.metadata, "aiSdk");
    const parts = partsOf(message);
    names.learn(parts);
    return { ...fields, role: message.role, content: modelContent(message.role, parts, form, names) };
  });
  return translated as unknown as ModelMessage[];
}

function modelContent(role: AnyMessage["role"], parts: readonly Part[], form: Fields, names: CallNames): unknown {
  const isList = form.content === "list";
  if (role === "system" && !isList) return textOfContents(parts.filter(isContent));
  const shown = parts.filter((part) => !isUnknownBlock(part, "aiSdkUi"));
  const blocks = shown.map((part) => partFor(part, names));
  return textOrList(blocks, isList);
}

function partFor(part: Part, names: CallNames): unknown {
  if (isUnknownBlock(part, "aiSdk")) return part.data;
  const { fields, form } = ownOf(part, "aiSdk");
  switch (part.type) {
    case "text":
    case "reasoning":
      return { ...fields, type: part.type, text: part.text };
    case "tool_call": {
      const { toolCallId, name: toolName, args } = part;
      return { ...fields, type: "tool-call", toolCallId, toolName, input: args === undefined ? {} : args };
    }
    case "tool_result": {
      if (form.as !== "tool-approval-response") return partOfResult(part, names.nameFor(part));
      const [reason] = typeof part.content === "string" ? [] : part.content;
      const told = reason?.type === "text" ? { reason: reason.text } : {};
      return { ...fields, type: form.as, approvalId: part.toolCallId, ...told };
    }
    case "file":
      return hasContent(part) ? partOfFile(part) : { type: "text", text: standInFor(part) };
    case "data":
      return { type: "text", text: standInFor(part) };
  }
}
