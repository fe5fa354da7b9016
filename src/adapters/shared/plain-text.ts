import type { Part } from "../../core/message.ts";
import { isObject, type Provider } from "./own.ts";

/** Returns true for a single text without provider fields. It is sent as a string unless it was a list. */
export function isPlainText(parts: readonly Part[], provider: Provider): boolean {
  const [only] = parts;
  return parts.length === 1 && only!.type === "text" && !(provider in only!);
}

/** Returns a string for a single plain text block that was not a list, else the blocks. */
export function textOrList(blocks: readonly unknown[], isList: boolean): unknown {
  const [only] = blocks;
  const isText = blocks.length === 1 && isObject(only) && only.type === "text" && Object.keys(only).length === 2;
  return isText && !isList ? only.text : blocks;
}
