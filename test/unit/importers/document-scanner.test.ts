import { describe, expect, test } from "vitest";
import { DocumentScanner } from "../../../src/importers/document-scanner.ts";
import { readElements } from "../../../src/importers/documents.ts";
import { collect, fileOf } from "./read.ts";

/** What a scanner gives for a text, cut into chunks of `chunkBytes`. */
function scan(text: string, chunkBytes = 1_000) {
  const scanner = new DocumentScanner();
  const bytes = Buffer.from(text);
  const elements = [];
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    elements.push(...scanner.push(bytes.subarray(start, start + chunkBytes)));
  }
  return [...elements, ...scanner.end()].map((element) =>
    "problem" in element
      ? [element.line, element.problem]
      : [element.line, element.document, element.key, element.value],
  );
}

describe("DocumentScanner", () => {
  test("gives the items of a list with the lines they begin on", () => {
    expect(scan('[\n  {"a": 1},\n\n  {"b":\n    [2, "],}"]}\n]')).toEqual([
      [2, 0, undefined, { a: 1 }],
      [4, 0, undefined, { b: [2, "],}"] }],
    ]);
  });

  test("gives the fields of an object, and those that are lists item by item", () => {
    expect(scan('{"x": {"y": [1]}, "list": [1, "two", [3]], "none": [], "z": null}')).toEqual([
      [1, 0, "x", { y: [1] }],
      [1, 0, "list", 1],
      [1, 0, "list", "two"],
      [1, 0, "list", [3]],
      [1, 0, "z", null],
    ]);
  });

  test("tells documents apart, and does not mind how the bytes are cut", () => {
    const text = '\uFEFF{"a":"\\"\\\\ ü 🌊"}\r\n{"b":[{"c":"]"}]}\n[]\n';
    const whole = [
      [1, 0, "a", '"\\ ü 🌊'],
      [2, 1, "b", { c: "]" }],
    ];
    for (const chunkBytes of [1, 2, 3, 5, 100]) expect(scan(text, chunkBytes)).toEqual(whole);
  });

  test("loses one item to damage within it", () => {
    expect(scan('[{"a":1},\n{"b":},\n{"c":3}]')).toEqual([
      [1, 0, undefined, { a: 1 }],
      [2, 'not JSON: Unexpected token \'}\', "\n{"b":}" is not valid JSON'],
      [3, 0, undefined, { c: 3 }],
    ]);
  });

  test.each([
    ["within a text", '{"b":"two'],
    ["between texts", '{"b":"two",'],
    ["within a list", '{"b":["two"'],
  ])("finds the next item after one that was cut %s", (_, cut) => {
    for (const [indent, last] of [
      ["", '{"c":3}'],
      ["    ", '{"c":3,"d":[4]}'],
    ]) {
      const elements = scan(`{"m": [\n${indent}{"a":1},\n${indent}${cut}\n${indent}${last}\n]}`);
      expect(elements[0]).toEqual([2, 0, "m", { a: 1 }]);
      expect(elements[1]?.[0]).toBe(3);
      expect(elements[2]).toEqual([4, 0, "m", JSON.parse(last!)]);
      expect(elements).toHaveLength(3);
    }
  });

  test("finds the next item where the first was cut, but no item within one that is laid out without indents", () => {
    expect(scan('[\n{"a":"one\n{"b":2}\n]').map(([line]) => line)).toEqual([2, 3]);
    expect(scan('[\n{\n"a":\n{\n"b": 2\n}\n},\n{\n"c": 3\n}\n]')).toEqual([
      [2, 0, undefined, { a: { b: 2 } }],
      [8, 0, undefined, { c: 3 }],
    ]);
  });

  test("keeps the items of a file that was cut off, and says where", () => {
    expect(scan('[\n{"a":1},\n{"b":2}\n')).toEqual([
      [2, 0, undefined, { a: 1 }],
      [3, 0, undefined, { b: 2 }],
      [3, "cut off: the file ends inside this item"],
    ]);
    expect(scan('[{"a":1},\n{"b":')).toEqual([
      [1, 0, undefined, { a: 1 }],
      [2, "cut off: the file ends inside this item"],
    ]);
  });

  test("says so of what is no JSON at all", () => {
    expect(scan("dear diary\n")).toEqual([[1, "expected a JSON object or list; skipped to the next item"]]);
  });
});

describe("readElements", () => {
  test("takes a file with a document on each line apart line by line, named by line", async () => {
    const elements = await collect(readElements(fileOf('{"m":[1,2],"n":3}\n{"m":[\n{"m":[4]}\n{"m":[5]}\n', 7)));
    expect(
      elements.map((element) =>
        "problem" in element ? [element.line] : [element.document, element.key, element.value],
      ),
    ).toEqual([[0, "m", 1], [0, "m", 2], [0, "n", 3], [2], [2, "m", 4], [3, "m", 5]]);
  });

  test("takes lines that are items for the items of one list", async () => {
    const elements = await collect(readElements(fileOf('{"role":"user"}\n{"role":"assistant","tool_calls":[]}\n')));
    expect(elements).toEqual([
      { line: 1, document: 0, key: undefined, value: { role: "user" } },
      { line: 2, document: 0, key: undefined, value: { role: "assistant", tool_calls: [] } },
    ]);
  });

  test("takes a document over many lines for one, whatever its lines look like", async () => {
    const items = [
      { info: { id: 1 }, parts: [{ n: 1 }] },
      { info: { id: 2 }, parts: [{ n: 2 }] },
    ];
    for (const text of [
      `{"info":{},"messages":[\n${items.map((item) => JSON.stringify(item)).join(",\n")}\n]}`,
      `{"info":{},\n"messages":${JSON.stringify(items, null, 2)}}`,
      JSON.stringify({ info: {}, messages: items }, null, 2),
    ]) {
      const elements = await collect(readElements(fileOf(text)));
      expect(elements.map((element) => ("value" in element ? [element.key, element.value] : element))).toEqual([
        ["info", {}],
        ...items.map((item) => ["messages", item]),
      ]);
    }
  });

  test("holds one item of a list at a time, however long the list", async () => {
    let taken = 0;
    async function* chunks() {
      yield Buffer.from("[");
      for (;;) {
        taken += 1;
        yield Buffer.from(`{"n":${taken}},\n`.repeat(5_000));
      }
    }
    let count = 0;
    for await (const element of readElements({ path: "x", chunks: chunks() })) {
      expect("problem" in element).toBe(false);
      if (++count === 100_000) break;
    }
    // 1 MB was looked at to see the shape.
    expect(taken).toBeLessThan(50);
  });
});
