import { describe, expect, test } from "vitest";
import { LineSplitter } from "../../../src/mcp/line-splitter.ts";

/** Returns what comes of a text in pieces of a size, with lines of at most 1,000 bytes. */
function linesOf(text: string, pieceSize: number): { lines: string[]; tooLong: unknown[] } {
  const splitter = new LineSplitter(1_000);
  const lines: string[] = [];
  const tooLong: unknown[] = [];
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceSize) {
    for (const line of splitter.linesOf(bytes.subarray(at, at + pieceSize))) {
      if (Buffer.isBuffer(line)) lines.push(line.toString());
      else tooLong.push(line.id);
    }
  }
  return { lines, tooLong };
}

describe.each([1, 7, 100, 100_000])("in pieces of %i", (pieceSize) => {
  test("lines come whole, and what is not ended does not come", () => {
    const { lines, tooLong } = linesOf("one\nzwölf 👩‍👩‍👧\r\n\nlast", pieceSize);
    expect([lines, tooLong]).toEqual([["one\n", "zwölf 👩‍👩‍👧\r\n", "\n"], []]);
  });

  test("one of the longest comes, one that is longer is passed over with its id", () => {
    const x = (count: number): string => "x".repeat(count);
    const text = [
      x(999),
      x(1_000),
      `{"jsonrpc":"2.0","id":7,"method":"a","params":{"id":1,"q":"${x(5_000)}"}}`,
      `{"method":"a","params":{"q":"${x(5_000)}"},"jsonrpc":"2.0","id":"seven"}`,
      `{"id":"bad \\q","x":"${x(5_000)}"}`,
      `{"method":"a","params":{"id":3,"q":"${x(900)}"},"x":"${x(900)}"}`,
      "after",
      "",
    ].join("\n");
    const { lines, tooLong } = linesOf(text, pieceSize);
    expect([lines, tooLong]).toEqual([
      [`${x(999)}\n`, "after\n"],
      [null, 7, "seven", null, null],
    ]);
  });
});
