import { isDeepStrictEqual } from "node:util";
import { StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX, ID_CHARS_MAX } from "../core/limits.ts";
import { parseMessage } from "../core/message.ts";
import { cutAtGrapheme } from "../core/text.ts";
import type { ImportedSession, ImportFile } from "../importers/importer.ts";
import type { OpenedSession } from "../session/opened-session.ts";
import { internalsOf, type OpenedStore } from "../session/opened-store.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../session/store.ts";
import { ImportPace } from "./import-pace.ts";
import { ImportReader, type ReadEvent } from "./import-reader.ts";

/** Something that was left out, or is not as the file says. */
export interface ImportWarning {
  /** 1-based; null where it is not one line's doing. */
  line: number | null;
  reason: string;
}

/** What became of one file. */
export interface FileReport {
  path: string;
  /** Null where it could not be told: the file is empty, or was not read. */
  format: string | null;
  /** Sessions of the store that it holds a piece of. */
  sessionIds: string[];
  newCount: number;
  /** Messages that were in the store before. */
  knownCount: number;
  warnings: ImportWarning[];
  /** Why it could not be read, or not to its end; what was read by then is in the store. */
  error: { code: string; message: string } | null;
}

export interface ImportOptions {
  /** One of `IMPORT_FORMATS`. */
  format: string;
  /** In place of what the files say. */
  project?: string;
  /** Called after each batch. */
  onProgress: (report: FileReport) => void;
  /** Whether so many new messages need not wait for their vectors, because somebody else sees to them. None may unless given. */
  mayLackVectors?: (newCount: number) => boolean;
  /** Called while it waits for vectors. */
  onEmbedding?: (progress: { embedded: number; waiting: number }) => void;
}

type AppendResult = ReturnType<Session["append"]>;
type PendingMessage = Extract<ReadEvent, { kind: "message" | "restored" }>;

/** How long an import waits for an embedder that is away. */
const EMBED_WAIT_MS_MAX = 10 * 60 * 1_000;

/** A session while a file of it is read, and its messages that are not yet in the store. */
interface OpenSession {
  session: OpenedSession;
  pending: PendingMessage[];
  /** The first message that was not known before. */
  firstNew: { line: number; seq: number } | undefined;
  isRewritten: boolean;
}

/**
 * An import into one store: files to sessions, and at the end to summaries.
 *
 * Transactions are short, with pauses between them, so that other processes get their turn. An import that was stopped has
 * lost nothing: the next one finds by external id what is there already. What the store refuses is reported and costs no
 * other message.
 */
export class ImportRun {
  readonly #store: OpenedStore;
  readonly #options: ImportOptions;
  /** The sessions seen, by source and external id. */
  readonly #sessions = new Map<string, OpenedSession>();
  readonly #reader = new ImportReader();
  readonly #pace = new ImportPace();

  constructor(store: Store, options: ImportOptions) {
    this.#store = internalsOf(store);
    this.#options = options;
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  /**
   * Bring what is new in a file into the store. A file that cannot be read is reported, not thrown.
   *
   * @throws {StoreError} what hits every file alike: `STORE_BUSY`, `FILE_NOT_USABLE`, `OPTION_INVALID` for the format or
   *   the project, what the embedder failed with. What was read by then is in the store.
   */
  async read(file: ImportFile): Promise<FileReport> {
    const { path } = file;
    const report: FileReport = {
      path,
      format: null,
      sessionIds: [],
      newCount: 0,
      knownCount: 0,
      warnings: [],
      error: null,
    };
    const open = new Map<string, OpenSession>();
    let pendingCount = 0;
    const flush = async (): Promise<void> => {
      const newCountBefore = report.newCount;
      for (const one of open.values()) await this.#flush(one, report);
      pendingCount = 0;
      this.#options.onProgress(report);
      if (this.#options.mayLackVectors?.(report.newCount - newCountBefore) !== true) await this.#embed();
    };
    for await (const event of this.#eventsOf(file, report)) {
      if (event.kind === "warning") report.warnings.push({ line: event.line, reason: event.reason });
      else if (event.kind === "paused") {
        await flush();
        // What was told now may be told again: that is no rewriting.
        for (const one of open.values()) one.firstNew = undefined;
      } else if (event.kind === "title") this.#title(open.get(event.session)?.session, event.title);
      else if (event.kind === "session") {
        // A fork begins after a message of its parent, which may still be on its way.
        if (event.session.forkedAfter !== undefined) await flush();
        const session = this.#open(event.session, report);
        if (session === undefined) continue;
        open.set(event.session.externalId, { session, pending: [], firstNew: undefined, isRewritten: false });
        report.sessionIds.push(session.id);
      } else if (open.has(event.session)) {
        open.get(event.session)!.pending.push(event);
        pendingCount += 1;
        if (pendingCount === BATCH_MESSAGES_MAX) await flush();
      }
    }
    await flush();
    for (const { session } of open.values()) session.release();
    return report;
  }

  /** What is in a file, as far as it can be read; why no further goes into the report, and so does the format. */
  async *#eventsOf(file: ImportFile, report: FileReport): AsyncGenerator<ReadEvent> {
    try {
      yield* this.#reader.read(file, {
        format: this.#options.format,
        takesPrepared: this.#store.takesPrepared,
        onFormat: (format) => {
          report.format = format ?? null;
        },
      });
    } catch (error) {
      if (!StoreError.is(error, "FILE_NOT_FOUND") && !StoreError.is(error, "IMPORT_UNREADABLE")) throw error;
      report.error = { code: error.code, message: error.message };
    }
  }

  /**
   * Let the store do its upkeep, and give every session that was seen its summaries, where it lacks any. Where nothing is to
   * be done, nothing is written.
   */
  async resolve(onProgress: (doneCount: number) => void): Promise<Awaited<ReturnType<Session["resolveDirty"]>>> {
    const total = { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 };
    await this.#store.upkeep(); // sessions that come to rest have more to summarize
    let doneCount = 0;
    for (const session of this.#sessions.values()) {
      onProgress(doneCount++);
      session.compact({ strategy: "union-find" });
      const { resolved, failed, stale, parked, deferred } = await session.resolveAlone();
      session.compact({ strategy: "union-find" }); // takes the summaries into the context
      total.resolved += resolved;
      total.failed += failed;
      total.stale += stale;
      total.parked += parked;
      total.deferred += deferred;
    }
    return total;
  }

  /** A title that a file tells late is taken where the session has none. */
  #title(session: OpenedSession | undefined, title: string): void {
    if (session !== undefined) this.#store.session(session.id, { title: titleOf(title) });
  }

  /**
   * Wait for the vectors of what was appended: without them it would fill the windows, and go into the forest with none.
   *
   * @throws what the embedder failed with, once it has for ten minutes.
   */
  async #embed(): Promise<void> {
    const { onEmbedding } = this.#options;
    const { waiting, error } = await this.#store.embedPending({
      waitMsMax: EMBED_WAIT_MS_MAX,
      ...(onEmbedding !== undefined && { onProgress: onEmbedding }),
    });
    if (waiting > 0 && error !== undefined) throw error;
  }

  /** The session a file speaks of; undefined, with a warning, where the store cannot hold one of that name. */
  #open(
    { parentExternalId, project, title, ...origin }: ImportedSession,
    report: FileReport,
  ): OpenedSession | undefined {
    const from = parentExternalId === undefined ? origin : { ...origin, parentExternalId };
    const names = title === undefined ? {} : { title: titleOf(title) };
    const given = this.#options.project;
    // Folders may have any name.
    const wanted = given ?? (project === undefined ? undefined : nameOf(project));
    let session: OpenedSession;
    try {
      session = this.#store.importedSession(from, wanted === undefined ? names : { ...names, project: wanted });
    } catch (error) {
      if (StoreError.is(error, "SESSION_CONFLICT")) {
        // Imported before, under another project. It stays there: a project is a session's for good.
        session = this.#store.importedSession(from, names);
        if (given !== undefined) report.warnings.push({ line: null, reason: error.message });
      } else if (
        StoreError.is(error, "OPTION_INVALID") &&
        !(given !== undefined && error.details.option === "project")
      ) {
        const reason = `session ${JSON.stringify(origin.externalId)} is left out: ${error.message}`;
        report.warnings.push({ line: null, reason });
        return undefined;
      } else throw error;
    }
    this.#sessions.set(keyOf(origin.source, origin.externalId), session);
    return session;
  }

  /**
   * A message that was imported while it was still being written has grown: what has come since follows as a message of
   * its own, under an id that the next import finds again.
   *
   * @returns whether what is stored is the beginning of what the file says now.
   */
  #appendRest(
    session: OpenedSession,
    { message, ...event }: PendingMessage,
    error: StoreError,
    report: FileReport,
  ): boolean {
    if (!StoreError.is(error, "MESSAGE_CONFLICT")) return false;
    const { seq } = this.#store.find(error.details.messageId);
    const [stored] = session.messages({ seqFrom: seq, seqTo: seq });
    const { parts } = parseMessage(message);
    const begun = stored?.parts ?? [];
    if (stored?.role !== message.role || !isDeepStrictEqual(begun, parts.slice(0, begun.length))) return false;
    const { content: _, ...rest } = message;
    const more = { ...rest, id: `${message.id}+${begun.length}`, parts: parts.slice(begun.length) };
    this.#append(session, [{ ...event, message: more } as PendingMessage], report);
    return true;
  }

  /**
   * Append what is pending. What is new and now stands behind what was known, and before it in the file, is no growth: the
   * file was rewritten. Only results may come so, where something was said while their tool ran. What another import of the
   * same file has appended meanwhile stands where it should.
   */
  async #flush(open: OpenSession, report: FileReport): Promise<void> {
    const pending = open.pending.splice(0);
    const results: (AppendResult | undefined)[] = [];
    while (results.length < pending.length) {
      const next = pending.slice(results.length, results.length + this.#pace.messageCount);
      const fromMs = performance.now();
      results.push(...this.#append(open.session, next, report));
      this.#pace.note(next.length, performance.now() - fromMs);
      await this.#pace.pause();
    }
    for (const [index, { message, line }] of pending.entries()) {
      const result = results[index];
      if (result === undefined) continue;
      const { appended, seq } = result;
      if (appended && message.role !== "tool") open.firstNew ??= { line, seq };
      if (appended || open.firstNew === undefined || seq > open.firstNew.seq || open.isRewritten) continue;
      open.isRewritten = true;
      const reason = `the file was rewritten: what is new here, in session ${JSON.stringify(open.session.id)}, stands before messages that were imported earlier, and is kept behind them`;
      report.warnings.push({ line: open.firstNew.line, reason });
    }
  }

  /** @returns what became of each; undefined for what was refused, or of which only the rest was new. */
  #append(
    session: OpenedSession,
    pending: readonly PendingMessage[],
    report: FileReport,
  ): (AppendResult | undefined)[] {
    try {
      // A session comes whole from another store, or whole from another program.
      const restored = pending.filter((one) => one.kind === "restored");
      const prepared = pending.flatMap((one) => (one.kind === "message" && one.prepared ? [one.prepared] : []));
      const results =
        restored.length > 0
          ? session.restoreAll(restored)
          : prepared.length === pending.length
            ? session.appendPrepared(prepared)
            : session.appendAll(pending.map(({ message }) => message));
      for (const { appended } of results) {
        if (appended) report.newCount += 1;
        else report.knownCount += 1;
      }
      return results;
    } catch (error) {
      if (!StoreError.is(error, "MESSAGE_INVALID") && !StoreError.is(error, "MESSAGE_CONFLICT")) throw error;
      // Of several messages none was written, and the others are fine.
      if (pending.length > 1) return pending.flatMap((one) => this.#append(session, [one], report));
      if (!this.#appendRest(session, pending[0]!, error, report)) {
        report.warnings.push({ line: pending[0]!.line, reason: error.message });
      }
      return [undefined];
    }
  }
}

/** Titles are made by models, and hold anything. */
function titleOf(title: string): string {
  return nameOf(title.replace(/\s+/g, " ")) ?? "untitled";
}

/** One line that the store accepts; undefined where nothing is left of it. */
function nameOf(words: string): string | undefined {
  const line = words
    .toWellFormed()
    .replace(/[\0-\x1f\x7f-\x9f]+/g, " ")
    .trim();
  return cutAtGrapheme(line, ID_CHARS_MAX) || undefined;
}

function keyOf(source: string, externalId: string): string {
  return JSON.stringify([source, externalId]);
}
