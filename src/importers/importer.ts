import type { JsonValue, MessageInput } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";

/** A conversation found in a file. What the file does not say is left out. */
export interface ImportedSession {
  /** Names the conversation in its source, in every file that holds a piece of it. */
  externalId: string;
  /** The format it was read from: `claude-code`. */
  source: string;
  /** The conversation that started this one: a subagent's. It may stand in another file, or in none. */
  parentExternalId?: string;
  /** Of a fork: the id of the last message of the parent that came before its first. */
  forkedAfter?: string;
  project?: string;
  title?: string;
  /** Unix milliseconds of its first message. */
  createdAtMs?: number;
  metadata?: Record<string, JsonValue>;
  /** Where the session comes from another store: what it was there. `externalId` is then its id in that store. */
  exported?: ExportedOrigin;
}

/** What brings a session of another store back as it was. */
export interface ExportedOrigin {
  /** Where that store had it from, and its name there. */
  source?: string;
  externalId?: string;
  forkSeq?: number;
  settings?: Partial<SessionSettings>;
}

/** A message with its external id: unique in its session, and the same each time the file is read. */
export type ImportedMessage = MessageInput & { id: string };

export type ImportEvent =
  /** Once for each session, before its first message; a parent in the same file comes before its children. */
  | { kind: "session"; session: ImportedSession }
  /** `session` is the session's external id, `line` where the message begins. Messages of one session come in conversation order, and each is one that
   *  `parseMessage` accepts. */
  | { kind: "message"; session: string; message: ImportedMessage; line: number }
  /** A message of a session that comes from another store: with or without an id, as it had there, and at the place `seq`. */
  | { kind: "restored"; session: string; seq: number; message: MessageInput; line: number }
  /** A title that stands after the first message of its session, at most once for each. */
  | { kind: "title"; session: string; title: string }
  /** Where `PAUSE` or `REST` came: whatever is complete in the file so far was told. */
  | { kind: "paused" }
  /** Something of the file that did not become a message. `line` is 1-based; `reason` has no period at its end. */
  | { kind: "warning"; line: number; reason: string };

/**
 * A file to read: `path` is for names and errors, `chunks` are its bytes, cut anywhere.
 *
 * A file that others still write may be followed: the chunk `PAUSE`, behind one whole line at least,
 * says that for now there is no more of it. A reader of lines
 * then tells what no other line can change, `paused`, and goes on with the next chunk. What it told so it tells again later,
 * under the same ids, as it was. The chunk `REST` says that nothing was written for long: it then tells everything, and where
 * more comes all the same, a message may have grown. Readers of documents pass both over.
 */
export interface ImportFile {
  path: string;
  /** May be read once. Reading throws `FILE_NOT_FOUND` or `IMPORT_UNREADABLE` where the file cannot be read. */
  chunks: AsyncIterable<Uint8Array>;
  /** Bytes of a regular file at `path`, whose content `chunks` gives from its beginning; absent for anything else. */
  byteLength?: number;
  /** Found in a folder under a name that other files have, too: in no format that is known, it is none of ours. */
  isPossible?: boolean;
  /** Nothing will be written to it any more: what seems to wait for more comes as it is. */
  isOver?: boolean;
  /**
   * Of a database that is read again and again: what each session looked like when it was read last, under its id. The reader
   * passes over those that look the same, and notes the others. To be kept only when all that was read is in the store.
   */
  seen?: Map<string, string>;
}

/**
 * Port: a foreign history as a stream of our messages. Writes nothing, and decides nothing about what is new.
 *
 * The same bytes give the same events, however they are cut into chunks. A file that has grown gives the ids it gave
 * before and new ones, so an id that a session already holds means: imported before; and the messages of what was there
 * before stay the same and come first. What another line may still change, at the end of a file that is not over, is a warning
 * until it is whole. A line that cannot be read is a warning and costs no other line; only a file that is not text at all is
 * refused.
 */
export interface Importer {
  /** What `--format` calls it. */
  readonly format: string;
  /** Whether a file that begins with `head` is in this format. The last line of `head` may be cut short. */
  detect(head: string): boolean;
  /** Whether the SQLite database at `path` is in this format: the beginning of the file need not show what is in it. */
  detectDatabase?(path: string): boolean;
  /** Whether it reads on when a file that is followed has grown; others read it again from its beginning. */
  readonly isFollowing?: boolean;
  /** @throws {StoreError} `IMPORT_UNREADABLE` for a binary file, and whatever `file.chunks` throws. */
  read(file: ImportFile): AsyncIterable<ImportEvent>;
}
