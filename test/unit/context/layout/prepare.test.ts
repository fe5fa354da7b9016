import { expect, test } from "vitest";
import { prepareView } from "../../../../src/context/layout/prepare.ts";
import type { RenderView } from "../../../../src/context/view.ts";
import { call, messageOf, result, textMessage } from "../../../support/render-message.ts";
import { quarterCounter } from "../../../support/render-model.ts";
import { themeOf, viewOf } from "../../../support/render-view.ts";

/** Roles of what stands first; the line of ours is "opening". */
function rolesOf(fields: Partial<RenderView>): string[] {
  return prepareView(viewOf(fields), quarterCounter).pinnedMessages.map(({ message, source }) =>
    source === undefined && message.role === "user" ? "opening" : message.role,
  );
}

const system = textMessage(9, "system", 10);
const greeting = textMessage(0, "assistant", 10);

test("lets the user begin where the assistant would", () => {
  expect(rolesOf({ window: [greeting] })).toEqual(["opening"]);
  expect(rolesOf({ window: [greeting], pinned: [system] })).toEqual(["system", "opening"]);
  expect(rolesOf({ pinned: [system, greeting], window: [textMessage(1, "user", 10)] })).toEqual([
    "system",
    "opening",
    "assistant",
  ]);
});

test("adds nothing where the user begins, or the memory block, or a result without its call", () => {
  expect(rolesOf({ window: [textMessage(0, "user", 10), greeting] })).toEqual([]);
  expect(rolesOf({ window: [greeting], pinned: [textMessage(1, "user", 10)] })).toEqual(["user"]);
  expect(rolesOf({ window: [greeting], themes: [themeOf(0, 30)] })).toEqual([]);
  expect(rolesOf({ window: [messageOf(0, "tool", [result("a", "ok")])] })).toEqual([]);
  expect(rolesOf({})).toEqual([]);
});

test("answers the calls of pinned steps", () => {
  const asks = messageOf(1, "assistant", [call("a", "run")]);
  expect(rolesOf({ pinned: [textMessage(0, "user", 10), asks] })).toEqual(["user", "assistant", "tool"]);
});

test("counts the line", () => {
  // 4, and a quarter of the 46 characters of "[This conversation begins with the assistant.]", rounded up.
  expect(prepareView(viewOf({ window: [greeting] }), quarterCounter).pinnedMessages[0]!.tokenCount).toBe(16);
});
