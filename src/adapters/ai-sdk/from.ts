import type { ModelMessage } from "ai";
import type { Part, ReasoningPart, ToolCallPart, ToolResultPart } from "../../core/message.ts";
import { type AdaptedMessage, isPlainText, type Reader, readBlock, refuse, textReader } from "../shared/message.ts";
import { type Fields, isName, keep, keepInMetadata } from "../shared/own.ts";
import { readFile } from "./files.ts";
import { readResult } from "./outputs.ts";

/**
 * Converts model messages of the AI SDK, one to one. Unknown fields, such as provider options, are kept under `aiSdk` in the part
 * or in `metadata`, and `toAiSdk` restores them. Bytes and `URL` objects become strings, which the SDK also accepts. Calls that
 * the provider runs itself become `data` parts, together with their results.
 *
 * @param messages  The messages of a prompt, or what a result adds: `response.messages` in version 6, `responseMessages` in version 7.
 * @throws {StoreError} `MESSAGE_INVALID` for an unknown role, for content that is neither a string nor an array, and for
 *   a part of a tool message that is not a result.
 */
export function fromAiSdk(messages: ModelMessage | readonly ModelMessage[]): AdaptedMessage[] {
  return [messages].flat().map((message, index) => messageOf(message as unknown as Fields, `messages[${index}]`));
}

const CONTENT_READERS = [textReader("aiSdk"), readFile];

/** Unknown kinds of part are kept whole in a `data` part. */
const READERS: Record<AdaptedMessage["role"], Reader<Part>[]> = {
  system: CONTENT_READERS,
  user: CONTENT_READERS,
  assistant: [readReasoning, readCall, ...CONTENT_READERS],
  tool: [readResult, readApproval],
};

function messageOf({ role, content, ...fields }: Fields, path: string): AdaptedMessage {
  if (role !== "system" && role !== "user" && role !== "assistant" && role !== "tool") {
    return refuse(`${path}.role`, `the AI SDK has no role ${JSON.stringify(role)}`);
  }
  if (typeof content === "string" && role !== "tool") {
    return { role, parts: [{ type: "text", text: content }], ...keepInMetadata("aiSdk", fields) };
  }
  if (!Array.isArray(content)) return refuse(`${path}.content`, "it is neither text nor a list");
  const parts = content.map((block, index) => {
    const part = readBlock("aiSdk", block, READERS[role]);
    if (role === "tool" && part.type !== "tool_result") {
      refuse(`${path}.content[${index}]`, "a tool message holds results");
    }
    return part;
  });
  return {
    role,
    parts,
    ...keepInMetadata("aiSdk", fields, { content: isPlainText(parts, "aiSdk") ? "list" : undefined }),
  };
}

function readReasoning({ type, text, ...fields }: Fields): ReasoningPart | undefined {
  return type === "reasoning" && typeof text === "string" ? { type, text, ...keep("aiSdk", fields) } : undefined;
}

function readCall({ type, toolCallId, toolName, input, ...fields }: Fields): ToolCallPart | undefined {
  const isOurs = type === "tool-call" && fields.providerExecuted !== true;
  if (!isOurs || !isName(toolCallId) || !isName(toolName)) return undefined;
  return { type: "tool_call", toolCallId, name: toolName, args: input, ...keep("aiSdk", fields) };
}

/** Stores a person's answer to an approval request as the result of a call with the request's id. */
function readApproval({ type, approvalId, reason, ...fields }: Fields): ToolResultPart | undefined {
  if (type !== "tool-approval-response" || !isName(approvalId)) return undefined;
  const isText = typeof reason === "string";
  const kept = keep("aiSdk", isText ? fields : { ...fields, reason }, { as: type });
  const content = isText ? [{ type: "text" as const, text: reason }] : [];
  return { type: "tool_result", toolCallId: approvalId, content, ...kept };
}
