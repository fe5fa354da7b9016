import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keyAt, keyedDigest } from "../../../src/hooks/keyed-digest.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";

const KEY = Uint8Array.from({ length: 16 }, (_, index) => index);

test("a digest is SipHash-2-4", () => {
  const bytes = (length: number) => String.fromCharCode(...Array.from({ length }, (_, index) => index));
  // The vectors of the paper and of its authors' program.
  expect(keyedDigest(KEY, bytes(15))).toBe("a129ca6149be45e5");
  expect(keyedDigest(KEY, "")).toBe("726fdb47dd0e0e31");
  expect(keyedDigest(KEY, bytes(8))).toBe("93f5f5799a932462");
});

test("another key gives another digest", () => {
  expect(keyedDigest(KEY.slice().fill(7), "4711")).not.toBe(keyedDigest(KEY, "4711"));
});

test("a key is made once, for its owner alone, and differs from store to store", () => {
  const folder = temporaryFolder();
  const path = join(folder, "key");
  const key = keyAt(path);
  expect(keyAt(path)).toEqual(key);
  expect(statSync(path).mode & 0o077).toBe(0);
  expect(readFileSync(path, "utf8")).toMatch(/^[\da-f]{32}$/);
  const other = join(folder, "other");
  mkdirSync(other);
  expect(keyAt(join(other, "key"))).not.toEqual(key);
  expect(keyAt(join(folder, "none", "key"))).toHaveLength(16);
  expect(existsSync(join(folder, "none"))).toBe(false);
});
