import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findSession } from "../../../src/cli/find-session.ts";
import { openStore, type Store } from "../../../src/session/store.ts";

let store: Store;

beforeAll(() => {
  store = openStore(":memory:");
  for (const id of ["harbor", "harbor-2", "pier-1", "pier-1/agent-a", "pier-1/agent-b"]) store.session(id);
});
afterAll(() => store.close());

describe("findSession", () => {
  test.each([
    ["harbor", "harbor"], // exact, although another begins so too
    ["harbor-", "harbor-2"],
    ["pi", "pier-1"], // the others are its subagents
    ["pier-1/", undefined],
    ["pier-1/agent-b", "pier-1/agent-b"],
  ])("%j means %j", (typed, id) => {
    if (id === undefined) expect(() => findSession(store, typed)).toThrow("not of 2 (pier-1/agent-a, pier-1/agent-b)");
    else expect(findSession(store, typed).id).toBe(id);
  });

  test("refuses what begins several sessions, with their names", () => {
    expect(() => findSession(store, "har")).toThrow('not of 2 (harbor, harbor-2), got "har"');
  });

  test("refuses what begins none, and nothing at all", () => {
    for (const typed of ["quay", ""]) {
      expect(() => findSession(store, typed)).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
    }
  });
});
