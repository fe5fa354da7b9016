import { isDeepStrictEqual } from "node:util";
import { StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { type Message, type Part, parseMessage } from "../core/message.ts";
import { compactionNote } from "../core/notes.ts";
import { baseNameOf, projectAt } from "../core/project.ts";
import { OPENING_MESSAGES, OPENING_MESSAGES_MIN } from "../core/remembered.ts";
import type { TranscriptPoint } from "../core/transcript-point.ts";
import type { ImportedSession, Importer } from "../importers/importer.ts";
import { cleanName, titleOf } from "../importers/names.ts";
import { IMPORTERS } from "../importers/registry.ts";
import { everyMessage } from "../session/aids/every-message.ts";
import type { KnownPart } from "../session/moving/intake.ts";
import type { OpenedSession } from "../session/opened-session.ts";
import { internalsOf, type OpenedStore } from "../session/opened-store.ts";
import { inputOf } from "../session/prepared.ts";
import type { AppendResult } from "../session/session.ts";
import type { Exclusions, Store } from "../session/store.ts";
import { ExclusionRules } from "./exclusions.ts";
import { ImportPace } from "./import-pace.ts";
import { ImportReader, type ReadEvent } from "./import-reader.ts";
import { type FileToRead, folderOf, type KnownMessage, type KnownMessages, PartChanged } from "./known-part.ts";
import { partingOf } from "./parting.ts";
import { growthBeyond, haveSameContent, incomingOf, noteOpening, type PendingMessage } from "./pending-message.ts";
import type { Replaced } from "./redaction/redact.ts";
import { EXCLUDED, Stays } from "./stays.ts";
import { TranscriptPath } from "./transcript-path.ts";

/** Something in a file that did not become a message, or became a different one. */
export interface ImportWarning {
  /** 1-based; null if the warning is not about one line. */
  line: number | null;
  reason: string;
}

/** The result of importing one file. */
export interface FileReport {
  path: string;
  /** The importer's name, or null for a file that is blank, unreadable, or in no known format. */
  format: string | null;
  /** The ids of the file's sessions in the store. */
  sessionIds: string[];
  /** Messages that were added to the store. */
  newCount: number;
  /** Messages that the store already had. */
  knownCount: number;
  /** Messages that are left out, because they were forgotten. */
  forgottenCount: number;
  /** Sessions that are left out, because they are excluded. An excluded file counts as one. */
  excludedCount: number;
  /** Entries and items that were added to the store. */
  valueCount: number;
  /** How many secrets and private texts in new messages were replaced by placeholders, by kind of secret or `private`. */
  replaced: Replaced;
  warnings: ImportWarning[];
  /** True if the file was not read, because it has not changed since it was imported. Its warnings are not repeated. */
  isUnchanged: boolean;
  /** Why the file could not be read to its end. Everything before is in the store. */
  error: { code: string; message: string } | null;
}

export interface ImportRunOptions {
  /** As in `ImportFilesOptions`, but `importers` includes the built-in ones. */
  format?: string;
  importers?: readonly Importer[];
  project?: string | undefined;
  keepSecrets?: boolean | undefined;
  exclude?: Partial<Exclusions> | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((report: FileReport) => void) | undefined;
  onEmbedding?: ((progress: { embedded: number; waiting: number }) => void) | undefined;
  /** Returns true if something else makes the vectors of this many new messages. */
  mayLackVectors?: (newCount: number) => boolean;
}

/** The most warnings that are kept about one file. One more says how many others there were. */
export const WARNINGS_MAX = 10_000;

/** How long an import waits for an embedder that does not answer, in milliseconds. */
const EMBED_WAIT_MS_MAX = 10 * 60 * 1_000;

interface OpenImport {
  origin: ImportedSession;
  /** Undefined until the first messages are appended. They tell if it is a copy of a forgotten session. */
  session: OpenedSession | undefined;
  /** True once it is known that the whole session was forgotten. */
  isForgotten: boolean;
  /** True if it is excluded, or if the store cannot hold a session with that name. */
  isRefused: boolean;
  /** The digests of its first messages: see `OPENING_MESSAGES`. */
  opening: Buffer[];
  pending: PendingMessage[];
  /** Entries that are not in the store yet, and how many pending messages come before each. */
  entries: { event: EntryEvent; after: number }[];
  entriesAt: Map<number, number>;
  /** The seq of its newest message that is in the store. */
  seqLast: number;
  path: TranscriptPath;
  /** The import of the session that holds its messages: another one if it is a path of that session. */
  target: OpenImport;
  stays: Stays<OpenImport>;
  /** Where the newest message of this path belongs; undefined if it is left out. A result belongs to where its call does. */
  newest: OpenImport | undefined;
  firstNew: { line: number; seq: number } | undefined;
  isRewritten: boolean;
  /** True once it is known that the file continues its session, or which other session it is. */
  isPlaced: boolean;
}

type ReadyImport = OpenImport & { session: OpenedSession };

type MessageEvent = Extract<ReadEvent, { kind: "message" }>;
type Head = Extract<ReadEvent, { kind: "head" }>;
type EntryEvent = Extract<ReadEvent, { kind: "entry" }>;
type ItemEvent = Extract<ReadEvent, { kind: "item" }>;

/**
 * Imports files into one store, one after another. A message that the store refuses is reported, and all others are appended. A
 * stopped import loses nothing, because the next one recognizes stored messages by their external ids.
 *
 * `read` takes the events of a file one by one. It collects the messages of each session in an `OpenImport`, and flushes these in
 * batches: a session is opened when its first messages show that it is not a copy of a forgotten one.
 */
export class ImportRun {
  readonly #store: OpenedStore;
  readonly #options: ImportRunOptions;
  readonly #reader = new ImportReader();
  readonly #pace = new ImportPace();
  readonly sessionIds = new Set<string>();
  /** Sessions whose parents are in files that come later, if at all. A key is the source and the parent's external id. */
  readonly #awaited = new Map<string, { origin: ImportedSession; path: string }[]>();
  readonly #parts = new Map<string, KnownPart>();

  constructor(store: Store, options: ImportRunOptions = {}) {
    this.#store = internalsOf(store);
    this.#options = options;
  }

  /** Takes note of the files that will be read next, in this order. Some of them may be left out after all. */
  expect(files: readonly FileToRead[]): void {
    const exclusions = this.#exclusions();
    this.#reader.expect(files.filter(({ path }) => !exclusions.hasPath(path)));
  }

  /** Returns a text that is different if files are read differently, or if other files or sessions are left out. */
  policy(): string {
    const { format = "auto", project = null, keepSecrets = false } = this.#options;
    return `${JSON.stringify([format, project, keepSecrets])} ${this.#exclusions()}`;
  }

  #exclusions(): ExclusionRules {
    return new ExclusionRules(this.#store.exclusions(), this.#options.exclude ?? {});
  }

  /** Returns, once, the part of a file of which a later import need not look at the messages. */
  takePart(path: string): KnownPart | undefined {
    const part = this.#parts.get(path);
    this.#parts.delete(path);
    return part;
  }

  /**
   * Adds what is new in a file. A file that cannot be read is reported, not thrown.
   *
   * @throws {StoreError} errors that concern every file, like `importFiles`; or the signal's reason. Everything read before is in
   *   the store.
   * @throws {PartChanged} if the file is followed and does not begin with its known part.
   */
  async read(file: FileToRead): Promise<FileReport> {
    try {
      return await this.#read(file);
    } catch (error) {
      if (!(error instanceof PartChanged) || file.byteLength === undefined) throw error;
      return this.#read({ ...file, known: undefined });
    }
  }

  async #read(file: FileToRead): Promise<FileReport> {
    const { onProgress, mayLackVectors, signal } = this.#options;
    const { path } = file;
    const report = reportOf(path);
    const exclusions = this.#exclusions();
    if (exclusions.hasPath(path)) return { ...report, excludedCount: 1 };
    const open = new Map<string, OpenImport>();
    let heads: Head[] = [];
    let pendingCount = 0;
    let hasItems = false;
    let warningCount = 0;
    let messageCount = 0;
    let hasOnlyMessages = true;
    let part: KnownPart | undefined;
    const flush = async ({ isEnd = false, isFork = false, mayWait = false } = {}): Promise<void> => {
      signal?.throwIfAborted();
      const newCountBefore = report.newCount;
      for (const one of open.values()) {
        if (mayWait && (isTooShort(one) || this.#mayPart(one, report))) continue;
        // A greeting before a fork is not the whole session.
        const isWhole = isEnd || (isFork && one.opening.length >= OPENING_MESSAGES_MIN);
        // If the user went back in the file, what follows tells on which path the session is.
        const isInPlace = (ready: ReadyImport): boolean => isFork || this.#isInPlace(ready, report);
        if (this.#isReady(one, isWhole, report) && isInPlace(one)) await this.#flush(one, report);
        else this.#leaveOut(one, report);
      }
      pendingCount = 0;
      onProgress?.(report);
      if (mayLackVectors?.(report.newCount - newCountBefore) !== true) await this.#embed();
    };
    const endPaths = (): void => {
      for (const { session, messageId } of heads) {
        const one = open.get(session);
        if (one !== undefined) this.#endPath(one, messageId);
      }
      heads = [];
    };
    const notePart = (): void => {
      const isInStore = report.newCount + report.knownCount === messageCount && report.error === null;
      const isAsNamed = [...open].every(
        ([name, { origin, stays }]) => origin.externalId === name && stays.first.size === 0,
      );
      if (part !== undefined && hasOnlyMessages && isInStore && isAsNamed) this.#parts.set(path, part);
      else this.#parts.delete(path);
    };
    const onPart = (read: KnownPart | undefined): void => {
      part = this.#isFollowable(report) ? read : undefined;
    };
    for await (const event of this.#eventsOf(file, report, onPart)) {
      if (event.kind === "message") messageCount += 1;
      else if (event.kind === "restored" || event.kind === "entry" || event.kind === "item") hasOnlyMessages = false;
      if (event.kind === "warning") {
        if (++warningCount <= WARNINGS_MAX) report.warnings.push({ line: event.line, reason: event.reason });
      } else if (event.kind === "head") {
        heads.push(event);
      } else if (event.kind === "item") {
        if (pendingCount > 0 || !hasItems) await flush({ isEnd: true });
        hasItems = true;
        this.#restoreItem(event, open, report);
      } else if (event.kind === "paused") {
        await flush();
        endPaths();
        // After a pause, messages may come again although the file was not rewritten.
        for (const one of open.values()) one.firstNew = undefined;
        notePart();
      } else if (event.kind === "known") {
        this.#passOver(event, open.get(event.session));
        messageCount += event.messages.length;
        report.knownCount += event.messages.length;
      } else if (event.kind === "title") {
        const one = open.get(event.session)?.target;
        if (one?.stays.hasExcluded) continue;
        if (one?.session !== undefined) this.#store.session(one.session.id, { title: titleOf(event.title) });
        else if (one !== undefined) one.origin = { title: event.title, ...one.origin };
      } else if (event.kind === "session") {
        // A fork begins after a message of its parent, which may still be pending.
        const origin = event.session;
        if (this.#isToldBetter(origin)) continue;
        if (origin.forkedAfter !== undefined || origin.pathOf !== undefined) await flush({ isFork: true });
        open.set(origin.externalId, this.#opened(origin, open, exclusions));
        if (open.get(origin.externalId)!.isRefused) report.excludedCount += 1;
      } else if (open.has(event.session)) {
        const whole = open.get(event.session)!;
        const one = event.kind === "message" ? this.#placeOf(event, whole, open) : whole;
        if (one === undefined) {
          if (!whole.stays.isCounted) report.excludedCount += 1;
          whole.stays.isCounted = true;
          continue;
        }
        if (event.kind === "entry") one.entries.push({ event, after: one.pending.length });
        else {
          if (event.kind === "message") one.path.add(event.message.id);
          one.pending.push(this.#asStored(event, one));
          noteOpening(one.opening, event);
        }
        pendingCount += 1;
        if (pendingCount === BATCH_MESSAGES_MAX) await flush({ mayWait: true });
      }
    }
    if (warningCount > WARNINGS_MAX) {
      report.warnings.push({ line: null, reason: `${warningCount - WARNINGS_MAX} further warnings are left out` });
    }
    await flush({ isEnd: true });
    endPaths();
    notePart();
    for (const { session } of open.values()) session?.release();
    return report;
  }

  #opened(origin: ImportedSession, open: ReadonlyMap<string, OpenImport>, exclusions: ExclusionRules): OpenImport {
    const { pathOf, parentExternalId = "", forkedAfter } = origin;
    const parent = pathOf === undefined ? undefined : open.get(parentExternalId);
    const path = new TranscriptPath(parent?.path, forkedAfter);
    if (parent !== undefined) return newImport(origin, path, parent.target.stays, parent.target);
    const isExcluded = (session: ImportedSession, project: string | undefined): boolean =>
      exclusions.hasSession(session, [project, project && this.#store.projectNow(project)]);
    const isRefused = isExcluded(origin, this.#projectOf(origin));
    const stays = new Stays<OpenImport>({
      folder: origin.folder,
      isNamed: this.#options.project !== undefined,
      isExcluded: (folder, project) => isExcluded({ ...origin, folder, metadata: { cwd: folder } }, project),
      holderOf: (messageId) => this.#store.intake.holderOf(origin, messageId)?.slice(origin.externalId.length),
    });
    stays.hasExcluded = stays.isCounted = isRefused;
    return Object.assign(newImport(origin, path, stays), { isRefused });
  }

  /** Gives a message the id under which the store has it from the shorter file. */
  #asStored(event: PendingMessage, open: OpenImport): PendingMessage {
    if (event.kind !== "message") return event;
    const { message, earlierIds } = event;
    const storedIds = this.#storedIds({ id: message.id, earlierIds }, open);
    const [id] = storedIds;
    return id === undefined ? event : { ...event, prepared: undefined, message: { ...message, id }, storedIds };
  }

  /** Finds the ids under which the store has a message of the path from the shorter file, and renames it to the first of them. */
  #storedIds({ id, earlierIds }: KnownMessage, { target: { origin }, path }: OpenImport): string[] {
    const { intake } = this.#store;
    // It may be the first message of a session of its own, which goes on.
    const isStored = (one: string): boolean =>
      intake.knows(origin, one) || intake.has({ source: origin.source, externalId: forkName(origin, one) });
    if (earlierIds === undefined || isStored(id)) return [];
    // The file may have another message under such an id: some models number the calls of each turn from 1.
    const found = earlierIds.filter((one) => !path.hasOther(one, id) && isStored(one));
    // Nothing comes back of a message that was forgotten in part.
    const isForgotten = (one: string): boolean => intake.holderOf(origin, one) === undefined;
    const storedIds = [...found.filter(isForgotten), ...found.filter((one) => !isForgotten(one))];
    path.rename(id, storedIds);
    return storedIds;
  }

  /** @throws {PartChanged} if messages that are in the store belong elsewhere now. */
  #passOver({ folder, messages }: KnownMessages, open: OpenImport | undefined): void {
    if (open === undefined || (folder !== undefined && open.target.stays.nameOf(folder, messages[0]!.id) !== "")) {
      throw new PartChanged();
    }
    for (const message of messages) {
      open.path.add(message.id);
      this.#storedIds(message, open);
    }
  }

  /** Returns the import of the session to which a message belongs by its folder; undefined if the message is left out. */
  #placeOf({ message }: MessageEvent, whole: OpenImport, open: Map<string, OpenImport>): OpenImport | undefined {
    const { stays, origin } = whole.target;
    const folder = folderOf({ message });
    if (folder !== undefined) {
      const name = stays.nameOf(folder, message.id);
      if (name === EXCLUDED) whole.newest = undefined;
      else if (name === "") whole.newest = whole;
      else {
        const held = stays.first.get(name);
        const externalId = `${whole.origin.externalId}${name}`;
        const { isSubagent } = origin.metadata ?? {};
        const metadata = { cwd: folder, ...(isSubagent === true && { isSubagent }) };
        const { createdAt } = message;
        const own: ImportedSession = {
          ...{ source: origin.source, externalId, parentExternalId: origin.externalId, folder, metadata },
          ...(typeof createdAt === "number" && { createdAtMs: createdAt }),
        };
        whole.newest = open.get(externalId) ?? newImport(own, whole.path, stays, held);
        if (held === undefined) stays.first.set(name, whole.newest);
        open.set(externalId, whole.newest);
      }
    }
    const isOfExcluded = stays.hasExcluded && compactionNote(message.metadata as Message["metadata"]) !== undefined;
    return isOfExcluded ? undefined : whole.newest;
  }

  /** Returns true if the store has or has forgotten the session from a source that has all of it. */
  #isToldBetter({ unlessFrom, ...origin }: ImportedSession): boolean {
    if (unlessFrom === undefined) return false;
    const other = { ...origin, source: unlessFrom };
    return this.#store.intake.has(other) || this.#store.intake.isForgotten(other);
  }

  /** Goes to the end of a transcript in which the user went back. */
  #endPath({ path, target, isForgotten }: OpenImport, messageId: string | null): void {
    if (isForgotten) return;
    for (const { session } of [target, ...target.stays.first.values()]) {
      if (session === undefined) continue;
      const point = pointOf(path, messageId === null ? [] : path.through(messageId), true);
      this.#store.intake.endTranscript(session.id, point);
    }
  }

  /** Opens the session of an import. @returns false if it is left out. */
  #isReady(open: OpenImport, isWhole: boolean, report: FileReport): open is ReadyImport {
    const { origin, opening, target } = open;
    if (open.session !== undefined) return true;
    if (open.isForgotten || open.isRefused) return false;
    if (target !== open) {
      this.#isReady(target, isWhole, report);
      open.isForgotten = target.isForgotten || this.#store.intake.isForgotten(origin);
      open.isRefused = target.isRefused;
      if (!open.isForgotten) open.session = target.session;
      return open.session !== undefined;
    }
    // It may have been forgotten while the file was read.
    open.isForgotten =
      this.#store.intake.isForgotten(origin) || this.#store.intake.isForgottenCopy(origin, opening, isWhole);
    if (open.isForgotten) return false;
    open.session = this.#openOwn(origin, report);
    open.isRefused = open.session === undefined;
    if (open.session === undefined) return false;
    this.#joinFamily(origin, report.path);
    report.sessionIds.push(open.session.id);
    this.sessionIds.add(open.session.id);
    return true;
  }

  /** True if the file may go on apart from its session. What follows in it tells. */
  #mayPart(open: OpenImport, report: FileReport): boolean {
    if (open.session === undefined || open.isPlaced || !this.#isFollowable(report)) return false;
    const parting = partingOf(this.#store, open.session.id, open.pending, open.path);
    return parting !== undefined && "isApart" in parting && parting.isApart;
  }

  #isFollowable({ format }: FileReport): boolean {
    const { importers = IMPORTERS } = this.#options;
    return importers.find(({ name }) => name === format)?.isFollowable === true;
  }

  /**
   * Makes a file that goes on apart from its session a session of its own, which begins with copies of the messages that both have.
   * Later imports of the file find it by the first message that only the file has. Other formats than those of lines are left alone:
   * their programs may replace messages in the same file.
   *
   * @returns false if that session is left out.
   */
  #isInPlace(open: ReadyImport, report: FileReport): boolean {
    while (!open.isPlaced && this.#isFollowable(report) && open.path.isOnly) {
      const parting = partingOf(this.#store, open.session.id, open.pending, open.path);
      if (parting === undefined) return true;
      if (!("after" in parting)) break;
      const { first, after, isApart } = parting;
      const { externalId } = open.origin;
      const origin: ImportedSession = {
        ...open.origin,
        externalId: forkName(open.origin, first.message.id!),
        parentExternalId: externalId,
        forkedAfter: after.id,
      };
      const isKnown = this.#store.intake.has(origin);
      if (!isKnown && !isApart) break;
      open.isForgotten = this.#store.intake.isForgotten(origin);
      const session = open.isForgotten ? undefined : this.#openOwn(origin, report);
      if (session === undefined) return false;
      if (!isKnown) {
        session.append(Array.from(everyMessage(open.session, { seqTo: after.seq }), inputOf));
        const reason = `session ${JSON.stringify(open.session.id)} went on in another file: from here on, this file is the session ${JSON.stringify(session.id)}`;
        report.warnings.push({ line: first.line, reason });
      }
      Object.assign(open, { origin, session });
      open.pending = open.pending.map((one) => this.#asStored(one, open));
      report.sessionIds.push(session.id);
      this.sessionIds.add(session.id);
    }
    open.isPlaced = true;
    return true;
  }

  #leaveOut({ pending, entries, isForgotten }: OpenImport, report: FileReport): void {
    const count = pending.splice(0).length;
    entries.length = 0;
    if (isForgotten) report.forgottenCount += count;
  }

  async *#eventsOf(
    file: FileToRead,
    report: FileReport,
    onPart: (part: KnownPart | undefined) => void,
  ): AsyncGenerator<ReadEvent> {
    const { format = "auto", importers = IMPORTERS, keepSecrets = false, signal } = this.#options;
    try {
      const events = this.#reader.read(
        { ...file, signal },
        {
          format,
          importers,
          takesPrepared: this.#store.intake.takesPrepared,
          keepSecrets,
          onFormat: (found) => {
            report.format = found ?? null;
          },
          onPart,
        },
      );
      for await (const event of events) {
        signal?.throwIfAborted();
        yield event;
      }
    } catch (error) {
      // An unknown format is the caller's mistake. Everything else concerns this file, even a bug in an importer.
      signal?.throwIfAborted();
      if (StoreError.is(error, "OPTION_INVALID") || error instanceof PartChanged) throw error;
      const known = StoreError.is(error)
        ? error
        : new StoreError("IMPORT_UNREADABLE", { path: file.path, reason: String(error) });
      report.error = { code: known.code, message: known.message };
    }
  }

  /** Waits for vectors, because messages would otherwise enter the forest without vectors. */
  async #embed(): Promise<void> {
    const { onEmbedding, signal } = this.#options;
    const { waiting, error } = await this.#store.upkeep({
      only: "vectors",
      waitMsMax: EMBED_WAIT_MS_MAX,
      ...(onEmbedding !== undefined && { onProgress: onEmbedding }),
      ...(signal !== undefined && { signal }),
    });
    if (waiting > 0 && error !== undefined) throw error;
  }

  /** What transcripts call a project is only a name, even if it looks like a folder. */
  #projectOf({ folder, project }: ImportedSession): string | undefined {
    const { project: given } = this.#options;
    if (given !== undefined) return given;
    if (folder !== undefined) return projectAt(folder);
    return project === undefined ? undefined : cleanName(baseNameOf(project));
  }

  /** @returns undefined, with a warning, if the store cannot hold a session of that name, or has a copy of it that is only read. */
  #openOwn(session: ImportedSession, report: FileReport): OpenedSession | undefined {
    const opened = this.#openSession(session, report);
    try {
      opened?.assertOwn();
      return opened;
    } catch (error) {
      if (!StoreError.is(error, "SESSION_COPIED")) throw error;
      report.warnings.push({ line: null, reason: error.message });
      return undefined;
    }
  }

  #openSession(session: ImportedSession, report: FileReport): OpenedSession | undefined {
    const { folder: _folder, project: _project, unlessFrom: _unless, title, ...origin } = session;
    const names = title === undefined ? {} : { title: titleOf(title) };
    const given = this.#options.project;
    const wanted = this.#projectOf(session);
    try {
      return this.#store.intake.session(origin, wanted === undefined ? names : { ...names, project: wanted });
    } catch (error) {
      if (StoreError.is(error, "SESSION_CONFLICT")) {
        // The session was imported before under another project, which it keeps.
        if (given !== undefined) report.warnings.push({ line: null, reason: error.message });
        return this.#store.intake.session(origin, names);
      }
      const isGivenProject =
        given !== undefined && StoreError.is(error, "OPTION_INVALID") && error.details.option === "project";
      if (!StoreError.is(error, "OPTION_INVALID") || isGivenProject) throw error;
      const reason = `session ${JSON.stringify(origin.externalId)} is left out: ${error.message}`;
      report.warnings.push({ line: null, reason });
      return undefined;
    }
  }

  /** Gives the session its children whose files came before, or waits for its parent. */
  #joinFamily(origin: ImportedSession, path: string): void {
    const { source, externalId, parentExternalId } = origin;
    const keyOf = (name: string): string => JSON.stringify([source, name]);
    const children = this.#awaited.get(keyOf(externalId)) ?? [];
    this.#awaited.delete(keyOf(externalId));
    for (const child of children) {
      if (this.#store.intake.has(child.origin)) this.#store.intake.session(child.origin, {});
    }
    if (parentExternalId === undefined || this.#store.intake.has({ source, externalId: parentExternalId })) return;
    const siblings = this.#awaited.get(keyOf(parentExternalId)) ?? [];
    this.#awaited.set(keyOf(parentExternalId), [...siblings, { origin, path }]);
  }

  /** Returns the files that must be read again when the parents of their sessions have come. */
  awaitingPaths(): ReadonlySet<string> {
    return new Set([...this.#awaited.values()].flatMap((children) => children.map(({ path }) => path)));
  }

  /**
   * Appends the pending messages. Warns if a new message comes before known messages in the file, because the store has it after
   * them. A tool result may be in another order, because other messages may be written while a tool runs.
   */
  async #flush(open: ReadyImport, report: FileReport): Promise<void> {
    const pending = open.pending.splice(0);
    const { isOnly } = open.path;
    const results: (AppendResult | undefined)[] = [];
    while (results.length < pending.length) {
      const next = pending.slice(results.length, results.length + this.#pace.messageCount);
      const fromMs = performance.now();
      results.push(...this.#append(open, next, report));
      this.#pace.note(next.length, performance.now() - fromMs);
      await this.#pace.pause();
    }
    this.#restoreEntries(open, results, report);
    for (const [index, { message, line, replaced }] of pending.entries()) {
      const result = results[index];
      if (result === undefined) continue;
      const { appended, seq } = result;
      if (appended) addCounts(report.replaced, replaced);
      if (appended && message.role !== "tool") open.firstNew ??= { line, seq };
      // A known message with a higher seq was appended by another import of the same file during this one.
      // If the user went back, several messages have had the same seq.
      if (appended || open.firstNew === undefined || seq > open.firstNew.seq || open.isRewritten || !isOnly) continue;
      open.isRewritten = true;
      const reason = `the file was rewritten: new messages from here on in session ${JSON.stringify(open.session.id)} are stored after messages that they precede in the file`;
      report.warnings.push({ line: open.firstNew.line, reason });
    }
  }

  /** @param results  Those of the messages that were pending with the entries. */
  #restoreEntries(open: ReadyImport, results: readonly (AppendResult | undefined)[], report: FileReport): void {
    let from = 0;
    const rows = open.entries.splice(0).map(({ event, after }) => {
      for (; from < after; from++) open.seqLast = results[from]?.seq ?? open.seqLast;
      return { event, row: { ...event.entry, beforeSeq: open.seqLast + 1 } };
    });
    open.seqLast = results.findLast((result) => result !== undefined)?.seq ?? open.seqLast;
    this.#addValues(rows, report, (some) =>
      open.session.entries.restore(
        some.map(({ row }) => row),
        open.entriesAt,
      ),
    );
  }

  /** An item of a session that is left out is left out, too. */
  #restoreItem(event: ItemEvent, open: ReadonlyMap<string, OpenImport>, report: FileReport): void {
    const { session: name, ...item } = event.item;
    const session = name === undefined ? undefined : open.get(name)?.session?.id;
    if (name !== undefined && session === undefined) {
      if (open.has(name)) return;
      const reason = `the item belongs to the session ${JSON.stringify(name)}, which is not in the file`;
      report.warnings.push({ line: event.line, reason });
      return;
    }
    this.#addValues([{ event }], report, () => {
      const held = this.#store.items.restore({ ...item, ...(session !== undefined && { session }) });
      if (held !== undefined && !isDeepStrictEqual(held.value, item.value)) {
        report.warnings.push({ line: event.line, reason: "the store has another value for this item, which stays" });
      }
      return [held === undefined];
    });
  }

  /** @param add  Tells for each if it was added. If the store refuses one, it gets them one by one. */
  #addValues<V extends { event: EntryEvent | ItemEvent }>(
    values: readonly V[],
    report: FileReport,
    add: (values: readonly V[]) => readonly boolean[],
  ): void {
    if (values.length === 0) return;
    try {
      add(values).forEach((isAdded, index) => {
        if (!isAdded) return;
        report.valueCount += 1;
        addCounts(report.replaced, values[index]!.event.replaced);
      });
    } catch (error) {
      if (!StoreError.is(error, "VALUE_INVALID") && !StoreError.is(error, "OPTION_INVALID")) throw error;
      if (values.length > 1) for (const one of values) this.#addValues([one], report, add);
      else report.warnings.push({ line: values[0]!.event.line, reason: error.message });
    }
  }

  /** @returns the result for each message, or undefined if it was refused, had grown, or was forgotten. */
  #append(open: ReadyImport, pending: readonly PendingMessage[], report: FileReport): (AppendResult | undefined)[] {
    try {
      const { path, session, target } = open;
      const results = this.#store.intake.take(session.id, pending.map(incomingOf), {
        opening: target.opening,
        pointOf: path.isOnly ? undefined : ({ name }) => pointOf(path, path.before(name), false),
      });
      const appended = results.filter((result) => result !== undefined);
      const newCount = appended.filter(({ appended }) => appended).length;
      report.newCount += newCount;
      report.knownCount += appended.length - newCount;
      report.forgottenCount += results.length - appended.length;
      return results;
    } catch (error) {
      if (!StoreError.is(error, "MESSAGE_INVALID") && !StoreError.is(error, "MESSAGE_CONFLICT")) throw error;
      // Nothing was written. Messages are now appended one by one to find the wrong one.
      if (pending.length > 1) return pending.flatMap((one) => this.#append(open, [one], report));
      if (this.#isKnownSeq(open, pending[0]!)) report.knownCount += 1;
      else if (!this.#appendGrowth(open, pending[0]!, error, report)) {
        report.warnings.push({ line: pending[0]!.line, reason: error.message });
      }
      return [undefined];
    }
  }

  /** Returns true if the store has this message of an exported session, with or without its secrets. */
  #isKnownSeq(open: ReadyImport, event: PendingMessage): boolean {
    if (event.kind !== "restored") return false;
    const [stored] = open.session.messages({ seqFrom: event.seq, seqTo: event.seq });
    if (stored === undefined || stored.role !== event.message.role) return false;
    return stored.externalId === event.message.id && haveSameContent(stored.parts, parseMessage(event.message).parts);
  }

  /** Appends what is new in a message that has grown since its import. @returns false if the message changed in another way. */
  #appendGrowth(
    open: ReadyImport,
    { message, ...event }: PendingMessage,
    error: StoreError,
    report: FileReport,
  ): boolean {
    if (!StoreError.is(error, "MESSAGE_CONFLICT")) return false;
    const stored = this.#store.message(error.details.messageId);
    const { parts } = parseMessage(message);
    const { storedIds, ...facts } = event;
    const storedParts = storedIds === undefined ? stored.parts : partsUnder(this.#store, open.session.id, storedIds);
    const isToldAgain = event.kind === "message" && event.earlierIds !== undefined;
    const growth = stored.role === message.role ? growthBeyond(storedParts, parts, isToldAgain) : undefined;
    if (growth?.length === 0 || haveSameContent(storedParts, parts)) {
      report.knownCount += 1;
      return true;
    }
    if (growth === undefined) return false;
    const { content: _, ...others } = message;
    const more = { ...others, id: `${message.id}+${storedParts.length}`, parts: growth };
    const pending = { ...facts, prepared: undefined, message: more, growthOf: message.id };
    this.#append(open, [pending as PendingMessage], report);
    return true;
  }
}

function newImport(
  origin: ImportedSession,
  path: TranscriptPath,
  stays: Stays<OpenImport>,
  target?: OpenImport,
): OpenImport {
  const one = {
    ...{ origin, path, stays, session: undefined, isForgotten: false, isRefused: false },
    ...{ opening: [], pending: [], entries: [], entriesAt: new Map(), seqLast: -1 },
    ...{ firstNew: undefined, isRewritten: false, isPlaced: false },
  } as Omit<OpenImport, "target" | "newest"> as OpenImport;
  one.target = target ?? one;
  one.newest = one;
  return one;
}

/** The external id of the session that a file becomes if it goes on apart from its session with this message. */
function forkName({ externalId }: ImportedSession, messageId: string): string {
  return `${externalId}/fork-${messageId}`;
}

function partsUnder(store: OpenedStore, sessionId: string, externalIds: readonly string[]): Part[] {
  const { database, messages, sessions } = store.repositories;
  const found = database.read(() =>
    externalIds.flatMap((id) => messages.byExternalId(sessionId, id) ?? sessions.superseded(sessionId, id) ?? []),
  );
  return found.flatMap(({ id }) => store.message(id).parts);
}

function pointOf(path: TranscriptPath, before: Iterable<string>, isEnd: boolean): TranscriptPoint {
  return {
    before,
    isElsewhere: (id) => path.isElsewhere(id),
    isInTranscript: (id) => path.isInTranscript(id),
    isEnd,
  };
}

/** Returns true if more messages are needed to tell if the session is a copy of a forgotten one. */
function isTooShort({ session, opening, pending }: OpenImport): boolean {
  return session === undefined && opening.length < OPENING_MESSAGES && pending.length < BATCH_MESSAGES_MAX;
}

const NO_COUNTS = { newCount: 0, knownCount: 0, forgottenCount: 0, excludedCount: 0, valueCount: 0 };

/** Returns the sum of no reports. */
export function noCounts(): typeof NO_COUNTS & { replaced: Replaced } {
  return { ...NO_COUNTS, replaced: {} };
}

/** Adds the counts of a file to those of an import. */
export function addReport(sum: ReturnType<typeof noCounts>, report: FileReport): void {
  for (const name of Object.keys(NO_COUNTS) as (keyof typeof NO_COUNTS)[]) sum[name] += report[name];
  addCounts(sum.replaced, report.replaced);
}

/** Returns the report of a file in which nothing was found yet, or what is known of it. */
export function reportOf(path: string, about: Partial<FileReport> = {}): FileReport {
  const none = { format: null, sessionIds: [], warnings: [], isUnchanged: false, error: null };
  return { path, ...none, ...noCounts(), ...about };
}

export function addCounts(sum: Replaced, counts: Replaced | undefined): void {
  for (const [kind, count] of Object.entries(counts ?? {})) sum[kind] = (sum[kind] ?? 0) + count;
}
