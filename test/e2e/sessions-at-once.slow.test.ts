import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { CliFolder } from "../support/cli.ts";

const SESSIONS = 20;

/** An agent starts a session: its hook asks, and its transcript is stored. Another process holds the lock of writers meanwhile. */
test(`${SESSIONS} sessions start at once on a store that is locked`, { timeout: 300_000 }, async () => {
  const folder = new CliFolder();
  const said = "We decided on eu-north-1 for the parcel service, because its latency to Bergen is lowest.";
  const lines = (session: string) => [
    { session, id: "1", role: "user", content: "Which region should the parcel service run in?" },
    { session, id: "2", role: "assistant", content: said },
  ];
  folder.jsonl("first.jsonl", lines("first"));
  await folder.json("import", join(folder.path, "first.jsonl"), "--project", "/home/mira/web");
  const names = Array.from({ length: SESSIONS }, (_, index) => `s${index}`);
  for (const name of names) folder.jsonl(`${name}.jsonl`, lines(name));

  const holder = new Database(folder.db);
  holder.exec("BEGIN IMMEDIATE");
  const event = { cwd: "/home/mira/web", hook_event_name: "SessionStart", source: "startup" };
  const asked = names.map((name) =>
    folder.run(["hook", "session-start", "--agent", "claude-code"], {
      stdin: JSON.stringify({ session_id: name, ...event }),
    }),
  );
  const stored = names.map((name) =>
    folder.run(["import", join(folder.path, `${name}.jsonl`), "--project", "/home/mira/web"]),
  );
  const answers = await Promise.all(asked); // hooks only read, so none waits for the lock
  holder.exec("ROLLBACK");
  holder.close();

  for (const { exitCode, stderr, stdout } of answers) {
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("eu-north-1");
  }
  for (const { exitCode, stderr } of await Promise.all(stored)) expect(exitCode, stderr).toBe(0);
  const store = openStore(folder.db);
  expect(store.verify()).toMatchObject({ ok: true, messageCount: 2 * (SESSIONS + 1) });
  store.close();
});
