import { describe, expect, test } from "vitest";
import { CoppiceSessionService } from "../../src/frameworks/adk.ts";
import { SHARED } from "../support/adk-work.ts";
import { COUNT_WHOLE } from "../support/framework-checks.ts";
import { workElsewhere } from "../support/framework-process.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const COUNT = 30;

const FRAMEWORKS = [
  { framework: "langgraph", dyingStatements: [2, 6] },
  { framework: "adk", dyingStatements: [2, 7] },
  { framework: "ai-sdk", dyingStatements: [1, 5] },
  // Each piece is two transactions.
  { framework: "openai-agents", dyingStatements: [1, 9, 25] },
  { framework: "claude-agent-sdk", dyingStatements: [2, 9] },
] as const;

describe.each(FRAMEWORKS)("$framework", ({ framework, dyingStatements }) => {
  async function begun(): Promise<string> {
    const path = temporaryPath();
    const store = openedStore(path);
    if (framework === "adk") await new CoppiceSessionService(store).createSession(SHARED);
    store.close();
    return path;
  }

  /**
   * Goal: what a kill interrupts is stored as a whole or not at all, with its values, its state and its recallable message.
   * Method: a process works a little, and dies before one of the statements of the next piece. `npm run crash -- --framework adk`
   * does this many times.
   */
  test("promise 1: all of a piece or nothing is stored when the process is killed", async () => {
    const path = await begun();
    let count = 0;
    for (const dyingStatement of dyingStatements) {
      const name = `p${dyingStatement}`;
      const { done, isKilled } = await workElsewhere({ framework, path, name, count: 2, dyingStatement });
      expect({ done, isKilled }).toEqual({ done: 2, isKilled: true });
      const store = openedStore(path);
      expect(store.verify()).toMatchObject({ ok: true, problems: [] });
      const found = await COUNT_WHOLE[framework](store);
      expect([count + 2, count + 3]).toContain(found);
      count = found;
      store.close();
    }
  });

  test("two processes work at once, and nothing of them is lost", async () => {
    const path = await begun();
    const names = ["ada", "bob"];
    await Promise.all(names.map((name) => workElsewhere({ framework, path, name, count: COUNT })));
    const store = openedStore(path);
    expect(await COUNT_WHOLE[framework](store)).toBe(2 * COUNT);
    const texts = store.query("SELECT text FROM messages").map(({ text }) => String(text).replace(/, try \d$/, ""));
    const said = names.flatMap((name) => Array.from({ length: COUNT }, (_, number) => `${name} says ${number}`));
    expect(new Set(texts)).toEqual(new Set(said));
    expect(store.verify()).toMatchObject({ ok: true });
  });
});
