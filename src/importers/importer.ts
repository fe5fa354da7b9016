import type { JsonValue, MessageInput } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";

/** A session found in a transcript. Facts that the transcript does not give are absent. */
export interface ImportedSession {
  /** The session's id in its source. Every file that holds a piece of the session gives the same id. */
  externalId: string;
  /** The name of the importer, such as `claude-code`. */
  source: string;
  /** The session that this one was started or forked from. It may be in another file, or in none. */
  parentExternalId?: string;
  /** For a fork: the id of the parent's last message before the fork. */
  forkedAfter?: string;
  project?: string;
  title?: string;
  /** Unix milliseconds of its first message. */
  createdAtMs?: number;
  metadata?: Record<string, JsonValue>;
  /** Present if the session was exported from another store. `externalId` is then its id in that store. */
  exported?: ExportedOrigin;
}

/** Facts that restore a session of another store as it was there. */
export interface ExportedOrigin {
  /** The source that the other store imported the session from, and its id there. */
  source?: string;
  externalId?: string;
  forkSeq?: number;
  settings?: Partial<SessionSettings>;
}

/** A message with its external id. */
export type ImportedMessage = MessageInput & { id: string };

export type ImportEvent =
  /** Comes once for each session, before its first message. A parent in the same file comes before its children. */
  | { kind: "session"; session: ImportedSession }
  /** `session` is the session's external id. `line` is the line on which the message begins. */
  | { kind: "message"; session: string; message: ImportedMessage; line: number }
  /** A message of a session that another store exported. It keeps the seq and the id it had there, if it had one. */
  | { kind: "restored"; session: string; seq: number; message: MessageInput; line: number }
  /** A title that became known after the first message of its session. Comes at most once for each session. */
  | { kind: "title"; session: string; title: string }
  /** Answers the chunks `PAUSE` and `QUIET`: every message that is complete so far has been yielded. */
  | { kind: "paused" }
  /** Something in the file that did not become a message. `line` is 1-based; `reason` has no final period. */
  | { kind: "warning"; line: number; reason: string };

/**
 * A chunk of a file that is being followed: there is no more of the file for now. At least one whole line comes before it.
 *
 * The importer yields each message that no later line can change, then `paused`, then reads the next chunk. It may yield
 * a message again later, with the same id and content.
 */
export const PAUSE: Uint8Array = new Uint8Array(0);

/**
 * A chunk of a file that is being followed: nothing has been written to the file for a long time.
 *
 * The importer yields everything it has, then `paused`. If the file grows after all, a message may come again with more
 * content.
 */
export const QUIET: Uint8Array = new Uint8Array(0);

/** A file to read. */
export interface ImportFile {
  /** Only importers of databases open it. */
  path: string;
  /**
   * The bytes of the file, cut anywhere. Can be read once. Throws `FILE_NOT_FOUND` or `IMPORT_UNREADABLE` if the file cannot
   * be read. The chunks of a file that is being followed include `PAUSE` and `QUIET`; importers that are not followable
   * ignore both.
   */
  chunks: AsyncIterable<Uint8Array>;
  /** The length of `chunks`, if the file is a regular file. */
  byteLength?: number;
  /** True if the file was found in a folder and its name says little. If no importer recognizes it, it is skipped silently. */
  isUncertain?: boolean;
  /** True if nothing more will be written to the file. Messages that would wait for more are then yielded as they are. */
  isFinished?: boolean;
  /**
   * For a database that is read repeatedly: a fingerprint of each session when it was last read, by session id. The
   * importer skips sessions whose fingerprint is unchanged and updates the others. Keep the map only after everything
   * that was yielded is in the store.
   */
  fingerprints?: Map<string, string>;
}

/**
 * Reads the transcripts of one format: turns the bytes of a file into events. It writes nothing and does not decide what is new.
 *
 * The rules that every importer follows (`test/contract/importer.contract.ts` checks them):
 *
 * - Equal bytes give equal events, however the bytes are cut into chunks.
 * - Messages of one session come in conversation order, after its `session`, and the store accepts each of them.
 * - A message's id is unique in its session, and the same each time the file is read. A message whose id the session already has
 *   was imported before. So an id never depends on the time, on chance, or on later lines.
 * - A file that has grown gives the same messages first, with the same ids and content, and then new ones. At the end of a
 *   file that is not finished, a message that a later line may still change is a warning.
 * - A damaged line is a warning with its number, and every other line is read. `read` throws only if the file is not text.
 * - Everything in a line becomes a message or a warning, unless it says nothing about the conversation.
 * - `detect` recognizes no other format's files.
 */
export interface Importer {
  /** The name of the format: what `--format` accepts and what sessions get as their `source`. */
  readonly name: string;
  /** Returns true if a file that begins with `head` is in this format. The last line of `head` may be cut short. */
  detect(head: string): boolean;
  /** Returns true if the SQLite database at `path` is in this format. */
  detectDatabase?(path: string): boolean;
  /** True if `read` handles `PAUSE` and `QUIET`. A changed file of any other format is read again from its beginning. */
  readonly isFollowable?: boolean;
  /** @throws {StoreError} `IMPORT_UNREADABLE` for a binary file, and whatever `file.chunks` throws. */
  read(file: ImportFile): AsyncIterable<ImportEvent>;
}
