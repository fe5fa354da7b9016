import type { Message, Part, Role } from "../../src/core/message.ts";
import { textOf } from "../../src/core/text.ts";
import { partsTokens } from "../../src/core/tokens.ts";
import { quarterCounter } from "./render-model.ts";

/** A stored message whose id is its seq. It costs 4 tokens and a quarter of the characters that the model is sent of it. */
export function messageOf(seq: number, role: Role, parts: Part[], stepId = seq): Message {
  return {
    id: seq,
    sessionId: "s1",
    seq,
    role,
    parts,
    text: textOf(parts),
    tokenCount: partsTokens(parts, quarterCounter),
    createdAtMs: 0,
    turnSeq: 0,
    stepId,
    pinned: role === "system",
  };
}

/** A message of one text that costs `tokens`, at least 4. */
export function textMessage(seq: number, role: Role, tokens: number): Message {
  return messageOf(seq, role, [{ type: "text", text: "abc ".repeat(tokens - 4) }]);
}

export function call(toolCallId: string, name: string, args: unknown = {}): Part {
  return { type: "tool_call", toolCallId, name, args };
}

export function result(toolCallId: string, content: string): Part {
  return { type: "tool_result", toolCallId, content };
}
