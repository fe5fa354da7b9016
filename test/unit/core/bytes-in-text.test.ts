import { expect, test } from "vitest";
import { textOf, withoutBytes } from "../../../src/core/text.ts";

const bytes = "Aa1/".repeat(100); // 400 letters are 300 bytes

test("names bytes by their size, and those of a data URL by type and size", () => {
  expect(withoutBytes(`before ${bytes} after`)).toBe("before [base64, 300 bytes] after");
  expect(withoutBytes(`<img src="data:image/png;base64,${bytes}A==">`)).toBe('<img src="[image/png, 300 bytes]">');
  expect(withoutBytes(`${bytes}\n${bytes}`)).toBe("[base64, 300 bytes]\n[base64, 300 bytes]");
});

test("leaves hashes, long words and code", () => {
  for (const text of [
    "0123456789abcdef".repeat(30),
    "a".repeat(1_000),
    "Aa1/".repeat(63),
    "callMe1(x); ".repeat(100),
  ]) {
    expect(withoutBytes(text)).toBe(text);
  }
});

test("the text that is searched and summarized has no bytes", () => {
  const text = textOf([
    { type: "text", text: `see ${bytes}` },
    { type: "data", data: { source: { media_type: "image/png", data: bytes } } },
    { type: "tool_result", toolCallId: "c1", content: `saved ${bytes}` },
  ]);
  expect(text).toBe("see [base64, 300 bytes]\nimage/png\n[base64, 300 bytes]\nsaved [base64, 300 bytes]");
});
