import { escapeIdentifier } from "pg";
import { describe, expect, onTestFinished } from "vitest";
import { grantTeam } from "../../src/hub/administration.ts";
import { openHub } from "../../src/hub/index.ts";
import {
  grantedTo,
  hubWithStores,
  openedConnection,
  openedHub,
  readyDatabase,
  run,
  saidIn,
  test,
} from "../support/hub.ts";
import { talk } from "../support/said.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const NAMES = [
  "'; DROP TABLE coppice_test.log; --",
  "\\'; DELETE FROM coppice_test.sessions; --",
  "$1",
  "$$; DROP ROLE coppice_write_test; $$",
  "_",
  '{s,"t"}',
  "NULL",
  "ſession \u202e gnippirts",
  "a \\n b",
];

async function countOnHub(url: string): Promise<{ sessions: number; messages: number }> {
  const [row] = await run<{ sessions: number; messages: number }>(
    url,
    "SELECT count(*)::int AS sessions, coalesce(sum(message_count), 0)::int AS messages FROM coppice_test.sessions",
  );
  return row!;
}

describe("names that are SQL", () => {
  test("of sessions, projects, titles and items mean themselves, whatever is done with them", async () => {
    const { url, hub, home, away } = await hubWithStores();
    for (const [index, name] of NAMES.entries()) {
      const session = home.session(name, { project: `p${name}`, title: name });
      session.append(talk(3 + index));
      home.items.put([name], name, { [name]: name }, { session: name });
    }
    const total = NAMES.reduce((sum, _, index) => sum + 3 + index, 0);
    await hub.push(home, { projects: NAMES.map((name) => `p${name}`) });
    expect(await countOnHub(url)).toEqual({ sessions: NAMES.length, messages: total });
    for (const [index, name] of NAMES.entries()) {
      const found = (await hub.sessions({ project: `p${name}` })).map(({ sessionId, title }) => [sessionId, title]);
      expect(found).toEqual([[name, name]]);
      expect(await hub.pull(away, name, { take: true, project: `p${name}` })).toMatchObject({
        messageCount: 3 + index,
      });
      expect(saidIn(away, name)).toEqual(saidIn(home, name));
    }
    // Each is forgotten alone.
    for (const [index, name] of NAMES.entries()) {
      away.forget(name);
      await hub.push(away, { projects: NAMES.map((one) => `p${one}`) });
      expect((await countOnHub(url)).sessions).toBe(NAMES.length - 1 - index);
    }
    expect(await countOnHub(url)).toEqual({ sessions: 0, messages: 0 });
  });

  test("of people are granted as they are, those of teams are refused, and a URL has only harmless ones", async () => {
    const url = await readyDatabase();
    const hub = await openedConnection(url);
    const pushedBy: string[] = [];
    for (const [index, name] of NAMES.entries()) {
      const role = `${name} ${process.pid}`;
      onTestFinished(() => run(url, `DROP ROLE ${escapeIdentifier(role)}`).then(() => {}));
      await run(url, `CREATE ROLE ${escapeIdentifier(role)} LOGIN`);
      const urlOfRole = await grantedTo(url, role, "test", "write");
      if (!/^\w+$/.test(name)) {
        await expect(grantTeam(hub, role, name, "write")).rejects.toMatchObject({ code: "OPTION_INVALID" });
      }
      if (/[^\w$ ]/.test(name)) {
        await expect(openHub(urlOfRole)).rejects.toMatchObject({ code: "OPTION_INVALID" });
        continue;
      }
      const member = await openedHub(urlOfRole);
      const store = temporaryStore();
      store.session(`s${index}`, { project: "web" }).append(talk(2));
      await member.push(store, { projects: ["web"] });
      pushedBy.push((await member.sessions()).find(({ sessionId }) => sessionId === `s${index}`)!.pushedBy);
    }
    expect(pushedBy).toEqual(["$1", "_", "NULL"].map((name) => `${name} ${process.pid}`));
    expect(await countOnHub(url)).toEqual({ sessions: 3, messages: 6 });
  });
});
