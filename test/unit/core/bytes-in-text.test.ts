import { expect, test } from "vitest";
import { withoutBytes } from "../../../src/core/bytes-in-text.ts";
import { textOf } from "../../../src/core/text.ts";
import { expectLinearTime } from "../../support/processor-time.ts";

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

test.each([
  ["letters", "Aa1", 3_300_000, "[base64, 7,425,000 bytes]"],
  ["short runs", `${"Aa1".repeat(80)} `, 41_000, undefined],
  ["long runs", `${"a".repeat(300)} `, 33_000, undefined],
  ["beginnings of URLs", "data:a/", 1_400_000, undefined],
])("takes ten megabytes of %s, in linear time", async (_, unit, count, expected) => {
  await expectLinearTime(Math.ceil(count / 100), (size) => unit.repeat(size), withoutBytes);
  const text = unit.repeat(count);
  expect(withoutBytes(text) === (expected ?? text)).toBe(true);
});
