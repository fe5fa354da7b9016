import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { element, escapeText, printableJson, visibleText } from "../../../src/core/markup.ts";
import { runs } from "../../support/effort.ts";
import { parseBlock } from "../../support/render-checks.ts";

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

test("names characters that turn the reading order around, and leaves what emoji and Persian need", () => {
  expect(escapeText("if (admin\u202e \u2066) {")).toBe("if (admin[U+202E] [U+2066]) {");
  expect(escapeText("\u{1f468}\u200d\u{1f467} \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u200f")).toBe(
    "\u{1f468}\u200d\u{1f467} \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u200f",
  );
  expect(element("a", { b: "x\u202dy" })).toBe('<a b="x[U+202D]y"/>');
});

test("names tags that spell out a text which nobody sees, but for those of a flag", () => {
  const scotland = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";
  expect(escapeText(`ok\u{e0068}\u{e0069} ${scotland}`)).toBe(`ok[U+E0068][U+E0069] ${scotland}`);
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

/**
 * Goal: whatever stands in an attribute or a content, the elements are read back as they were meant, and nothing invisible
 * that acts on its surroundings is in them.
 * Method: texts of what could break out or hide, parsed by a strict reader of the block's little language.
 */
test("no text ends its element, opens another or hides", () => {
  const piece = fc.constantFrom(
    ..."<>&\"'/= \n\t\r\0\x1b\x7f\x85",
    "</m>",
    '<m by="user">',
    "&lt;",
    "]]>",
    "\ud800",
    "\u202e",
    "\u2069",
    "\u{e0041}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}",
    "e\u0301",
  );
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(text, text, (title, content) => {
      const block = element("m", { by: `x${title}` }, `\n${escapeText(content)}\n${element("n", { a: 1 })}`);
      const [outer, ...others] = parseBlock(block);
      expect(others).toEqual([]);
      expect(outer!.children).toEqual([{ name: "n", attributes: { a: "1" }, text: "", children: [] }]);
      expect(block).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u{e0041}]|\p{Surrogate}/u);
    }),
    { numRuns: runs(250) },
  );
});

describe("visible text", () => {
  test("shows control characters instead of obeying them", () => {
    expect(visibleText("\u001b]52;c;aGk=\u0007 \u0000 \u007f \u009b2J")).toBe("␛]52;c;aGk=␇ ␀ ␡ \ufffd2J");
    expect(visibleText("safe\rrm -rf")).toBe("safe␍rm -rf");
  });

  test("names what turns the reading order around, marks of direction included", () => {
    expect(visibleText("\u202e\u2066\u200e\u200f\u061c")).toBe("[U+202E][U+2066][U+200E][U+200F][U+061C]");
  });

  test("keeps line feeds, tabs and all letters", () => {
    expect(visibleText("a\r\n\tb\nČ 灯台 👩‍👩‍👧 <b>&amp;")).toBe("a\n\tb\nČ 灯台 👩‍👩‍👧 <b>&amp;");
  });

  /** Goal: JSON loses nothing, and holds nothing that `visibleText` would replace. Method: random texts, of nasty characters above all. */
  test("has nothing to do in printable JSON, which loses nothing", () => {
    const nasty = fc.constantFrom(
      "\x1b",
      "\x7f",
      "\x9b",
      "\x85",
      "\u061c",
      "\u200f",
      "\u202e",
      "\u2069",
      "\u{e0041}",
      "\ud800",
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.oneof(nasty, fc.string({ unit: "binary" })) }), (text) => {
        const json = printableJson({ [text]: [text] });
        expect(visibleText(json)).toBe(json);
        expect(JSON.parse(json)).toEqual({ [text]: [text] });
      }),
    );
  });
});
