import { element, escapeText } from "../core/markup.ts";
import type { Message, Part, ToolCallPart, ToolResultPart } from "../core/message.ts";
import { describeFile, textOf, withoutBytes } from "../core/text.ts";
import { distill } from "./tool-output/distill.ts";
import { sharesOf, shorten } from "./tool-output/shorten.ts";

export interface MessageElement {
  text: string;
  /** True if the text holds every word of the message. */
  whole: boolean;
}

/**
 * Writes a message as an element: `<message id="12" seq="9" role="user">…</message>`. Reasoning, files and bytes are only
 * named; `whole` is then false.
 */
export function messageElement(message: Message): MessageElement {
  const { id, seq, role, name } = message;
  const { text, whole } = messageText(message);
  return { text: element("message", { id, seq, role, name }, escapeText(text)), whole };
}

/** Writes a message in at most `charsMax` characters. Long texts keep head and tail; calls and results are distilled. */
export function cutMessage({ id, parts }: Message, charsMax: number): MessageElement {
  const texts = parts.map(partText);
  const { text, whole } = joined(texts);
  if (text.length <= charsMax) return { text, whole };
  const shares = sharesOf(
    texts.map((part) => part.text.length),
    charsMax - (parts.length - 1),
  );
  const cut = parts.map((part, index) => {
    const [whole, share, source] = [texts[index]!.text, shares[index]!, `message ${id}`];
    const heading = headingOf(part);
    if (part.type === "text" || heading.length >= share) return shorten(whole, share, source);
    return heading + distill(whole.slice(heading.length), share - heading.length, source);
  });
  return { text: cut.join("\n"), whole: false };
}

export function messageText({ parts }: Pick<Message, "parts">): MessageElement {
  return joined(parts.map(partText));
}

/**
 * Writes a message as a digest and a snippet have it: a call by its name and the strings in its arguments, a result by its content.
 * Reasoning is only named if there is nothing else.
 */
export function plainMessageText({ parts }: Pick<Message, "parts">): MessageElement {
  const said = parts.filter(({ type }) => type !== "reasoning");
  const texts = (said.length > 0 ? said : parts).map((part) => {
    if (part.type === "tool_call") return { text: callText(part), whole: false };
    return part.type === "tool_result" ? resultText(part) : partText(part);
  });
  const { text, whole } = joined(texts);
  return { text, whole: whole && said.length === parts.length };
}

function callText(part: ToolCallPart): string {
  return (textOf([part]) || part.name).replace("\n", " ");
}

function joined(texts: readonly MessageElement[]): MessageElement {
  return { text: texts.map(({ text }) => text).join("\n"), whole: texts.every(({ whole }) => whole) };
}

function partText(part: Part): MessageElement {
  switch (part.type) {
    case "text":
      return plainText(part.text);
    case "reasoning":
      return { text: "[reasoning]", whole: false };
    case "tool_call":
      return headed(part, plainText(JSON.stringify(part.args) ?? ""));
    case "tool_result":
      return headed(part, resultText(part));
    case "file":
      return { text: `[file ${describeFile(part)}]`, whole: false };
    case "data":
      return plainText(JSON.stringify(part.data) ?? "");
  }
}

function plainText(said: string): MessageElement {
  const text = withoutBytes(said);
  return { text, whole: text === said };
}

function headed(part: Part, { text, whole }: MessageElement): MessageElement {
  return { text: headingOf(part) + text, whole };
}

/** Returns the words that name a call or a result. They stay whole if the text after them is cut. */
function headingOf(part: Part): string {
  if (part.type === "tool_call") return `[call ${part.name}] `;
  if (part.type !== "tool_result") return "";
  return `[${part.isError === true ? "error" : "result"}${part.name === undefined ? "" : ` ${part.name}`}] `;
}

function resultText({ content }: ToolResultPart): MessageElement {
  return typeof content === "string" ? plainText(content) : joined(content.map(partText));
}
