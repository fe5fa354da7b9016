import type { Message, Part, ToolResultPart } from "../core/message.ts";
import { describeFile } from "../core/text.ts";
import { element, escapeText } from "./escape.ts";
import { shorten } from "./shorten.ts";

export interface MessageElement {
  text: string;
  /** Whether every word of the message is in it. */
  whole: boolean;
}

/**
 * A message as evidence: `<message id="12" seq="9" role="user">…</message>`.
 *
 * Calls and results stand in it as text. Reasoning is left out, files are only named: such a message is not whole.
 *
 * @param charsMax  Most characters of its text, before escaping; more are cut out of the middle.
 */
export function messageElement(message: Message, charsMax = Number.POSITIVE_INFINITY): MessageElement {
  const { id, seq, role, name } = message;
  const whole = message.parts.map(textOf).join("\n");
  const text = shorten(whole, charsMax, `message ${id}`);
  return {
    text: element("message", { id, seq, role, name }, escapeText(text)),
    whole: text === whole && message.parts.every(isText),
  };
}

function textOf(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "reasoning":
      return "[reasoning]";
    case "tool_call":
      return `[call ${part.name}] ${JSON.stringify(part.args) ?? ""}`;
    case "tool_result":
      return `[${part.isError === true ? "error" : "result"}${part.name === undefined ? "" : ` ${part.name}`}] ${contentOf(part)}`;
    case "file":
      return `[file ${describeFile(part)}]`;
    case "data":
      return JSON.stringify(part.data) ?? "";
  }
}

function contentOf({ content }: ToolResultPart): string {
  return typeof content === "string" ? content : content.map(textOf).join("\n");
}

function isText(part: Part): boolean {
  if (part.type === "tool_result" && typeof part.content !== "string") return part.content.every(isText);
  return part.type !== "reasoning" && part.type !== "file";
}
