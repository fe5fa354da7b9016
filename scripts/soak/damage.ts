import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { openStore, type Store, StoreError } from "../../src/index.ts";
import { isAsSaid } from "./said.ts";

/** The files of a store: the database, its log, and the index of clusters. */
export const FILES = ["", "-wal", "-coppice-ann.hnsw", "-coppice-ann.json"];

export interface Damage {
  wrong: string[];
  untyped: string[];
}

/** Flips one to eight bits in one of the files of a copy of the store, and reads all of it. */
export async function readDamaged(path: string, copy: string, random: () => number): Promise<Damage> {
  const found: Damage = { wrong: [], untyped: [] };
  for (const suffix of [...FILES, "-shm"]) rmSync(copy + suffix, { force: true });
  const present = FILES.filter((suffix) => existsSync(path + suffix));
  for (const suffix of present) copyFileSync(path + suffix, copy + suffix);
  const file = copy + present[Math.floor(random() * present.length)]!;
  const bytes = readFileSync(file);
  if (bytes.length === 0) return found;
  for (let bits = 1 + Math.floor(random() * 8); bits > 0; bits--) {
    bytes[Math.floor(random() * bytes.length)]! ^= 1 << Math.floor(random() * 8);
  }
  writeFileSync(file, bytes);
  const attempt = async <T>(read: () => T): Promise<Awaited<T> | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (!StoreError.is(error)) found.untyped.push(`${file}: ${(error as Error).stack}`);
      return undefined;
    }
  };
  const store: Store | undefined = await attempt(() => openStore(copy, { readonly: random() < 0.5 }));
  if (store === undefined) return found;
  for (const { id } of (await attempt(() => store.sessions())) ?? []) {
    const session = await attempt(() => store.resume(id));
    if (session === undefined) continue;
    for (let seqFrom = 0; seqFrom < 200; seqFrom += 20) {
      const messages = (await attempt(() => session.messages({ seqFrom, limit: 20 }))) ?? [];
      for (const message of messages) {
        if (!isAsSaid(message)) found.wrong.push(`${file}: message ${message.id} of ${id}`);
      }
    }
    await attempt(() => session.render({ tokensMax: 2_000 }));
    await attempt(() => session.roots());
  }
  await attempt(() => store.recall("deploy region bucket lock"));
  await attempt(() => store.nearestRoots("deploy region bucket lock"));
  await attempt(() => store.verify({ rebuild: random() < 0.5 }));
  await attempt(() => store.close());
  // The next copy overwrites this one, so what failed is kept as it was damaged.
  if (found.wrong.length + found.untyped.length > 0) writeFileSync(`${file}.kept-${Date.now()}`, bytes);
  return found;
}
