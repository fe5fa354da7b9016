import { createHmac, randomBytes } from "node:crypto";
import { linkSync, rmSync, writeFileSync } from "node:fs";
import { readSmall } from "../core/files.ts";

const KEY_BYTES = 16;
const DIGEST_CHARS = 16;

/**
 * Returns the key of a store's hooks, a file beside their log. It is made when it is missing. If it cannot be made, the log cannot be
 * written either, and the key is good for this process alone.
 */
export function keyAt(path: string): Uint8Array {
  return keyIn(path) ?? newKeyAt(path);
}

function keyIn(path: string): Uint8Array | undefined {
  try {
    const key = Buffer.from(readSmall(path, 2 * KEY_BYTES), "hex");
    return key.length === KEY_BYTES ? key : undefined;
  } catch {
    return undefined;
  }
}

function newKeyAt(path: string): Uint8Array {
  const key = randomBytes(KEY_BYTES);
  const written = `${path}.${process.pid}`;
  try {
    writeFileSync(written, key.toString("hex"), { mode: 0o600 });
    try {
      linkSync(written, path); // fails if another process was first
    } finally {
      rmSync(written, { force: true });
    }
  } catch {
    return keyIn(path) ?? key;
  }
  return key;
}

/** Returns a digest of a text that says nothing about it to those who lack the key. */
export function keyedDigest(key: Uint8Array, text: string): string {
  return createHmac("sha256", key).update(text).digest("hex").slice(0, DIGEST_CHARS);
}
