import type { JsonValue, MessageInput } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";

/** A session found in a transcript. Facts that the transcript does not give are absent. */
export interface ImportedSession {
  /** The session's id in its source. Every file that holds a piece of the session gives the same id. */
  externalId: string;
  /** The name of the importer, such as `claude-code`. */
  source: string;
  /** The session that started this session, or from which it was forked. Its file may be another one, or missing. */
  parentExternalId?: string;
  /** For a fork: the id of the parent's last message before the fork. */
  forkedAfter?: string;
  /**
   * Set if the session is another path of a session in the same transcript, because the user went back: the external id of that
   * session. Its messages are stored in that session, and what they replace is superseded.
   */
  pathOf?: string;
  /**
   * Set if the file has only a part of what another source has of the session: the name of that source. The session is left out if
   * the store has or has forgotten the session with its id from there.
   */
  unlessFrom?: string;
  /** The folder in which the agent worked, as an absolute path. It tells the project. */
  folder?: string;
  /** The name of the project, if the transcript gives one and not a folder. */
  project?: string;
  title?: string;
  /** When the first message was written, in Unix milliseconds. */
  createdAtMs?: number;
  metadata?: Record<string, JsonValue>;
  /** Present if the session was exported from another store. `externalId` is then the session's id in that store. */
  exported?: ExportedOrigin;
}

/** Facts that `export` wrote about a session, so that an import restores it. */
export interface ExportedOrigin {
  /** Present if the other store had imported the session. `externalId` is the session's id in `source`. */
  source?: string;
  externalId?: string;
  forkSeq?: number;
  settings?: Partial<SessionSettings>;
}

/** A message with its external id. */
export type ImportedMessage = MessageInput & { id: string };

export interface ImportedEntry {
  value: JsonValue;
  /** Without it, the entry is recognized by its time. */
  id?: string;
  createdAtMs: number;
}

export interface ImportedItem {
  namespace: string[];
  key: string;
  value: JsonValue | Uint8Array;
  session?: string;
  createdAtMs: number;
  updatedAtMs: number;
}

/** Set if the message is under other ids in a store that imported the file as finished before its newest lines were written. */
export interface EarlierIds {
  /** Those ids, in order. Each has the message or a part of it, with the same words and call ids. All else may differ. */
  earlierIds?: readonly string[];
}

export type ImportEvent =
  /** Comes once for each session, before its first message. A parent in the same file comes before its children. */
  | { kind: "session"; session: ImportedSession }
  /** `session` is the session's external id. `line` is the line on which the message begins. See `EarlierIds`. */
  | ({ kind: "message"; session: string; message: ImportedMessage; line: number } & EarlierIds)
  /** A message of an exported session. It keeps its seq, and its id if it has an id. */
  | { kind: "restored"; session: string; seq: number; message: MessageInput; line: number }
  /** JSON beside the messages of a session. It stays after the messages that came before it in the file. */
  | { kind: "entry"; session: string; entry: ImportedEntry; line: number }
  /** A value by namespace and key. Comes after all sessions, and `item.session` is the external id of one of them. */
  | { kind: "item"; item: ImportedItem; line: number }
  /**
   * In a transcript whose user went back, says where the conversation is now. Comes before a `paused` and at the end.
   * `messageId` is the newest message of `session`, or null if the user went back to the beginning.
   */
  | { kind: "head"; session: string; messageId: string | null }
  /** A title that was found after the session's first message. Comes at most once for each session. */
  | { kind: "title"; session: string; title: string }
  /** Answers an empty chunk: every message that is complete so far has been yielded. */
  | { kind: "paused" }
  /**
   * Comes last, if nothing in the file was understood: it is in another format. If `isInPart`, more than half of its items were not:
   * it is in an unknown version of the format. The import reports both as an error.
   */
  | { kind: "misread"; isInPart?: boolean; reason: string }
  /** Something in the file that did not become a message. `line` is 1-based; `reason` has no final period. */
  | { kind: "warning"; line: number; reason: string };

/** The events of a file most of which was understood. */
export type ReadableEvent = Exclude<ImportEvent, { kind: "misread" }>;

/**
 * This chunk means that a followed file has no more bytes for now. At least one whole line comes before it.
 *
 * The importer yields each message that no later line can change, then `paused`, then reads the next chunk. A message may come
 * again later, with the same id and content.
 */
export const PAUSE: Uint8Array = new Uint8Array(0);

/**
 * This chunk means that a followed file has not grown for a long time. The importer yields everything it has, then `paused`. If
 * the file grows after all, a message may come again with more content.
 */
export const QUIET: Uint8Array = new Uint8Array(0);

export interface ImportFile {
  /** Importers of databases open this path. All others read `chunks`. */
  path: string;
  /**
   * The bytes of the file, in pieces of any size. They can be read once. Throws `FILE_NOT_FOUND` or `IMPORT_UNREADABLE` if the
   * file cannot be read. The chunks of a followed file include empty ones: `PAUSE` and `QUIET`. Importers that are not followable
   * ignore both.
   */
  chunks: AsyncIterable<Uint8Array>;
  /** Set for a regular file. */
  byteLength?: number;
  /** A text that is different if the file has changed. Not set if size, times and inode do not tell this. */
  stamp?: string;
  /** When the file was last written, in Unix milliseconds. Set for a file that was found in a folder. */
  writtenAtMs?: number;
  /** True if the file was found in a folder and may be, for example, settings. It is skipped if no importer recognizes it. */
  isUncertain?: boolean;
  /**
   * True if nothing more will be written to the file. Incomplete messages are then yielded as they are, but a call that its writer
   * tells otherwise in the end stays a warning.
   */
  isFinished?: boolean;
  /**
   * For a database that is read repeatedly: a fingerprint of each session, by session id. The importer skips sessions whose
   * fingerprint is unchanged and updates the others. Keep the map only after all yielded events are in the store.
   */
  fingerprints?: Map<string, string>;
  /** Aborted when the import is to end. Only work that takes long between two events needs to look at it. */
  signal?: AbortSignal | undefined;
}

/**
 * Reads the transcripts of one format: turns the bytes of a file into events. It writes nothing and does not decide what is new.
 *
 * Every importer follows these rules, which `test/contract/importer.contract.ts` checks:
 *
 * - Equal bytes give equal events, however the bytes are cut into chunks.
 * - A session's messages come in conversation order, after its `session` event. The store accepts each of them.
 * - A message's id is unique in its session and never depends on the time, on chance, or on later lines. A message whose id the
 *   store knows was imported before.
 * - A file that has grown gives the same messages as before, and then the new messages. If the file is not finished, a message
 *   that a later line may change becomes a warning.
 * - A damaged line becomes a warning, and every other line is read. `read` throws only if the file is not text.
 * - Everything in a line becomes a message or a warning, unless it says nothing about the conversation.
 * - `detect` returns false for files of other formats.
 */
export interface Importer {
  /** The name of the format, for `--format` and as the `source` of sessions. */
  readonly name: string;
  /** Returns true if a file that begins with `head` is in this format. The last line of `head` may be cut short. */
  detect(head: string): boolean;
  /** Returns true if the SQLite database at `path` is in this format. */
  detectDatabase?(path: string, signal?: AbortSignal): boolean | Promise<boolean>;
  /** True if `read` answers each empty chunk with `paused`. Without it, a changed file is read again from its beginning. */
  readonly isFollowable?: boolean;
  /** @throws {StoreError} `IMPORT_UNREADABLE` for a binary file, and whatever `file.chunks` throws. */
  read(file: ImportFile): AsyncIterable<ImportEvent>;
}
