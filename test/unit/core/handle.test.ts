import { expect, test } from "vitest";
import { formatHandle, parseHandle } from "../../../src/core/handle.ts";

test.each([
  ["cluster:123", { level: "cluster", root: 123, position: undefined }],
  ["theme:123@456", { level: "theme", root: 123, position: 456 }],
  ["subject:77@460", { level: "subject", root: 77, position: 460 }],
  ["span:12@480", { level: "span", root: 12, position: 480 }],
  ["theme:9007199254740991", { level: "theme", root: 9007199254740991, position: undefined }],
] as const)("reads and writes %s", (text, handle) => {
  expect(parseHandle(text)).toEqual(handle);
  expect(formatHandle(handle.level, handle.root, handle.position)).toBe(text);
});

test.each([
  ["", "expected a level, a colon and a number"],
  ["123", "expected a level, a colon and a number"],
  ["session:1", "expected a level, a colon and a number"],
  ["theme:", "expected a level, a colon and a number"],
  ["theme:-1", "expected a level, a colon and a number"],
  ["theme:1@", "expected a level, a colon and a number"],
  ["theme:1@2 ", "expected a level, a colon and a number"],
  ["span:12", "a span also names its last message: span:12@480"],
  ["theme:9007199254740992", "its number is too large"],
  ["theme:1@9007199254740992", "its number is too large"],
])("refuses %j", (text, reason) => {
  expect(() => parseHandle(text)).toThrow(
    expect.objectContaining({ code: "HANDLE_INVALID", details: { handle: text, reason } }),
  );
});
