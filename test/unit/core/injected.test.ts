import { describe, expect, test } from "vitest";
import type { Part } from "../../../src/core/message.ts";
import { isInjected, textOf } from "../../../src/core/text.ts";

const call = (name: string, args: unknown = {}): Part => ({ type: "tool_call", toolCallId: "c", name, args });

describe("a part is injected", () => {
  test.each([
    ["mcp__coppice__recall"],
    ["mcp__plugin_coppice_coppice__recall"],
    ["coppice_get_context"],
    ["mcp_coppice_list_sessions"],
    ["coppice.expand"],
    ["mcp__coppice__lost"],
  ])("if it calls the tool %s", (name) => expect(isInjected(call(name))).toBe(true));

  test.each([["recall"], ["mcp__other__recall"], ["coppice__deploy"], ["coppicer__recall"]])(
    "but not if it calls the tool %s",
    (name) => expect(isInjected(call(name))).toBe(false),
  );

  test.each([
    ["coppice recall 'the lock'", true],
    ["cd /srv && npx -y coppice expand 12", true],
    ["coppice lost 12 --json", true],
    ["grep coppice recall.txt", false],
    ["npm test # coppice", false],
    ["coppice import ~/.claude", false],
  ])("if it runs the command %s: %s", (command, expected) => {
    expect(isInjected(call("Bash", { command }))).toBe(expected);
    expect(isInjected(call("exec", { cmd: command.split(" ") }))).toBe(expected);
  });

  test("if it is marked", () => {
    expect(isInjected({ type: "text", text: "x", injected: true })).toBe(true);
    expect(isInjected({ type: "text", text: "x", injected: false })).toBe(false);
  });
});

test("the text of a message has no injected part", () => {
  const parts: Part[] = [
    { type: "text", text: "from a hook", injected: true },
    { type: "text", text: "from the user" },
    call("coppice_recall", { query: "what?" }),
  ];
  expect(textOf(parts)).toBe("from the user");
});

test("takes a name or a command of any length, in linear time", () => {
  const name = `coppice_${"a_".repeat(100_000)}!`;
  const command = `coppice${"\n".repeat(200_000)}`;
  for (const args of [{}, { command }]) {
    expect(isInjected({ type: "tool_call", toolCallId: "c", name, args })).toBe(false);
  }
});
