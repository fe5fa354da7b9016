import { expect, test } from "vitest";
import { CitationCheck } from "../../../src/session/aids/ask.ts";

const SENT = [12, 15].map((messageId) => ({ messageId, sessionId: "s", seq: 0, by: "user", atMs: 0, text: "" }));
const line = (written: string): string => new CitationCheck(SENT).line(written);

test.each([
  ["It is so [message:12, 99].", "It is so [message:12]."],
  ["It is so [12, message:99].", "It is so [message:12]."],
  ["It is so [message:12-17]", "It is so [message:12]"],
  ["See Message:99 for it", "See [unverified] for it"],
  ["See [message: 99] for it", "See [unverified] for it"],
  ["See [message:1234567890123456] for it", "See [unverified] for it"],
  ["It is so [12] [99]", "It is so [message:12] [unverified]"],
  ["It is so [99], and that is why", "It is so [unverified], and that is why"],
  ["It is so [message:12; message:15]", "It is so [message:12, message:15]"],
])("a citation of a message that was not sent does not look true: %s", (written, shown) => {
  expect(line(written)).toBe(shown);
});

test.each(["a[12] = b[3]", "The array [1, 2] has two", "Line 12 of 99"])(
  "code and numbers stay as they are: %s",
  (text) => {
    expect(line(text)).toBe(text);
  },
);

test("a line of ten thousand ids, spaces or brackets does not hold up the answer", () => {
  const pieces = ["message:12 ", "message:99,", " ", "1 1 ", "1", "[", "[1 ", "[1] "];
  const startedMs = performance.now();
  for (const piece of pieces) {
    line(`[message:1${piece.repeat(10_000)}x`);
    line(`It [message:12 ${piece.repeat(10_000)}`);
  }
  expect(performance.now() - startedMs).toBeLessThan(2_000);
});
