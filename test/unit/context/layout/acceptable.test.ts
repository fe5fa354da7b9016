import { describe, expect, test } from "vitest";
import { acceptableMessages } from "../../../../src/context/layout/prepare.ts";
import type { Message, Part } from "../../../../src/core/message.ts";
import { call, messageOf, result } from "../../../support/render-message.ts";
import { quarterCounter } from "../../../support/render-model.ts";
import { viewOf } from "../../../support/render-view.ts";

const text = (said: string): Part => ({ type: "text", text: said });

function accepted(window: Message[], pinned: Message[] = []): { pinned: Message[]; window: Message[] } {
  const view = acceptableMessages(viewOf({ window, pinned }), quarterCounter);
  return { pinned: [...view.pinned], window: [...view.window] };
}

function partsOf(message: Message): Part[] {
  return accepted([message]).window[0]!.parts;
}

describe("texts", () => {
  test("of a message that says something stay the very same", () => {
    const message = messageOf(1, "user", [text("Why?\n"), text(" ok ")]);
    expect(accepted([message]).window[0]).toBe(message);
  });

  test("of white space alone go", () => {
    const message = messageOf(1, "assistant", [text(""), call("c1", "run"), text(" \n\t\u00a0")]);
    expect(partsOf(message)).toEqual([message.parts[1]]);
  });

  test("of nothing at all are said to be that, so that the message is not empty", () => {
    expect(partsOf(messageOf(1, "user", []))).toEqual([text("[no text]")]);
    expect(partsOf(messageOf(1, "system", [text("")]))).toEqual([text("[no text]")]);
    const reasoning: Part = { type: "reasoning", text: "Hm.", signature: "s" };
    expect(partsOf(messageOf(1, "assistant", [reasoning]))).toEqual([reasoning, text("[no text]")]);
  });

  test("of a result go without a word in their place: an empty result is one", () => {
    const content = [text(""), text("ok")] as { type: "text"; text: string }[];
    const answer: Part = { type: "tool_result", toolCallId: "c1", content };
    expect(partsOf(messageOf(2, "tool", [answer], 1))).toEqual([{ ...answer, content: [content[1]] }]);
    const empty = messageOf(2, "tool", [result("c1", "")], 1);
    expect(accepted([empty]).window[0]).toBe(empty);
  });
});

describe("ids of calls", () => {
  test("that nobody has used stay, in the very same messages", () => {
    const window = [messageOf(1, "assistant", [call("a", "run")]), messageOf(2, "tool", [result("a", "ok")], 1)];
    expect(accepted(window).window.map((message, index) => message === window[index])).toEqual([true, true]);
  });

  test("get a number when they come again, in the call and in its result", () => {
    const window = [1, 3, 5].flatMap((id) => [
      messageOf(id, "assistant", [call("call_0", "run")]),
      messageOf(id + 1, "tool", [result("call_0", "ok")], id),
    ]);
    expect(accepted(window).window.map(({ parts }) => parts[0]!.toolCallId)).toEqual([
      "call_0",
      "call_0",
      "call_0_2",
      "call_0_2",
      "call_0_3",
      "call_0_3",
    ]);
  });

  test("are kept apart within a message, and from ids that look like ours", () => {
    const window = [
      messageOf(1, "assistant", [call("c", "run"), call("c", "read"), call("c_2", "run")]),
      messageOf(2, "tool", [result("c", "ran"), result("c_2", "ran"), result("c", "read")], 1),
    ];
    const ids = accepted(window).window.map(({ parts }) => parts.map((part) => part.toolCallId));
    expect(ids).toEqual([
      ["c", "c_2", "c_2_2"],
      ["c", "c_2_2", "c_2"],
    ]);
  });

  test("of pinned messages come first, as these are rendered first", () => {
    const pinned = [messageOf(5, "assistant", [call("c", "run")])];
    const { window } = accepted([messageOf(1, "assistant", [call("c", "run")])], pinned);
    expect(window[0]!.parts[0]).toMatchObject({ toolCallId: "c_2" });
  });

  test("of a result that answers nothing stay as they are", () => {
    const stray = messageOf(3, "tool", [result("c", "late")]);
    expect(accepted([messageOf(1, "assistant", [call("c", "run")]), stray]).window[1]).toBe(stray);
  });
});

test("a message that changes costs its name, too", () => {
  const message = { ...messageOf(1, "assistant", [text("")]), name: "n".repeat(40) };
  // [no text]: 9 characters, and 4 for the message; a token is 4 characters
  expect(accepted([message]).window[0]!.tokenCount).toBe(4 + 3 + 10);
});

describe("halves of surrogate pairs", () => {
  test("are replaced in texts, names, keys and metadata, and a call keeps its result", () => {
    const broken = { ...call("c\ud83d", "run\ud83d"), args: { "k\udc00": ["\ud83d", { deep: "x\udc00" }] } };
    const window = [
      { ...messageOf(1, "assistant", [text("cut \ud83d"), broken]), metadata: { note: "\udc00" } },
      messageOf(2, "tool", [result("c\ud83d", "out \ud83d")], 1),
    ];
    const [asked, answered] = accepted(window).window;
    expect(JSON.stringify([asked, answered])).not.toMatch(/\\ud[89a-f]/i);
    expect(asked!.parts[0]).toEqual(text("cut \ufffd"));
    expect(asked!.parts[1]).toMatchObject({ name: "run\ufffd", args: { "k\ufffd": ["\ufffd", { deep: "x\ufffd" }] } });
    expect(asked!.metadata).toEqual({ note: "\ufffd" });
    const [, { toolCallId }] = asked!.parts as [Part, { toolCallId: string }];
    expect(answered!.parts[0]).toMatchObject({ toolCallId, content: "out \ufffd" });
  });

  test("leave ids apart that differ only in them, and keys too", () => {
    const ids = ["c\ud83d", "c\ud83e", "c\ufffd"];
    const window = [
      messageOf(
        1,
        "assistant",
        ids.map((id) => ({ ...call(id, "run"), args: { "\ud83d": 1, "\ud83e": 2, "\ufffd": 3 } })),
      ),
    ];
    const parts = accepted(window).window[0]!.parts as { toolCallId: string; args: object }[];
    expect(new Set(parts.map(({ toolCallId }) => toolCallId)).size).toBe(3);
    expect(Object.values(parts[0]!.args)).toEqual([1, 2, 3]);
  });

  test("are whole pairs: a message of emoji stays the very same", () => {
    const message = messageOf(1, "user", [text("\ud83d\ude00 ok")]);
    expect(accepted([message]).window[0]).toBe(message);
  });
});
