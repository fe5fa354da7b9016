import type { Part } from "../../core/message.ts";
import { isObject, type Provider } from "./own.ts";

/** One text with nothing of the provider's beside it: it is sent as a string, unless it was a list. */
export function isPlainText(parts: readonly Part[], provider: Provider): boolean {
  const [only] = parts;
  return parts.length === 1 && only!.type === "text" && !(provider in only!);
}

/** The same seen from the other side: a string for one block of text, if it was no list. */
export function textOrList(blocks: readonly unknown[], isList: boolean): unknown {
  const [only] = blocks;
  const isText = blocks.length === 1 && isObject(only) && only.type === "text" && Object.keys(only).length === 2;
  return isText && !isList ? only.text : blocks;
}
