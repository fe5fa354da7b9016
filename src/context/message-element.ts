import { withoutBytes } from "../core/bytes-in-text.ts";
import { element, escapeText } from "../core/markup.ts";
import type { Message, Part, ToolResultPart } from "../core/message.ts";
import { describeFile } from "../core/text.ts";
import { distill } from "./distill.ts";
import { sharesOf } from "./shares.ts";
import { shorten } from "./shorten.ts";

export interface MessageElement {
  text: string;
  /** Whether every word of the message is in it. */
  whole: boolean;
}

/**
 * A message as evidence: `<message id="12" seq="9" role="user">…</message>`.
 *
 * Calls and results stand in it as text. Reasoning is left out, files and bytes are only named: such a message is not whole.
 *
 * @param charsMax  Most characters of its text, before escaping. Where it has more, each part gets its share, see `sharesOf`;
 *   what was said keeps head and tail, and what tools were told and said is distilled.
 */
export function messageElement(message: Message, charsMax = Number.POSITIVE_INFINITY): MessageElement {
  const { id, seq, role, name } = message;
  const { text, whole } = cutMessage(message, charsMax);
  return { text: element("message", { id, seq, role, name }, escapeText(text)), whole };
}

/** What stands in such an element, before escaping. */
export function cutMessage({ id, parts }: Message, charsMax: number): MessageElement {
  const pieces = parts.map(pieceOf);
  const { text, whole } = joined(pieces);
  if (text.length <= charsMax) return { text, whole };
  const shares = sharesOf(
    pieces.map((piece) => piece.text.length),
    charsMax - (parts.length - 1),
  );
  const cut = parts.map((part, index) => {
    const [piece, share, source] = [pieces[index]!.text, shares[index]!, `message ${id}`];
    const heading = headingOf(part);
    if (part.type === "text" || heading.length >= share) return shorten(piece, share, source);
    return heading + distill(piece.slice(heading.length), share - heading.length, source);
  });
  return { text: cut.join("\n"), whole: false };
}

/** The same without a limit: all that can be written of a message. */
export function messageText({ parts }: Pick<Message, "parts">): MessageElement {
  return joined(parts.map(pieceOf));
}

function joined(pieces: readonly MessageElement[]): MessageElement {
  return { text: pieces.map(({ text }) => text).join("\n"), whole: pieces.every(({ whole }) => whole) };
}

function pieceOf(part: Part): MessageElement {
  switch (part.type) {
    case "text":
      return ofText(part.text);
    case "reasoning":
      return { text: "[reasoning]", whole: false };
    case "tool_call":
      return headed(part, ofText(JSON.stringify(part.args) ?? ""));
    case "tool_result":
      return headed(part, contentOf(part));
    case "file":
      return { text: `[file ${describeFile(part)}]`, whole: false };
    case "data":
      return ofText(JSON.stringify(part.data) ?? "");
  }
}

function ofText(said: string): MessageElement {
  const text = withoutBytes(said);
  return { text, whole: text === said };
}

function headed(part: Part, { text, whole }: MessageElement): MessageElement {
  return { text: headingOf(part) + text, whole };
}

/** Says what follows. Stays when that is cut. */
function headingOf(part: Part): string {
  if (part.type === "tool_call") return `[call ${part.name}] `;
  if (part.type !== "tool_result") return "";
  return `[${part.isError === true ? "error" : "result"}${part.name === undefined ? "" : ` ${part.name}`}] `;
}

function contentOf({ content }: ToolResultPart): MessageElement {
  return typeof content === "string" ? ofText(content) : joined(content.map(pieceOf));
}
