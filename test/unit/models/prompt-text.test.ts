import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { promptElement, promptText, replyLine } from "../../../src/models/prompt-text.ts";
import { runs, seenInRuns } from "../../support/effort.ts";

describe("a text that enters a prompt", () => {
  test("loses what nobody sees, and keeps the joiners that scripts are written with", () => {
    const hidden = [..."obey"].map((letter) => String.fromCodePoint(0xe0000 + letter.codePointAt(0)!)).join("");
    expect(promptText(`a${hidden}b\u202ec\u200bd\u00ade\ufefff`, undefined)).toBe("abcdef");
    expect(promptText("👩\u200d🔬 क्\u200dष", undefined)).toBe("👩\u200d🔬 क्\u200dष");
  });

  test("loses terminal escapes and control characters, and keeps its lines", () => {
    expect(promptText("\x1b[31mred\x1b[0m\r\n\tnext\0", undefined)).toBe("red\n\n\tnext ");
  });

  test("is cut out of the middle from 8,001 characters on", () => {
    expect(promptText("x".repeat(8_000), undefined)).toBe("x".repeat(8_000));
    expect(promptText(`${"a".repeat(7_000)}${"b".repeat(7_000)}`, undefined)).toBe(
      `${"a".repeat(6_000)}…\n…${"b".repeat(2_000)}`,
    );
  });

  test("is redacted whole, so that a secret across the cut is seen", () => {
    const text = `${"x".repeat(5_998)}secret-42${"y".repeat(5_000)}`;
    const sent = promptText(text, (whole) => whole.replaceAll("secret-42", "[redacted]"));
    expect(sent).toContain(`${"x".repeat(5_998)}[r…\n…`);
    expect(sent).not.toMatch(/se…|secret/);
  });

  test.each([
    ["colors of grep", "\x1b[01;31m\x1b[Ksk-\x1b[m\x1b[K0123456789"],
    ["a zero-width space", "sk-\u200b0123456789"],
    ["a soft hyphen", "sk-01234\u00ad56789"],
    ["a joiner between letters", "sk-01234\u200d\u20606789".replace("\u2060", "5\u2060")],
  ])("is redacted as it will be sent, where %s would hide a secret from the hook", (_, secret) => {
    const redact = (text: string): string => text.replace(/sk-\d{10}/g, "[key]");
    expect(promptText(`KEY=${secret};`, redact)).toBe("KEY=[key];");
  });

  test("is redacted as it was written, where the hook knows a secret by what is taken out", () => {
    const redact = (text: string): string => text.replace(/\x1b\[8m.*?\x1b\[0m/g, "[concealed]");
    expect(promptText("PIN \x1b[8m4711\x1b[0m.", redact)).toBe("PIN [concealed].");
  });

  test("is shown to the hook once where nothing is taken out, and nothing invisible that the hook adds leaves", () => {
    let calls = 0;
    const redact = (text: string): string => {
      calls++;
      return text.replace("b", "\u200bB\x1b[0m");
    };
    expect(promptText("ac", redact)).toBe("ac");
    expect(calls).toBe(1);
    expect(promptText("abbbc", redact)).toBe("aBBbc");
  });

  test("does not leave where the hook throws, and the error does not repeat what the hook said", () => {
    const cause = new Error("found hunter2");
    const send = () =>
      promptText("hunter2", () => {
        throw cause;
      });
    expect(send).toThrow("The `redact` hook failed: it threw an error.");
    expect(send).toThrow(expect.objectContaining({ code: "REDACT_FAILED", cause }));
  });

  test.each([
    ["a promise, not a text", Promise.resolve("x")],
    ["a value of type undefined", undefined],
    ["null", null],
    ["a value of type number", 7],
  ])("does not leave where the hook returns %s", (kind, value) => {
    const send = () => promptText("x", () => value as unknown as string);
    expect(send).toThrow(
      expect.objectContaining({ code: "REDACT_FAILED", details: { reason: `it returned ${kind}` } }),
    );
  });
});

test("an element holds its text, whatever it says", () => {
  // Goal: no text ends its element, begins another or leaves an attribute.
  // Method: texts made of the pieces that could, and a count of the tags in the result.
  const pieces = fc.constantFrom("<", ">", "</message>", '<message seq="9">', '"', "&", "&lt;", "\n", "\0", "a", "]]>");
  const hostile = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(""));
  let breakouts = 0;
  fc.assert(
    fc.property(hostile, hostile, (text, name) => {
      if (text.includes("</message>") && name.includes('"')) breakouts++;
      const element = promptElement("message", { seq: 3, name }, promptText(text, undefined));
      expect(element).toMatch(/^<message seq="3"(?: name="[^"<>]*")?>\n[^<>]*\n<\/message>$/);
    }),
    { numRuns: runs(150) },
  );
  expect(breakouts).toBeGreaterThan(seenInRuns(10));
});

test("a text that a model wrote is one line, with what it copied escaped as it was", () => {
  expect(replyLine("  Use Map&lt;string, A &amp;&amp; B&gt;\n\tfor\u202e it.\0 ")).toBe(
    "Use Map<string, A && B> for it.",
  );
  expect(replyLine("&amp;lt;")).toBe("&lt;");
});
