import { describe, expect, test } from "vitest";
import { CoppiceSessionService } from "../../src/frameworks/adk.ts";
import { SHARED } from "../support/adk-work.ts";
import { COUNT_WHOLE } from "../support/framework-checks.ts";
import { workElsewhere } from "../support/framework-process.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const FRAMEWORKS = [
  { framework: "langgraph", operation: "put", session: "langgraph:shared", dyingStatements: [2, 4, 6] },
  { framework: "adk", operation: "appendEvent", session: "adk:app/ada/shared", dyingStatements: [2, 5, 7] },
] as const;

describe.each(FRAMEWORKS)("$framework", ({ framework, operation, session, dyingStatements }) => {
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
  test(`promise 1: ${operation} stores all or nothing when the process is killed`, async () => {
    const path = await begun();
    let count = 0;
    for (const dyingStatement of dyingStatements) {
      const name = `p${dyingStatement}`;
      const { done, isKilled } = await workElsewhere({ framework, path, name, count: 2, dyingStatement });
      expect({ done, isKilled }).toEqual({ done: 2, isKilled: true });
      count += done; // it died before the commit
      const store = openedStore(path);
      expect(store.verify()).toMatchObject({ ok: true, problems: [] });
      expect(await COUNT_WHOLE[framework](store)).toBe(count);
      store.close();
    }
  });

  test(`two processes ${operation} 200 times each, and none is lost`, async () => {
    const path = await begun();
    const names = ["ada", "bob"];
    await Promise.all(names.map((name) => workElsewhere({ framework, path, name, count: 200 })));
    const store = openedStore(path);
    expect(await COUNT_WHOLE[framework](store)).toBe(400);
    const texts = store
      .resume(session)
      .messages()
      .map(({ text }) => text);
    const said = names.flatMap((name) => Array.from({ length: 200 }, (_, number) => `${name} says ${number}`));
    expect(texts.toSorted()).toEqual(said.toSorted());
  });
});
