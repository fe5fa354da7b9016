import { describe, expect, test } from "vitest";
import { parseJson, readJsonLines, readLines } from "../../../src/importers/lines.ts";
import { expectLinearTime } from "../../support/processor-time.ts";
import { collect, fileOf } from "./read.ts";

async function linesOf(content: string | Uint8Array, chunkBytes?: number) {
  return collect(readLines(fileOf(content, chunkBytes)));
}

describe("readLines", () => {
  test("puts a line together from wherever it was cut, characters of several bytes included", async () => {
    const bytes = Buffer.from("aß\n\n潮🌊\nend");
    const whole = [
      { line: 1, text: "aß" },
      { line: 2, text: "" },
      { line: 3, text: "潮🌊" },
      { line: 4, text: "end" },
    ];
    for (let cut = 1; cut < bytes.length; cut++) {
      async function* chunks() {
        yield bytes.subarray(0, cut);
        yield bytes.subarray(cut);
      }
      expect(await collect(readLines({ path: "x", chunks: chunks() }))).toEqual(whole);
    }
  });

  test("takes a byte order mark off the first line only", async () => {
    expect(await linesOf("\uFEFFa\n\uFEFFb")).toEqual([
      { line: 1, text: "a" },
      { line: 2, text: "\uFEFFb" },
    ]);
  });

  test("does not decode what is not UTF-8: a lone byte, a cut character, a surrogate", async () => {
    const bad = [[0xff], [0xe6, 0xbd], [0xed, 0xa0, 0x80]];
    for (const bytes of bad) {
      const content = Buffer.concat([Buffer.from("good\n"), Buffer.from(bytes), Buffer.from("\nalso good")]);
      expect(await linesOf(content)).toEqual([
        { line: 1, text: "good" },
        { line: 2, problem: "not valid UTF-8" },
        { line: 3, text: "also good" },
      ]);
    }
  });

  test("reads a line of 100 MB, and any line in linear time", async () => {
    async function* chunks(count: number, bytes: number) {
      const piece = Buffer.alloc(bytes, "x");
      for (let index = 0; index < count; index++) yield piece;
      yield Buffer.from("\nnext");
    }
    const linesIn = (count: number, bytes: number) => collect(readLines({ path: "x", chunks: chunks(count, bytes) }));
    await expectLinearTime(
      250,
      (count) => count,
      (count) => linesIn(count, 4_096),
    );
    expect((await linesIn(1_600, 65_536)).map((found) => "text" in found && found.text.length)).toEqual([
      104_857_600, 4,
    ]);
  });

  test("passes over a line that no string can hold, and goes on behind it", async () => {
    const piece = Buffer.alloc(4 * 1024 * 1024, "x");
    async function* chunks() {
      for (let count = 0; count < 65; count++) yield piece;
      yield Buffer.from("\nnext\n");
    }
    expect(await collect(readLines({ path: "x", chunks: chunks() }))).toEqual([
      { line: 1, problem: "272629760 bytes long; a line has at most 268435456" },
      { line: 2, text: "next" },
    ]);
  });

  test("refuses a binary file before it gives a line of it", async () => {
    const given: unknown[] = [];
    const read = async () => {
      for await (const line of readLines(fileOf("first\nsecond\u0000\n", 1))) given.push(line);
    };
    await expect(read()).rejects.toThrow("Cannot import /nowhere/file.jsonl: it is not a text file.");
    expect(given).toEqual([]);
  });

  test("reads a file whose end was filled with NULs when the machine went down", async () => {
    const lines = await linesOf('{"a":1}\n\u0000\u0000\u0000');
    expect(lines.map(({ line }) => line)).toEqual([1, 2]);
  });

  test("closes the file when its reader stops early, and when it is binary", async () => {
    let closedCount = 0;
    async function* chunks(content: string) {
      try {
        for (;;) yield Buffer.alloc(10_000, content);
      } finally {
        closedCount++;
      }
    }
    for await (const { line } of readLines({ path: "x", chunks: chunks("{}\n") })) if (line === 3) break;
    expect(closedCount).toBe(1);
    await expect(collect(readLines({ path: "x", chunks: chunks("\u0000") }))).rejects.toThrow("not a text file");
    expect(closedCount).toBe(2);
  });
});

describe("a line that was cut off, and the next one behind it", () => {
  const first = {
    id: "u1",
    parent: null,
    message: { id: "m1", type: "text", content: ["a {", "b", { code: 'if (x) {"y"}' }], size: 12.5, isNew: true },
    note: "lamps 潮🌊",
    list: [1, [2, { deep: {} }]],
    blocks: Array.from({ length: 12 }, (_, index) => ({ type: "text", text: `block ${index} {` })),
  };
  const second = { id: "u2", parent: "u1", message: { type: "text", content: "[{" } };
  const read = async (bytes: Uint8Array) => {
    const found = await collect(readJsonLines(fileOf(bytes)));
    const problems = found.filter((one) => "problem" in one).map(({ line }) => line);
    return { problems, values: found.flatMap((one) => ("value" in one ? [one.value] : [])) };
  };
  const whole = Buffer.from(JSON.stringify(first));

  test("is reported, and the next one read, wherever the first was cut", async () => {
    for (let cut = 1; cut < whole.length; cut++) {
      const torn = whole.subarray(0, cut);
      for (const rest of [[second], [second, { id: "u3", parent: "u2" }]]) {
        const bytes = Buffer.concat([torn, ...rest.map((one) => Buffer.from(JSON.stringify(one)))]);
        // Two lines that are whole only lack the line feed between them.
        const values = cut === whole.length ? [first, ...rest] : rest;
        const { problems, values: found } = await read(bytes);
        // Before it knows two keys of the first line, nothing tells the second from an object in it.
        if (cut > 20) expect([cut, found]).toEqual([cut, values]);
        expect([cut, problems]).toEqual([cut, [1]]);
      }
    }
  });

  test("is no line of its own inside the one that was cut off", async () => {
    for (let cut = 1; cut < whole.length; cut++) {
      expect([cut, (await read(whole.subarray(0, cut))).values]).toEqual([cut, []]);
    }
  });

  test("is read behind a whole line, behind NULs, and behind several pieces", async () => {
    const json = JSON.stringify(second);
    const torn = whole.subarray(0, 60).toString("utf8");
    expect(await read(Buffer.from(`{}\n\u0000\u0000${json}`))).toEqual({ problems: [2], values: [{}, second] });
    expect(await read(Buffer.from(`${json}${torn}`))).toEqual({ problems: [1], values: [second] });
    expect(await read(Buffer.from(`${json}${torn}${json}`))).toEqual({ problems: [1], values: [second, second] });
    expect(await read(Buffer.from(`${torn}${torn}${json}`))).toEqual({ problems: [1], values: [second] });
  });

  test("is looked for in linear time", async () => {
    const read = (count: number) => collect(readJsonLines(fileOf(`{"a":"${'{"b":['.repeat(count)}`)));
    await expectLinearTime(2_000, (count) => count, read);
  });
});

describe("readJsonLines", () => {
  test("gives objects, and says of each other line what is wrong with it", async () => {
    const content = '{"a":1}\r\n\n[1]\n"text"\nnull\n{"a":\n{"a":1}{"b":2}\n{"a":2}';
    expect(await collect(readJsonLines(fileOf(content)))).toEqual([
      { line: 1, value: { a: 1 } },
      { line: 3, problem: "expected a JSON object, got an array" },
      { line: 4, problem: "expected a JSON object, got a string" },
      { line: 5, problem: "expected a JSON object, got null" },
      { line: 6, problem: expect.stringMatching(/^not JSON: /) },
      { line: 7, index: 0, value: { a: 1 } },
      { line: 7, index: 1, value: { b: 2 } },
      { line: 8, value: { a: 2 } },
    ]);
  });

  test("gives the whole objects of a line whose end was cut, or is no object, or is nested too deeply", async () => {
    const deep = `{"a":1}${"[".repeat(2_000_000)}`;
    const problem = { line: 1, problem: expect.any(String) };
    const first = { line: 1, index: 0, value: { a: 1 } };
    for (const text of ['{"a":1}{"b":', '{"a":1}[2]', deep]) {
      expect(await collect(readJsonLines(fileOf(text)))).toEqual([problem, first]);
    }
    expect(await collect(readJsonLines(fileOf('{"a":1}{"b":2} x')))).toEqual([
      problem,
      first,
      { line: 1, index: 1, value: { b: 2 } },
    ]);
    expect(parseJson(deep)).toEqual({ problem: "nested deeper than 200 levels" });
    expect(parseJson(`[${"[],".repeat(2_000_000)}1]`)).toEqual({ problem: "more than 2000000 values" });
    expect(parseJson(JSON.stringify('[{,"'.repeat(500_000)))).toEqual({ value: '[{,"'.repeat(500_000) });
  });

  test("keeps a key that other programs trip over", async () => {
    const [found] = await collect(readJsonLines(fileOf('{"__proto__":{"x":1},"constructor":2}')));
    expect(JSON.stringify(found)).toBe('{"line":1,"value":{"__proto__":{"x":1},"constructor":2}}');
  });
});

test.each(["1e999", "1E+400", "-1e309", "1".repeat(400), `${"1".repeat(250)}e99`, `0.${"0".repeat(9)}1e0320`])(
  "a number that is too large for a double is null, also in a long text: %s",
  (number) => {
    for (const length of [1, 2 * 1024 * 1024]) {
      const parsed = parseJson(`{"padding":"${"x".repeat(length)}","list":[${number},1.5e3]}`);
      expect(parsed).toMatchObject({ value: { list: [null, 1_500] } });
    }
  },
);
