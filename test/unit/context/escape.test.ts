import { expect, test } from "vitest";
import { element, escapeText } from "../../../src/context/escape.ts";

test("escapes an ampersand once, and the brackets", () => {
  expect(escapeText("a < b && c > d &lt;")).toBe("a &lt; b &amp;&amp; c &gt; d &amp;lt;");
});

test("keeps code as it is laid out", () => {
  expect(escapeText('if (x) {\n\treturn "y";\n}')).toBe('if (x) {\n\treturn "y";\n}');
  expect(escapeText("one\r\ntwo")).toBe("one\ntwo");
});

test("shows control characters instead of sending them", () => {
  expect(escapeText("\0a\x1b[31mred\x7f\rb")).toBe("␀a␛[31mred␡␍b");
  expect(escapeText("\x85\x9f")).toBe("\ufffd\ufffd");
});

test("replaces lone surrogates and leaves pairs", () => {
  expect(escapeText("\ud800 \u{1f33f} \udc00")).toBe("\ufffd \u{1f33f} \ufffd");
});

test("an attribute is one line that its quotes cannot end", () => {
  expect(element("theme", { title: 'say "hi"\n\tto <you> & me ' }, "text")).toBe(
    '<theme title="say &quot;hi&quot; to &lt;you&gt; &amp; me">text</theme>',
  );
});

test("attributes without a value are left out, and so is the content of an empty element", () => {
  expect(element("pointer", { handle: undefined, messages: 0, title: "" })).toBe('<pointer messages="0"/>');
});

test("an attribute is at most 512 characters before it is escaped", () => {
  expect(element("a", { b: "x".repeat(600) })).toBe(`<a b="${"x".repeat(512)}"/>`);
});
