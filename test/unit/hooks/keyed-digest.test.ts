import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keyAt, keyedDigest } from "../../../src/hooks/keyed-digest.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";

const KEY = Uint8Array.from({ length: 16 }, (_, index) => index);

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
