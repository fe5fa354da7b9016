import { expect, test } from "vitest";
import { digestOf } from "../../../src/core/digest.ts";
import type { Part } from "../../../src/core/message.ts";

const text = (value: string): Part => ({ type: "text", text: value });
const hex = (message: Parameters<typeof digestOf>[0]): string => digestOf(message).toString("hex");

test("is the first 16 bytes of the SHA-256 of role, name and parts with sorted keys", () => {
  // printf '["user",null,[{"text":"hello","type":"text"}]]' | sha256sum
  expect(hex({ role: "user", parts: [text("hello")] })).toBe("f89e1753c9e41f927421afe367331056");
});

test("does not depend on the order of keys, nor on fields that are undefined", () => {
  const one = { type: "data", data: { a: 1, b: { c: [1, 2], d: undefined } } } as Part;
  const other = { data: { b: { c: [1, 2] }, a: 1 }, type: "data" } as Part;
  expect(hex({ role: "user", name: undefined, parts: [one] })).toBe(hex({ role: "user", parts: [other] }));
});

test("differs where anything said differs", () => {
  const digests = [
    hex({ role: "user", parts: [text("a")] }),
    hex({ role: "assistant", parts: [text("a")] }),
    hex({ role: "user", name: "ann", parts: [text("a")] }),
    hex({ role: "user", parts: [text("a"), text("")] }),
    hex({ role: "user", parts: [{ ...text("a"), index: 0 }] }),
    hex({ role: "user", parts: [{ ...text("a"), index: "0" }] }),
    hex({ role: "user", parts: [text("a\ud800")] }),
    hex({ role: "user", parts: [text("a\ud801")] }),
    hex({ role: "user", parts: [text("a\ufffd")] }),
    hex({ role: "user", parts: [{ type: "data", data: [1, 2] }] }),
    hex({ role: "user", parts: [{ type: "data", data: [2, 1] }] }),
  ];
  expect(new Set(digests).size).toBe(11);
});
