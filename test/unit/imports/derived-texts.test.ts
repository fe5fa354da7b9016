import { expect, test } from "vitest";
import { DerivedRedactor } from "../../../src/imports/redaction/derived-texts.ts";

const VALUE = "aB3dE5fG7hJ9kL2mN4pQ";

function told(): DerivedRedactor {
  const redactor = new DerivedRedactor();
  redactor.whole({ content: [`The password=${VALUE}`, "<private>The lamp is broken.\nIt fell down.</private>"] });
  return redactor;
}

test("a secret is not shown where a text was cut within it, or without the words that tell it", () => {
  const texts = [
    VALUE,
    `Use ${VALUE.toLowerCase()} here`,
    `Use ${VALUE.slice(0, 10)}…`,
    VALUE.slice(0, 12),
    `Use ${VALUE.slice(0, 9)}\n[… 700 characters left out …]\n${VALUE.slice(-9)} here`,
    "Why the lamp is br…",
    "He said: It fell down.",
  ];
  expect(told().derived(texts)).toEqual([
    "[secret]",
    "Use [secret] here",
    "Use [secret]…",
    "[secret]",
    "Use [secret]\n[… 700 characters left out …]\n[secret] here",
    "Why [secret]…",
    "He said: [secret]",
  ]);
});

test("words that only begin or end like a secret stay", () => {
  const texts = ["The lamp is bright.", `${VALUE.slice(0, 10)} alone`, `x${VALUE.slice(-10)}`, "\ud83d\ude00 lamp"];
  expect(told().derived(texts)).toEqual(texts);
  expect(new DerivedRedactor().derived([VALUE])).toEqual([VALUE]);
});
