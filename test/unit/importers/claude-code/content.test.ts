import { describe, expect, test } from "vitest";
import { attachmentPartsOf, partsOf } from "../../../../src/importers/claude-code/content.ts";

describe("partsOf", () => {
  test("takes a string for one text, an empty one included", () => {
    expect(partsOf("user", "hi")).toEqual([{ type: "text", text: "hi" }]);
    expect(partsOf("assistant", "")).toEqual([{ type: "text", text: "" }]);
    expect(partsOf("user", [])).toEqual([]);
  });

  test("keeps what the model thought, with what proves to the provider that it did", () => {
    expect(
      partsOf("assistant", [
        { type: "thinking", thinking: "Hm.", signature: "c2ln" },
        { type: "redacted_thinking", data: "ZW5j" },
      ]),
    ).toEqual([
      { type: "reasoning", text: "Hm.", signature: "c2ln" },
      { type: "reasoning", text: "", data: "ZW5j" },
    ]);
  });

  test("turns tool use and its results into calls and results, fields of later versions included", () => {
    const caller = { type: "direct" };
    expect(partsOf("assistant", [{ type: "tool_use", id: "t1", name: "Read", input: { a: [1] }, caller }])).toEqual([
      { type: "tool_call", toolCallId: "t1", name: "Read", args: { a: [1] }, caller },
    ]);
    expect(
      partsOf("user", [
        { type: "tool_result", tool_use_id: "t1", content: "text", is_error: false, cache_control: { type: "x" } },
        { type: "tool_result", tool_use_id: "t2", content: "failed", is_error: true },
        { type: "tool_result", tool_use_id: "t3" },
      ]),
    ).toEqual([
      { type: "tool_result", toolCallId: "t1", content: "text", isError: false, cache_control: { type: "x" } },
      { type: "tool_result", toolCallId: "t2", content: "failed", isError: true },
      { type: "tool_result", toolCallId: "t3", content: "" },
    ]);
  });

  test("keeps each block of a result: text, image, and what it does not know", () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const reference = { type: "tool_reference", tool_name: "Grep" };
    expect(
      partsOf("user", [
        { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "a" }, image, reference] },
      ]),
    ).toEqual([
      {
        type: "tool_result",
        toolCallId: "t",
        content: [
          { type: "text", text: "a" },
          { type: "file", mediaType: "image/png", data: "AAAA" },
          { type: "data", data: reference },
        ],
      },
    ]);
  });

  test("turns documents into files and keeps their titles; what is not in the file stays as it is", () => {
    const linked = { type: "image", source: { type: "url", url: "https://example.org/a.png" } };
    expect(
      partsOf("user", [
        { type: "document", title: "Tides", source: { type: "base64", media_type: "application/pdf", data: "JVBE" } },
        linked,
      ]),
    ).toEqual([
      { type: "file", title: "Tides", mediaType: "application/pdf", data: "JVBE" },
      { type: "data", data: linked },
    ]);
  });

  test("keeps whole what a role may not have, or what lacks its id", () => {
    const blocks = [
      { type: "tool_use", id: "t", name: "Read", input: {} },
      { type: "tool_result", content: "x" },
      "bare",
      null,
    ];
    expect(partsOf("user", blocks)).toEqual(blocks.map((data) => ({ type: "data", data })));
    const odd = [
      { type: "tool_result", tool_use_id: "t" },
      { type: "tool_use", id: "", name: "Read" },
    ];
    expect(partsOf("assistant", odd)).toEqual(odd.map((data) => ({ type: "data", data })));
  });
});

describe("attachmentPartsOf", () => {
  test("gives the words of an attachment as text and the rest as data", () => {
    expect(attachmentPartsOf({ type: "directory", path: "src", content: "a.ts\nb.ts" })).toEqual([
      { type: "text", text: "a.ts\nb.ts" },
      { type: "data", data: { type: "directory", path: "src" } },
    ]);
    expect(attachmentPartsOf({ type: "hook_additional_context", hookName: "h", content: ["one", "two"] })).toEqual([
      { type: "text", text: "one" },
      { type: "text", text: "two" },
      { type: "data", data: { type: "hook_additional_context", hookName: "h" } },
    ]);
  });

  test("gives an attached file's text as text, and an attached image as a file", () => {
    const attached = (type: string, file: object) => ({
      type: "file",
      filename: "x",
      content: { type, file: { ...file } },
    });
    expect(attachmentPartsOf(attached("text", { filePath: "/x", content: "words", numLines: 1 }))).toEqual([
      { type: "text", text: "words" },
      {
        type: "data",
        data: { type: "file", filename: "x", content: { type: "text", file: { filePath: "/x", numLines: 1 } } },
      },
    ]);
    expect(attachmentPartsOf(attached("image", { base64: "AAAA", type: "image/png", originalSize: 3 }))).toEqual([
      { type: "file", mediaType: "image/png", data: "AAAA" },
      { type: "data", data: { type: "file", filename: "x", content: { type: "image", file: { originalSize: 3 } } } },
    ]);
  });

  test("gives any other attachment as data", () => {
    const attachment = { type: "edited_text_file", filename: "a.ts", snippet: "1" };
    expect(attachmentPartsOf(attachment)).toEqual([{ type: "data", data: attachment }]);
  });
});
