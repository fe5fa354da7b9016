import { expect, test } from "vitest";
import { ActiveSessions } from "../../../src/session/active.ts";

test("a session is active from the moment it changes, and as long as a look found it changed", () => {
  const active = new ActiveSessions();
  expect(active.isActive("s", 0)).toBe(false);
  active.note("s");
  expect(active.isActive("s", 5)).toBe(true);
  active.look(10);
  expect([active.isActive("s", 9), active.isActive("s", 10)]).toEqual([true, false]);
});
