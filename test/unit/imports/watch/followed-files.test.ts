import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ImportRun } from "../../../../src/imports/import-run.ts";
import { FollowedFiles } from "../../../../src/imports/watch/followed-files.ts";
import type { Store } from "../../../../src/index.ts";
import { internalsOf } from "../../../../src/session/opened-store.ts";
import { openedStore, temporaryFolder } from "../../../support/temporary-store.ts";
import { assistant, user } from "../../importers/claude-code/lines.ts";
import { jsonLines, put } from "../../importers/read.ts";

const MINUTE_MS = 60 * 1_000;

const about = { sessionId: "s", cwd: "/work/web" };
const PROMPT = jsonLines([user("u1", "Build it", about)]);
const THOUGHT = jsonLines([assistant("u2", "m", [{ type: "thinking", thinking: "How?", signature: "x" }], about)]);

/** The files of a new watch over one transcript. */
function followed(store: Store, path: string): FollowedFiles {
  const run = new ImportRun(store, { format: "auto", onProgress: (report) => files.note(report) });
  const files = new FollowedFiles(run, internalsOf(store));
  files.add(path, false);
  return files;
}

function scene(content: string) {
  const folder = temporaryFolder();
  const path = put(join(folder, "s.jsonl"), content);
  const store = openedStore(join(folder, "agent.db"));
  return { path, store, files: followed(store, path) };
}

const rolesIn = (store: Store) => {
  const messages = store.resume("s").messages();
  return messages.map(({ role }) => role);
};

describe("a followed file", () => {
  test("is visited once more after ten quiet minutes, and then holds nothing back", async () => {
    const { path, store, files } = scene(PROMPT + THOUGHT);
    const nowMs = Date.now();
    expect(await files.visit(path, nowMs)).toMatchObject({ newCount: 1 });
    const quietInMs = files.quietInMs(path, nowMs)!;
    expect(quietInMs).toBeGreaterThan(9 * MINUTE_MS);
    expect(await files.visit(path, nowMs + quietInMs - MINUTE_MS)).toBeUndefined();
    expect(await files.visit(path, nowMs + quietInMs)).toMatchObject({ newCount: 1, warnings: [] });
    expect(rolesIn(store)).toEqual(["user", "assistant"]);
    expect(files.quietInMs(path, nowMs + quietInMs)).toBeUndefined();
    expect(await files.visit(path, nowMs + 2 * quietInMs)).toBeUndefined();
  });

  test("is imported completely even if its reader was dropped meanwhile", async () => {
    const { path, store, files } = scene(PROMPT + THOUGHT);
    const nowMs = Date.now();
    await files.visit(path, nowMs);
    const other = join(path, "..", "other.jsonl");
    for (let index = 0; index < 33; index++) {
      const content = jsonLines([{ session: `o${index}`, role: "user", content: "one" }]);
      const name = put(other.replace("other", `other-${index}`), content);
      files.add(name, false);
      await files.visit(name, nowMs);
      put(name, content + jsonLines([{ session: `o${index}`, role: "user", content: "two" }]));
      await files.visit(name, nowMs);
    }
    expect(files.isLive(path)).toBe(false);
    expect(await files.visit(path, nowMs + 11 * MINUTE_MS)).toMatchObject({ newCount: 1 });
    expect(rolesIn(store)).toEqual(["user", "assistant"]);
  });

  test("that is quiet gives a warning about an unfinished last line", async () => {
    const { path, files } = scene(`${PROMPT}{"sessionId":"s","uuid"`);
    const nowMs = Date.now();
    expect(await files.visit(path, nowMs)).toMatchObject({ newCount: 1, warnings: [] });
    const rested = await files.visit(path, nowMs + 11 * MINUTE_MS);
    expect(rested).toMatchObject({ newCount: 0, warnings: [{ line: 2, reason: expect.stringContaining("not JSON") }] });
    appendFileSync(path, `:"u2","type":"user","message":{"role":"user","content":"And test it"}}\n`);
    expect(await files.visit(path, nowMs)).toMatchObject({ newCount: 1, warnings: [] });
  });

  test("is noted as imported if nothing is held back and nothing was forgotten since it was read", async () => {
    const { path, store, files } = scene(PROMPT + THOUGHT);
    const restedMs = Date.now() + 2 * 24 * 60 * MINUTE_MS;
    const isKnown = async () => (await followed(store, path).visit(path, restedMs)) === undefined;
    await files.visit(path, Date.now());
    files.keep();
    expect(await isKnown()).toBe(false);
    await files.visit(path, Date.now() + 11 * MINUTE_MS);
    store.session("other").append({ role: "user", content: "one" });
    store.forget("other");
    files.keep();
    expect(await isKnown()).toBe(false);
    const again = followed(store, path);
    await again.visit(path, restedMs);
    again.keep();
    expect(await isKnown()).toBe(true);
    store.forget("s");
    expect(await isKnown()).toBe(false);
  });
});
