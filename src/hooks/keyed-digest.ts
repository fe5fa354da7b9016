import { linkSync, rmSync, writeFileSync } from "node:fs";
import { readSmall } from "../core/files.ts";

const KEY_BYTES = 16;

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
  const key = crypto.getRandomValues(Buffer.alloc(KEY_BYTES));
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

/**
 * Returns a digest of a text that says nothing about it to those who lack the key: SipHash-2-4 (Aumasson and Bernstein, 2012).
 * Loading `node:crypto` would take longer than the rest of a hook.
 */
export function keyedDigest(key: Uint8Array, text: string): string {
  const bytes = Buffer.from(text);
  const whole = bytes.length - (bytes.length % 8);
  const last = Buffer.alloc(8);
  bytes.copy(last, 0, whole);
  last[7] = bytes.length;
  const keys = words(Buffer.from(key), 0).concat(words(Buffer.from(key), 8));
  const state = Uint32Array.from(START, (word, index) => word ^ keys[index % 4]!);
  for (let at = 0; at < whole; at += 8) compress(state, words(bytes, at));
  compress(state, words(last, 0));
  state[4]! ^= 0xff;
  for (let count = 0; count < 4; count++) round(state);
  const half = (index: number): string => {
    const folded = state[index]! ^ state[index + 2]! ^ state[index + 4]! ^ state[index + 6]!;
    return (folded >>> 0).toString(16).padStart(8, "0");
  };
  return half(1) + half(0);
}

/** "somepseudorandomlygeneratedbytes" as four numbers of 64 bits, each as its lower and its upper half. */
const START = [0x70736575, 0x736f6d65, 0x6e646f6d, 0x646f7261, 0x6e657261, 0x6c796765, 0x79746573, 0x74656462];

function words(bytes: Buffer, at: number): number[] {
  return [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)];
}

function compress(state: Uint32Array, [low, high]: readonly number[]): void {
  state[6]! ^= low!;
  state[7]! ^= high!;
  round(state);
  round(state);
  state[0]! ^= low!;
  state[1]! ^= high!;
}

function round(state: Uint32Array): void {
  mix(state, 0, 2, 13);
  turn(state, 0, 32);
  mix(state, 4, 6, 16);
  mix(state, 0, 6, 21);
  mix(state, 4, 2, 17);
  turn(state, 4, 32);
}

/** Adds the second number to the first, turns the second, and mixes the sum into it. */
function mix(state: Uint32Array, first: number, second: number, bits: number): void {
  const low = state[first]! + state[second]!;
  state[first] = low;
  state[first + 1]! += state[second + 1]! + (low > 0xffffffff ? 1 : 0);
  turn(state, second, bits);
  state[second]! ^= state[first]!;
  state[second + 1]! ^= state[first + 1]!;
}

function turn(state: Uint32Array, at: number, bits: number): void {
  const [low, high] = [state[at]!, state[at + 1]!];
  if (bits === 32) {
    state[at] = high;
    state[at + 1] = low;
    return;
  }
  state[at] = (low << bits) | (high >>> (32 - bits));
  state[at + 1] = (high << bits) | (low >>> (32 - bits));
}
