import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, posix, win32 } from "node:path";
import { StoreError } from "../core/errors.ts";
import { readingEmbedder, silentEmbedder, storedEmbedder } from "../session/embedder-choice.ts";
import { openStore } from "../session/opened-store.ts";
import type { OpenOptions, Store } from "../session/store.ts";

export class OpenedStores {
  readonly #path: string;
  readonly #isDefault: boolean;
  readonly #opened: Store[] = [];
  readonly #folders: string[] = [];

  constructor(path: string | undefined) {
    this.#isDefault = path === undefined;
    this.#path = path ?? defaultStorePath({ env: process.env, platform: process.platform, home: homedir() });
  }

  /** Opens the store for reading, or returns the one that is already open. */
  openToRead(): Store {
    return this.#opened[0] ?? this.#open({ readonly: true, embedder: readingEmbedder });
  }

  /** @param options.mustExist  Throws if there is no store, instead of creating one. */
  openToWrite({
    mustExist = false,
    ...options
  }: { mustExist?: boolean } & Pick<OpenOptions, "summarizer"> = {}): Store {
    if (mustExist) this.#assertExists();
    // Only the default folder is created. A missing folder in `--db` may be a typing error.
    if (this.#isDefault) createPrivateFolder(dirname(this.#path));
    return this.#open({ ...options, embedder: storedEmbedder });
  }

  /** Opens the store even if its embedder is unknown, so that another can replace it. */
  openToReembed(): Store {
    this.#assertExists();
    return this.#open({ embedder: silentEmbedder });
  }

  /** Opens a temporary copy of the store, or an empty one if there is no store. `close` deletes it. */
  async openCopy(): Promise<Store> {
    const folder = mkdtempSync(join(tmpdir(), "coppice-try-"));
    this.#folders.push(folder);
    const path = join(folder, "copy.db");
    if (existsSync(this.#path)) await this.openToRead().backup(path);
    return this.#open({ embedder: silentEmbedder }, path);
  }

  /** Stores can be opened again afterwards. */
  close(): void {
    for (const store of this.#opened.splice(0)) store.close();
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  }

  #open(options: OpenOptions, path = this.#path): Store {
    const store = openStore(path, options);
    this.#opened.push(store);
    return store;
  }

  #assertExists(): void {
    if (!existsSync(this.#path)) throw new StoreError("FILE_NOT_FOUND", { path: this.#path });
  }
}

function createPrivateFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StoreError("FILE_NOT_USABLE", { path, reason: `the folder cannot be made: ${(error as Error).message}` });
  }
}

interface Machine {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  home: string;
}

/**
 * Returns the path for commands without `--db`: `$COPPICE_DB`, or else `coppice/agent.db` in the user's data folder. A relative
 * `$XDG_DATA_HOME` is ignored, as its specification requires.
 */
export function defaultStorePath(machine: Machine): string {
  const { join } = machine.platform === "win32" ? win32 : posix;
  return machine.env.COPPICE_DB || join(dataFolder(machine), "coppice", "agent.db");
}

function dataFolder({ env, platform, home }: Machine): string {
  if (platform === "win32") return env.LOCALAPPDATA || win32.join(home, "AppData", "Local");
  if (platform === "darwin") return posix.join(home, "Library", "Application Support");
  const given = env.XDG_DATA_HOME ?? "";
  return posix.isAbsolute(given) ? given : posix.join(home, ".local", "share");
}
