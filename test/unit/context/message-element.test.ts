import { expect, test } from "vitest";
import { cutMessage, messageElement } from "../../../src/context/message-element.ts";
import { call, messageOf, result } from "../../support/render-message.ts";

test("names its id, place, role and speaker", () => {
  const message = { ...messageOf(9, "user", [{ type: "text", text: "Why <that>?" }]), id: 12, name: "bob" };
  expect(messageElement(message)).toEqual({
    text: '<message id="12" seq="9" role="user" name="bob">Why &lt;that&gt;?</message>',
    whole: true,
  });
});

test("writes calls and results out", () => {
  const calls = messageOf(1, "assistant", [
    { type: "text", text: "Let me see." },
    call("c1", "read_file", { path: "ci.yml" }),
  ]);
  expect(messageElement(calls)).toEqual({
    text: '<message id="1" seq="1" role="assistant">Let me see.\n[call read_file] {"path":"ci.yml"}</message>',
    whole: true,
  });
  const failed = messageOf(2, "tool", [{ ...result("c1", "ENOENT"), name: "read_file", isError: true }]);
  expect(messageElement(failed).text).toBe('<message id="2" seq="2" role="tool">[error read_file] ENOENT</message>');
});

test("is not whole without the reasoning and the bytes of files", () => {
  const thought = messageOf(1, "assistant", [
    { type: "reasoning", text: "Secret plan" },
    { type: "text", text: "Yes." },
  ]);
  expect(messageElement(thought)).toEqual({
    text: '<message id="1" seq="1" role="assistant">[reasoning]\nYes.</message>',
    whole: false,
  });
  const shot = messageOf(2, "tool", [
    {
      type: "tool_result",
      toolCallId: "c1",
      content: [
        { type: "data", data: { n: 1 } },
        { type: "file", mediaType: "image/png", name: "a.png", data: "AAAA" },
      ],
    },
  ]);
  expect(messageElement(shot)).toEqual({
    text: '<message id="2" seq="2" role="tool">[result] {"n":1}\n[file image/png "a.png" (3 bytes)]</message>',
    whole: false,
  });
});

test("names bytes by type and size wherever they stand in a text", () => {
  const bytes = `iVBORw0KGgo${"Aa1".repeat(100)}`; // 311 letters are 233 bytes
  const shot = messageOf(4, "user", [
    { type: "text", text: `see data:image/png;base64,${bytes}== there` },
    { type: "data", data: { type: "image", source: { media_type: "image/png", data: bytes } } },
  ]);
  expect(messageElement(shot)).toEqual({
    text:
      '<message id="4" seq="4" role="user">see [image/png, 233 bytes] there\n' +
      '{"type":"image","source":{"media_type":"image/png","data":"[base64, 233 bytes]"}}</message>',
    whole: false,
  });
});

test("distills what a tool said", () => {
  const output = `$ make\n${"cc -c part.c\n".repeat(50)}main.c:7:1: error: expected ';'\nmake: exit status 2`;
  const answer = messageOf(5, "tool", [{ ...result("c1", output), name: "run" }]);
  expect(cutMessage(answer, 240).text).toBe(
    "[result run] $ make\n" +
      `${"cc -c part.c\n".repeat(7)}[… 43 more like these …]\nmain.c:7:1: error: expected ';'\nmake: exit status 2\n` +
      "[shortened from 708 characters, expand message 5]",
  );
});

test("cuts the middle out of a long text", () => {
  const { text, whole } = cutMessage(messageOf(3, "user", [{ type: "text", text: "<".repeat(500) }]), 100);
  expect(whole).toBe(false);
  expect(text).toMatch(/^<{30,34}\n\[… \d+ characters left out, expand message 3 …\]\n<{14,17}$/);
});
