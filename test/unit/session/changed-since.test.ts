import { mkdirSync, realpathSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { MessageInput, Store } from "../../../src/index.ts";
import { answerOf } from "../../../src/session/aids/answer.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { acts } from "../../support/acts.ts";
import { user } from "../../support/said.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";

const HOUR_MS = 3_600_000;

/** A session that ended a while ago, in a folder with these files, which are made now. */
async function ended(
  agoMs: number,
  files: Readonly<Record<string, string>>,
  actsIn: (folder: string) => MessageInput[],
): Promise<{ store: Store; folder: string }> {
  const folder = realpathSync(temporaryFolder());
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const store = temporaryStore();
  const createdAt = Date.now() - agoMs;
  const messages = [user("Mend the lease of the lighthouse."), ...actsIn(folder)];
  store.session("s", { project: folder }).append(messages.map((message) => ({ ...message, createdAt })));
  await store.upkeep();
  return { store, folder };
}

/** Changes a file in place, an hour from now. */
function change(path: string, text: string): void {
  writeFileSync(path, text);
  const later = Date.now() / 1_000 + 3_600;
  utimesSync(path, later, later);
}

const edit = (path: string) => acts("Edit", { file_path: path, old_string: "a", new_string: "b" });
const write = (path: string, content: string) => acts("Write", { file_path: path, content });

test("a file that was changed in place after the session is told, and hits count it", async () => {
  const { store, folder } = await ended(0, { "lease.ts": "a", "lock.ts": "a", "read.ts": "a" }, (folder) => [
    ...edit(join(folder, "lease.ts")),
    ...edit(join(folder, "lock.ts")),
    ...acts("Read", { file_path: "read.ts" }),
  ]);
  expect(statSync(join(folder, "lease.ts")).birthtimeMs).toBeGreaterThan(0); // otherwise nothing can be told here
  expect(store.work.changedSince("s")).toEqual([]);
  change(join(folder, "lease.ts"), "b");
  change(join(folder, "read.ts"), "b");
  expect(store.work.changedSince("s")).toEqual([join(folder, "read.ts"), join(folder, "lease.ts")]);
  const [session] = answerOf(await store.recall("lighthouse lease"), store);
  expect(session!.changedFileCount).toBe(2);
});

test("a file that a checkout has put in place anew is told only if its size shows that it is another", async () => {
  const { store } = await ended(
    HOUR_MS,
    { "edited.ts": "a", "same.ts": "four", "other.ts": "longer than four" },
    (folder) => [
      ...edit(join(folder, "edited.ts")),
      ...write(join(folder, "same.ts"), "abcd"),
      ...write(join(folder, "other.ts"), "four"),
    ],
  );
  expect(store.work.changedSince("s").map((path) => path.split("/").at(-1))).toEqual(["other.ts"]);
});

test("nothing is told of what is gone, is no file, was read where it failed, or is of another machine", async () => {
  const { store, folder } = await ended(0, { "gone.ts": "a", "mine.ts": "a" }, (folder) => [
    ...edit(join(folder, "gone.ts")),
    ...edit(join(folder, "folder")),
    ...edit("/none/elsewhere.ts"),
    ...edit(join(folder, "mine.ts")),
  ]);
  rmSync(join(folder, "gone.ts"));
  mkdirSync(join(folder, "folder"));
  expect(store.work.changedSince("s")).toEqual([]);
  change(join(folder, "mine.ts"), "b");
  expect(store.work.changedSince("s")).toHaveLength(1);
  internalsOf(store).repositories.sessions.setAuthor("s", "ada");
  expect(store.work.changedSince("s")).toEqual([]);
});

test("at most twenty files are looked at, the last touched first", async () => {
  const names = Array.from({ length: 30 }, (_, index) => `f${index}.ts`);
  const files = Object.fromEntries(names.map((name) => [name, "a"]));
  const { store, folder } = await ended(0, files, (folder) => names.flatMap((name) => edit(join(folder, name))));
  for (const name of names) change(join(folder, name), "b");
  const found = store.work.changedSince("s");
  expect([found.length, found[0]]).toEqual([20, join(folder, "f29.ts")]);
});
