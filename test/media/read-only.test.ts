import { chmodSync, mkdirSync, readdirSync, readFileSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { asNobody, handOver } from "../support/nobody.ts";
import { talk, user } from "../support/said.ts";
import { copyStore } from "../support/store-files.ts";
import { openedStore, temporaryFolder } from "../support/temporary-store.ts";

/** A store of twenty messages in a folder of somebody who is not the superuser. */
function storeOfSomebody({ closed }: { closed: boolean }): string {
  const outer = temporaryFolder();
  const folder = join(outer, "data");
  mkdirSync(folder);
  const source = join(outer, "source.db");
  const store = openedStore(source);
  store.session("s", { hotSize: 3, overlap: 0, evictBatch: 3 }).append(talk(20));
  if (closed) store.close();
  const path = copyStore(source, join(folder, "agent.db"));
  handOver(outer, 0o755);
  for (const name of readdirSync(folder)) handOver(join(folder, name), 0o600);
  handOver(folder, 0o700);
  onTestFinished(() => chmodSync(folder, 0o700)); // so that it can be deleted
  return path;
}

test("a file that may only be read is refused to a writer, at the first write if not before, and read as any other", () => {
  const path = storeOfSomebody({ closed: true });
  const before = readFileSync(path);
  chmodSync(path, 0o400);
  asNobody(() => {
    expect(() => openedStore(path).session("s").append(user("no"))).toThrow(
      expect.objectContaining({ code: "FILE_NOT_USABLE" }),
    );
    expect(openedStore(path, { readonly: true }).resume("s").messages()).toHaveLength(20);
  });
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("a folder that may only be read is refused for writing", () => {
  const path = storeOfSomebody({ closed: true });
  chmodSync(dirname(path), 0o500);
  asNobody(() => expect(() => openedStore(path)).toThrow(expect.objectContaining({ code: "FILE_NOT_USABLE" })));
});

test("every read works in a folder that may only be read, and leaves nothing in it", async () => {
  const path = storeOfSomebody({ closed: true });
  const before = readFileSync(path);
  chmodSync(dirname(path), 0o500);
  await asNobody(async () => {
    const store = openedStore(path, { readonly: true });
    const session = store.resume("s");
    expect(session.messages()).toHaveLength(20);
    expect(session.render().messages.length).toBeGreaterThan(3);
    expect(store.expand(session.roots()[0]!.root).memberCount).toBeGreaterThan(0);
    expect(store.query("SELECT count(*) AS n FROM messages")).toEqual([{ n: 20 }]);
    expect(store.verify()).toMatchObject({ ok: true, messageCount: 20 });
    expect(() => session.append(user("no"))).toThrow(expect.objectContaining({ code: "STORE_READONLY" }));
  });
  expect(readdirSync(dirname(path))).toEqual(["agent.db"]);
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("a reader in such a folder notices when somebody who may has written", () => {
  const path = storeOfSomebody({ closed: true });
  chmodSync(dirname(path), 0o500);
  const reader = asNobody(() => openedStore(path, { readonly: true }));
  chmodSync(dirname(path), 0o700);
  const writer = openedStore(path);
  writer.session("s").append(user("new"));
  writer.close();
  expect(() => reader.sessions()).toThrow(expect.objectContaining({ code: "STORE_CLOSED" }));
});

test("a log left behind in such a folder is not passed over in silence", () => {
  const path = storeOfSomebody({ closed: false });
  chmodSync(dirname(path), 0o500);
  asNobody(() =>
    expect(() => openedStore(path, { readonly: true })).toThrow(
      expect.objectContaining({
        code: "FILE_NOT_USABLE",
        message: `Cannot use ${path}: its write-ahead log cannot be read where no file can be made beside it; copy it elsewhere, with its log.`,
      }),
    ),
  );
});

test("a reader finds what stands in a log although its shared memory is missing", () => {
  const path = storeOfSomebody({ closed: false });
  expect(readdirSync(dirname(path)).sort()).toEqual(["agent.db", "agent.db-wal"]);
  expect(openedStore(path, { readonly: true }).resume("s").messages()).toHaveLength(20);
});

test("a reader finds what a closed store holds although both files beside it are missing", () => {
  const path = storeOfSomebody({ closed: true });
  const reader = openedStore(path, { readonly: true });
  expect(reader.resume("s").messages()).toHaveLength(20);
  reader.close();
  for (const name of readdirSync(dirname(path))) if (name !== "agent.db") unlinkSync(join(dirname(path), name));
  expect(openedStore(path).session("s").append(user("more")).seq).toBe(20);
});
