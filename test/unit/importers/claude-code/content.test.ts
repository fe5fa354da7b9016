import { describe, expect, test } from "vitest";
import { attachmentPartsOf, messageOfRole, messagesOf } from "../../../../src/importers/claude-code/content.ts";

describe("messagesOf", () => {
  test("takes a string for one text, an empty one included", () => {
    expect(messagesOf("user", "hi")).toEqual([{ role: "user", parts: [{ type: "text", text: "hi" }] }]);
    expect(messagesOf("assistant", "")).toEqual([{ role: "assistant", parts: [{ type: "text", text: "" }] }]);
    expect(messagesOf("user", [])).toEqual([{ role: "user", parts: [] }]);
  });

  test("keeps under the provider's name what proves that the model thought, and what else is the provider's", () => {
    const [message] = messagesOf("assistant", [
      { type: "thinking", thinking: "Hm.", signature: "c2ln" },
      { type: "tool_use", id: "t1", name: "Read", input: { a: [1] }, caller: { type: "direct" } },
    ]);
    expect(message!.parts).toEqual([
      { type: "reasoning", text: "Hm.", anthropic: { signature: "c2ln" } },
      {
        type: "tool_call",
        toolCallId: "t1",
        name: "Read",
        args: { a: [1] },
        anthropic: { caller: { type: "direct" } },
      },
    ]);
  });

  test.each([7, null, { type: "brand-new" }])("takes %j, which is neither text nor list, for a block", (block) => {
    expect(messagesOf("user", block)[0]!.parts).toEqual([{ type: "data", provider: "anthropic", data: block }]);
  });
});

test("the messages of a role are one, in their order, with what is known of the first", () => {
  const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "ok" });
  const said = messagesOf("user", [result("a"), { type: "text", text: "x" }, result("b")]);
  expect(messageOfRole("tool", said)?.parts.map(({ toolCallId }) => toolCallId)).toEqual(["a", "b"]);
  expect(messageOfRole("user", said)).toMatchObject({ metadata: { anthropic: { coppice: { joined: true } } } });
  expect(messageOfRole("user", messagesOf("user", [result("a")]))).toBeUndefined();
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
