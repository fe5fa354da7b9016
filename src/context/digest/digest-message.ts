import { element, escapeText } from "../../core/markup.ts";
import type { BlockedMessage } from "./blocks.ts";

/** A message as a digest shows it: some of its blocks, or all. */
export interface DigestMessage {
  id: number;
  seq: number;
  stepId: number;
  /** `verbatim` if every word of the message is shown. */
  how: "verbatim" | "shortened";
  text: string;
}

export function digestMessage(source: BlockedMessage, chosen: ReadonlySet<number>): DigestMessage {
  const { id, seq, stepId, text, blocks, isWhole } = source;
  const pieces: string[] = [];
  let start = -1;
  for (const [index, block] of blocks.entries()) {
    if (!chosen.has(index)) {
      if (pieces.at(-1) !== "…") pieces.push("…");
      continue;
    }
    if (start === -1) start = block.start;
    if (chosen.has(index + 1)) continue;
    pieces.push(escapeText(text.slice(start, block.end)));
    start = -1;
  }
  const isAll = chosen.size === blocks.length;
  const how = isWhole && isAll ? "verbatim" : "shortened";
  const content = isAll ? escapeText(text) : pieces.join("\n");
  return { id, seq, stepId, how, text: messageTag(source, content) };
}

export function messageTag({ id, role, name }: BlockedMessage, content: string): string {
  return element("m", { id, by: name ?? role }, content);
}
