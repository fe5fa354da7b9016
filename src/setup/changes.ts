import { isUtf8 } from "node:buffer";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, sep } from "node:path";
import { StoreError } from "../core/errors.ts";
import type { Edit } from "./edits.ts";

/** The text that setup has put into a file. It is kept so that exactly this text can be taken out again. */
interface WrittenFile {
  target: string;
  path: string;
  inserted: string;
  /** For a file that setup created: its text without the insertion. Left out if the file existed before. */
  blank?: string;
  /** The outermost folder that was made for the file. */
  folder?: string;
}

export interface Change {
  target: string;
  path: string;
  /** Undefined if there is no file. */
  before: string | undefined;
  after: string | undefined;
  /** The text of setup that is in the file after the change; undefined if there is none. */
  written: WrittenFile | undefined;
}

/** The files that setup has written on this machine. */
export class WrittenFiles {
  readonly #path: string;
  #files: WrittenFile[];

  /** @param folder  Where the list is kept. */
  constructor(folder: string) {
    this.#path = join(folder, "setup.json");
    const text = readText(this.#path);
    this.#files = text === undefined ? [] : listIn(this.#path, text);
  }

  get targets(): string[] {
    return [...new Set(this.#files.map(({ target }) => target))];
  }

  /** Returns true if everything that was written for a target is still in its files. */
  hasAllOf(target: string): boolean {
    const written = this.#files.filter((file) => file.target === target);
    return written.length > 0 && written.every(({ path, inserted }) => readText(path)?.includes(inserted.trimEnd()));
  }

  /**
   * Returns what has to change so that a target has exactly these edits. Without edits, the files become what they were.
   *
   * @throws {StoreError} `FILE_NOT_USABLE` if somebody changed what setup had written.
   */
  changesFor(target: string, edits: readonly Edit[]): Change[] {
    const written = this.#files.filter((file) => file.target === target);
    const paths = new Set([...edits, ...written].map(({ path }) => path));
    return [...paths].map((path) => {
      const edit = edits.find((one) => one.path === path);
      const known = written.find((file) => file.path === path);
      return changeOf(target, path, edit, known);
    });
  }

  /**
   * Writes the changes, and lists them.
   *
   * @throws {StoreError} `FILE_NOT_USABLE` if a file is not as it was when the change was made, or cannot be written.
   */
  apply(changes: readonly Change[]): void {
    const folders = this.#files.flatMap(({ folder }) => folder ?? []);
    for (const { target, path, before, after, written } of changes) {
      if (readText(path) !== before) {
        const reason = "it was changed while setup waited for your answer";
        throw new StoreError("FILE_NOT_USABLE", { path, reason, fix: "Run setup again." });
      }
      if (after === undefined) changing(path, () => rmSync(path, { force: true }));
      else if (after !== before) {
        const folder = changing(path, () => mkdirSync(dirname(path), { recursive: true }));
        if (folder !== undefined && written !== undefined) written.folder = folder;
        writeText(path, after);
      }
      const others = this.#files.filter((file) => file.target !== target || file.path !== path);
      this.#files = written === undefined ? others : [...others, written];
      this.#save();
    }
    for (const { path, after } of changes) if (after === undefined) removeEmptyFolders(dirname(path), folders);
  }

  #save(): void {
    if (this.#files.length === 0) {
      rmSync(this.#path, { force: true });
      return;
    }
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    writeText(this.#path, `${JSON.stringify({ files: this.#files }, null, 2)}\n`);
  }
}

function listIn(path: string, text: string): WrittenFile[] {
  try {
    const { files } = JSON.parse(text) as { files: WrittenFile[] };
    if (Array.isArray(files)) return files;
  } catch {
    // The error is thrown below.
  }
  const fix = "Move it away, then run setup again, which recognizes most of what it had written.";
  throw new StoreError("FILE_NOT_USABLE", { path, reason: "it is not a list of what setup has written", fix });
}

function changeOf(target: string, path: string, edit: Edit | undefined, known: WrittenFile | undefined): Change {
  const before = readText(path);
  // What an earlier setup wrote is recognized even if the list of its files was lost.
  const inserted = known?.inserted ?? edit?.insertionInto("")?.text ?? "";
  const rest = before === undefined ? undefined : without(before, inserted);
  if (known !== undefined && rest === undefined && before?.includes("coppice")) {
    const reason = "the lines that `coppice setup` had written were changed";
    const fix = `Delete what is left of them, then try again. They were:\n${inserted.trim()}`;
    throw new StoreError("FILE_NOT_USABLE", { path, reason, fix });
  }
  const own = rest ?? before;
  const blank = known?.blank ?? (known === undefined && (rest === "" || before === undefined) ? "" : undefined);
  const isMade = own === undefined || (blank !== undefined && own.trim() === blank.trim());
  const base = isMade ? (edit?.blank ?? "") : own;
  const insertion = edit?.insertionInto(base);
  if (insertion === undefined) return { target, path, before, after: isMade ? undefined : base, written: undefined };
  const after = `${base.slice(0, insertion.at)}${insertion.text}${base.slice(insertion.at)}`;
  const written: WrittenFile = { target, path, inserted: insertion.text };
  if (isMade) written.blank = base;
  if (known?.folder !== undefined) written.folder = known.folder;
  return { target, path, before, after, written };
}

/** Returns the text without what was inserted; undefined if it is not in it. Others may have added text after it. */
function without(text: string, inserted: string): string | undefined {
  if (inserted === "") return undefined;
  for (const [part, after] of [
    [inserted, ""],
    [inserted.trimEnd(), ","],
    [inserted.trimEnd(), ""],
  ] as const) {
    const at = text.indexOf(part + after);
    if (at >= 0) return text.slice(0, at) + text.slice(at + part.length + after.length);
  }
  return undefined;
}

function readText(path: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (isMissing && lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    const reason = isMissing ? "it is a link to a file that does not exist" : (error as Error).message;
    throw new StoreError("FILE_NOT_USABLE", { path, reason });
  }
  if (!isUtf8(bytes)) throw new StoreError("FILE_NOT_USABLE", { path, reason: "it is not text in UTF-8" });
  return bytes.toString("utf8");
}

/** Replaces the file in one step, with the permissions that it had. A link to it stays a link. */
function writeText(path: string, text: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  const real = stats === undefined ? path : realpathSync(path);
  const draft = `${real}.coppice-setup`;
  try {
    writeFileSync(draft, text, stats === undefined ? {} : { mode: stats.mode });
    // The umask applies to a new file, so its permissions are set once more.
    if (stats !== undefined) chmodSync(draft, stats.mode);
    renameSync(draft, real);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new StoreError("FILE_NOT_USABLE", { path, reason: (error as Error).message });
  }
}

/** Makes a change to the file at `path`. @throws {StoreError} `FILE_NOT_USABLE` if the system refuses. */
function changing<T>(path: string, change: () => T): T {
  try {
    return change();
  } catch (error) {
    throw new StoreError("FILE_NOT_USABLE", { path, reason: (error as Error).message });
  }
}

/** Removes the folders that setup made, from the inside out, as long as nothing else is in them. */
function removeEmptyFolders(folder: string, made: readonly string[]): void {
  if (!made.some((outermost) => folder === outermost || folder.startsWith(outermost + sep))) return;
  try {
    rmdirSync(folder);
  } catch {
    return;
  }
  removeEmptyFolders(dirname(folder), made);
}
