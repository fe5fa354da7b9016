import { beforeAll, describe, expect, test } from "vitest";
import { openStore, type Store } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";

const DAY_MS = 86_400_000;

let store: Store;

/** Three sessions of three days, the newest one imported. */
beforeAll(() => {
  store = openStore(":memory:");
  const { id } = internalsOf(store).intake.session({ source: "codex", externalId: "rollout-7" });
  store.session(id).append({ role: "user", content: "Fix the lamp.", createdAt: 3 * DAY_MS });
  store.session("harbor").append({ role: "assistant", content: "Ready.", createdAt: DAY_MS });
  const pier = store.session("pier", { title: "The pier", project: "works" });
  pier.append({ role: "system", content: "Be brief.", createdAt: DAY_MS });
  pier.append({ role: "user", content: "How long ".repeat(50), createdAt: 2 * DAY_MS });
  pier.append({ role: "user", content: "And wide?", createdAt: 2 * DAY_MS });
  return () => store.close();
});

describe("sessions", () => {
  test("come newest first, with the beginning of what the user said first", () => {
    expect(store.sessions().map(({ id, title, opening }) => [id, title, opening])).toEqual([
      ["rollout-7", null, "Fix the lamp."],
      ["pier", "The pier", "How long ".repeat(50).slice(0, 200)],
      ["harbor", null, null],
    ]);
    expect(store.session("pier").info().opening).toHaveLength(200);
    expect(store.sessions().map((one) => ({ ...one }).name)).toEqual(["Fix the lamp", "The pier", null]);
    expect(JSON.stringify(store.sessions())).toContain('"name":"Fix the lamp"');
  });

  test("have the title of their largest cluster as their name, if no user wrote", () => {
    const shop = openStore(":memory:");
    const session = shop.session("s", { hotSize: 1, overlap: 0, evictBatch: 1 });
    for (const matter of ["grind the rye", "bake the bread", "bake the bread", "bake the bread"])
      session.append({ role: "assistant", content: `Let me ${matter} now.` });
    session.compact();
    expect(session.info().name).toBe("Bake the bread now");
    shop.close();
  });

  test("have no word alone as their beginning, if a request follows soon", () => {
    const shop = openStore(":memory:");
    const openingOf = (id: string, ...said: string[]): string | null => {
      for (const content of said) shop.session(id).append({ role: "user", content });
      return shop.session(id).info().opening;
    };
    expect(openingOf("a", "shell", "grind the rye")).toBe("grind the rye");
    expect(openingOf("b", "shell")).toBe("shell");
    expect(openingOf("c", "磨黑麦", "grind the rye")).toBe("磨黑麦");
    shop.close();
  });

  test("can be those since a time, of a project, and a few", () => {
    const idsOf = (options: Parameters<Store["sessions"]>[0]): string[] => store.sessions(options).map(({ id }) => id);
    expect(idsOf({ sinceMs: 2 * DAY_MS })).toEqual(["rollout-7", "pier"]);
    expect(idsOf({ sinceMs: 2 * DAY_MS + 1 })).toEqual(["rollout-7"]);
    expect(idsOf({ project: "works", sinceMs: 0 })).toEqual(["pier"]);
    expect(idsOf({ limit: 2 })).toEqual(["rollout-7", "pier"]);
    expect(idsOf({ limit: 0 })).toEqual([]);
    expect(idsOf({ limit: 1, offset: 1 })).toEqual(["pier"]);
    expect(idsOf({ offset: 1 })).toEqual(["pier", "harbor"]);
    expect(idsOf({ offset: 3 })).toEqual([]);
  });

  test("on a page are counted like all", () => {
    const messages = store.resume("pier").messages();
    const tokenCount = messages.reduce((sum, message) => sum + message.tokenCount, 0);
    const page = store.sessions({ limit: 1, offset: 1 });
    expect(page).toMatchObject([{ id: "pier", messageCount: 3, tokenCount, updatedAtMs: 2 * DAY_MS }]);
    expect(page).toEqual(store.sessions().slice(1, 2));
    expect(page).toEqual([store.resume("pier").info()]);
  });

  test.each([{ limit: -1 }, { offset: -1 }, { limit: 1.5 }, { sinceMs: Number.NaN }])("refuse %j", (options) => {
    expect(() => store.sessions(options)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });
});

test("sessions are found by the beginning of their own name or of the one they have elsewhere", () => {
  const renamed = openStore(":memory:");
  renamed.session("rollout-7");
  const { id } = internalsOf(renamed).intake.session({ source: "codex", externalId: "rollout-7" });
  expect(id).not.toBe("rollout-7");
  renamed.session("other");
  const idsWith = (options: { prefix: string; project?: string; limit?: number }): string[] =>
    renamed.sessions(options).map((session) => session.id);
  expect(idsWith({ prefix: "rollout" }).sort()).toEqual(["rollout-7", id].sort());
  expect(idsWith({ prefix: "rollout", limit: 1 })).toHaveLength(1);
  expect(idsWith({ prefix: "" })).toHaveLength(3);
  renamed.session("rollout-9", { project: "works" });
  expect(idsWith({ prefix: "rollout", project: "works" })).toEqual(["rollout-9"]);
  renamed.close();
});
