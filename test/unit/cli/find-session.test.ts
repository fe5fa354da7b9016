import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findSession, lastHere } from "../../../src/cli/stores/find-session.ts";
import { projectAt } from "../../../src/core/project.ts";
import { internalsOf, openStore } from "../../../src/session/opened-store.ts";
import type { Store } from "../../../src/session/store.ts";
import { tickingClock } from "../../support/temporary-store.ts";

let store: Store;

beforeAll(() => {
  store = openStore(":memory:", { clock: tickingClock() });
  store.session("harbor", { title: "The north light" });
  for (const id of ["harbor-2", "pier-1", "pier-1/agent-a", "pier-1/agent-b", "pier-1/fork-e106d1934836ccf6"])
    store.session(id);
  store.session("2026-01-26-4fec7ea0-3335-43ec-a178-d4ab47d5aef3");
  const { id } = internalsOf(store).intake.session({ source: "gemini-cli", externalId: "quay-9" });
  store.session(id).append({ role: "user", content: "Is the lamp lit?" });
});
afterAll(() => store.close());

describe("findSession", () => {
  test.each([
    ["harbor", "harbor"], // exact, although another begins so too
    ["harbor-", "harbor-2"],
    ["pi", "pier-1"], // the others are its subagents
    ["pier-1/", undefined],
    ["pier-1/agent-b", "pier-1/agent-b"],
    ["pi/agent-b", "pier-1/agent-b"], // as a list shows it, where ids are long
    ["pi/fork-e106d193", "pier-1/fork-e106d1934836ccf6"],
    ["4fec7ea0", "2026-01-26-4fec7ea0-3335-43ec-a178-d4ab47d5aef3"], // its date left out
    ["qu", "quay-9"],
    ["@last", "quay-9"],
  ])("%j means %j", (typed, id) => {
    if (id === undefined)
      expect(() => findSession(store, typed)).toThrow('The ids of 3 sessions begin with "pier-1/".');
    else expect(findSession(store, typed).id).toBe(id);
  });

  test("refuses the beginning of several ids, and lists them", () => {
    expect(() => findSession(store, "har")).toThrow(
      expect.objectContaining({
        code: "SESSION_AMBIGUOUS",
        exitCode: 2,
        hint: expect.stringMatching(/:\n {2}harbor {2}2023-11-1\d {2}The north light\n {2}harbor-2 {2}2023-11-1\d$/),
      }),
    );
  });

  test.each([
    ["", "`coppice sessions` lists them."],
    ["lighthouse", "`coppice sessions` lists them."],
    ["habor", "Did you mean harbor? `coppice sessions` lists them."],
    ["theme:12@40", "That is a handle: coppice expand theme:12@40"],
  ])("refuses %j, which begins none", (typed, hint) => {
    expect(() => findSession(store, typed)).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND", hint }));
  });

  test("without an id, the last session of the project in this folder is meant", () => {
    const begun = openStore(":memory:", { clock: tickingClock() });
    expect(lastHere(begun)).toBeUndefined();
    const said = (id: string, project: string) =>
      begun.session(id, { project }).append({ role: "user", content: "Hello." });
    said("other", "/srv/other");
    expect(lastHere(begun)).toBeUndefined();
    said("here", projectAt(process.cwd())!);
    said("newer", "/srv/other");
    expect(lastHere(begun)).toBe("here");
    begun.close();
  });

  test("finds @last behind any number of newer sessions without messages", () => {
    const begun = openStore(":memory:");
    const { id } = begun.session("said");
    begun.session(id).append({ role: "user", content: "Hello." });
    for (let index = 0; index < 70; index++) begun.session(`empty-${index}`);
    expect(findSession(begun, "@last").id).toBe(id);
    begun.close();
  });

  test("reports @last in a store without sessions", () => {
    const empty = openStore(":memory:");
    expect(() => findSession(empty, "@last")).toThrow("The store has no sessions yet.");
    empty.close();
  });
});
