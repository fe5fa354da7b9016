import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { once } from "../../src/core/once.ts";
import { type OpenOptions, openStore, type Store } from "../../src/index.ts";
import { openDatabase } from "../../src/store/file/open.ts";

/** A folder of its own, gone when the test is over. */
export function temporaryFolder(): string {
  const folder = newFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A path where no file is yet, in a folder that goes when the test is over. */
export function temporaryPath(): string {
  return join(temporaryFolder(), "agent.db");
}

/** A store in a file of its own, closed and deleted when the test is over. */
export function temporaryStore(options: OpenOptions = {}): Store {
  return openedStore(temporaryPath(), options);
}

/** A store that is closed when the test is over, if not before. */
export function openedStore(path: string, options: OpenOptions = {}): Store {
  const store = openFresh(path, { clock: tickingClock(), ...options });
  onTestFinished(() => store.close());
  return store;
}

/** Opens a store, which may be new. `openStore` takes eight times as long for a new one, because it applies every migration. */
export function openFresh(path: string, options: OpenOptions = {}): Store {
  if (options.readonly !== true && path !== ":memory:" && [path, `${path}-wal`].every((file) => !existsSync(file)))
    writeFileSync(path, emptyStore(), { mode: 0o600 });
  return openStore(path, options);
}

const emptyStore = once(() =>
  inFolder((folder) => {
    const path = join(folder, "empty.db");
    openDatabase(path, { readonly: false, durability: "process", busyTimeoutMs: 0 }).client.close();
    return readFileSync(path);
  }),
);

/** For one run of many in a test: the folder goes when `run` returns. */
export function inFolder<T>(run: (folder: string) => T): T {
  const folder = newFolder();
  try {
    return run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `inFolder` for a run that awaits. */
export async function inFolderAsync<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = newFolder();
  try {
    return await run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One second later at every look, from 2023-11-14T22:13:20Z on. */
export function tickingClock(): () => number {
  let now = 1_700_000_000_000;
  return () => {
    now += 1_000;
    return now;
  };
}

function newFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "coppice-test-")));
}
