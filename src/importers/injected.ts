import { around, type Piece, piecesOfUser } from "../core/harness.ts";
import type { Part, TextPart } from "../core/message.ts";

/** Marks parts that a program put into a conversation. */
export function injected(parts: readonly Part[]): Part[] {
  return parts.map((part) => ({ ...part, injected: true }));
}

/** Marks what stands around the words of the user, which are in an element of this name, word for word. */
export function wordsWithin(element: string, part: Part): Part[] {
  if (part.type !== "text") return [part];
  const opening = part.text.indexOf(`<${element}>`);
  const closing = part.text.lastIndexOf(`</${element}>`);
  if (opening === -1 || closing < opening) return [part];
  return partsOf(part, around(part.text, opening + element.length + 2, closing));
}

/** Marks what a program wrote into a message of the user. A text that is the user's in part is split, word for word. */
export function markedParts(parts: readonly Part[]): Part[] {
  return parts.flatMap((part) => {
    return part.type !== "text" || part.injected === true ? [part] : partsOf(part, piecesOfUser(part.text));
  });
}

function partsOf(part: TextPart, pieces: readonly Piece[]): Part[] {
  if (pieces.every(({ isInjected }) => !isInjected)) return [part];
  return pieces.map(({ text, isInjected }) => ({ ...part, text, ...(isInjected && { injected: true }) }));
}
