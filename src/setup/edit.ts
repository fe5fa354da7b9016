import { StoreError } from "../core/errors.ts";

/** What setup adds to one file of an agent. The file need not exist. */
export interface Edit {
  path: string;
  /** The text of a new file before the insertion. Empty by default. */
  blank?: string;
  /**
   * Returns what to add to the file's text, and where. Returns undefined if the file has it already.
   *
   * @throws {StoreError} `FILE_NOT_USABLE` if the text has no place for it.
   */
  insertionInto(text: string): Insertion | undefined;
}

export interface Insertion {
  at: number;
  text: string;
}

/** Makes an edit for a file that belongs to Coppice alone. */
export function ownFile(path: string, content: string): Edit {
  return {
    path,
    insertionInto(text) {
      if (text === "") return { at: 0, text: content };
      if (text === content) return undefined;
      const reason = "there is another file of this name, which `coppice setup` did not write";
      throw new StoreError("FILE_NOT_USABLE", { path, reason, fix: "Move or delete it, then run setup again." });
    },
  };
}

export function ownJsonFile(path: string, content: object): Edit {
  return ownFile(path, `${JSON.stringify(content, null, 2)}\n`);
}
