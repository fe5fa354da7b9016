import { setMaxListeners } from "node:events";
import { resolve } from "node:path";
import { v7 as uuidv7 } from "uuid";
import { type Clock, systemClock } from "../core/clock.ts";
import { StoreError, unless } from "../core/errors.ts";
import { forgetHookLines } from "../core/hook-lines.ts";
import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import type { Message } from "../core/message.ts";
import { ignoreRejection, type SessionOptions, textValue, wholeNumber } from "../core/options.ts";
import { identifier, parseOptions, parseValue } from "../core/schema.ts";
import { minuteOf } from "../core/times.ts";
import { estimatingTokenCounter, type TokenCounter } from "../core/tokens.ts";
import { REMEMBERED } from "../core/verdicts.ts";
import { indexTailNow } from "../ingest/index-texts.ts";
import { measuredSimilarity } from "../ingest/measured-similarity.ts";
import { type ReembedEstimate, type ReembedResult, reembed, reembedEstimate } from "../ingest/reembed.ts";
import type { EmbedResult } from "../ingest/vector-collector.ts";
import { actionsOfStep } from "../models/actions.ts";
import type { Embedder } from "../models/embedder.ts";
import { extractiveSummarizer } from "../models/extractive-summarizer.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import { searchWords } from "../models/search-words.ts";
import { TITLES } from "../models/title.ts";
import { type ExpandOptions, type Expansion, expand } from "../recall/expand.ts";
import type { RecallHit } from "../recall/hits.ts";
import { type NearestRootsOptions, type NearRoot, nearestRoots } from "../recall/nearest-roots.ts";
import { type QueryVector, semanticVector } from "../recall/query-vector.ts";
import { type RecallOptions, recall } from "../recall/recall.ts";
import type { RecallQuery } from "../recall/search.ts";
import {
  type BackupOptions,
  type BackupReport,
  backupStore,
  changeExclusions,
  erase,
  exclusionsOf,
  type Finding,
  type ForgetReport,
  type ForgetTarget,
  fileHas,
  forget,
  GenerationRepository,
  idsOf,
  isErasingDue,
  mergeProjects,
  openDatabase,
  projectNow,
  Queries,
  type QueryParams,
  type QueryRow,
  QuickReader,
  type RelatedSession,
  type Repositories,
  type RestoreReport,
  refuseInUse,
  relatedTo,
  renameProject,
  restoreForgotten,
  restoreStore,
  type SessionOverview,
  type SessionsOptions,
  type StoreDatabase,
  type StoreStats,
  sharingFirst,
  startGeneration,
  storeStats,
  targetOf,
  type VerifyReport,
  verifyStore,
} from "../store/index.ts";
import { LOST_SESSIONS_MAX, type Lost, type LostOptions, lostOf } from "./aids/lost.ts";
import { RECAP_MS_DEFAULT, type Recap, type RecapOptions, recapOf } from "./aids/recap.ts";
import { REMEMBERED_OPTIONS, type RememberOptions, toRemember } from "./aids/remember.ts";
import { type Remembered, type RememberedOptions, rememberedIn } from "./aids/remembered.ts";
import { type SubjectOptions, type SubjectPage, subjectPage } from "./aids/subject-page.ts";
import { type SubjectInfo, type SubjectsOptions, subjectsOf } from "./aids/subjects.ts";
import { tolerantReader } from "./aids/tolerant-reader.ts";
import { StoreWork } from "./aids/work.ts";
import { examine } from "./doctor.ts";
import { StoreItems } from "./items.ts";
import { Copies } from "./moving/copies.ts";
import { type ExportLine, type ExportOptions, exportLines } from "./moving/export.ts";
import { Intake } from "./moving/intake.ts";
import { type ImportedRows, importRowsOf, rowLines } from "./moving/moved-rows.ts";
import { openSession } from "./open-session.ts";
import { OpenedSession } from "./opened-session.ts";
import { type ChosenPorts, SessionPorts } from "./ports.ts";
import { type ProjectInfo, projectsOf } from "./roots.ts";
import type {
  DoctorOptions,
  ExcludeOptions,
  Exclusions,
  ForgetOptions,
  OpenOptions,
  ReembedOptions,
  RenameProjectOptions,
  RestoreOptions,
  Store,
  UpkeepOptions,
  VerifyOptions,
} from "./store.ts";
import { EMBEDDER, optionsOf, SESSION_LIST } from "./store-options.ts";

/** `close` adds at most this many messages to the full-text index, in at most this time. Searches scan the others. */
const CLOSING_MESSAGES_MAX = 2_000;
const CLOSING_MS_MAX = 250;

/**
 * Opens a store file, or creates it. One file holds any number of sessions, and any number of processes may open it.
 *
 * @throws {StoreError} `FILE_NOT_FOUND`, `FILE_NOT_USABLE`, `NOT_A_STORE`, `FORMAT_UNSUPPORTED`, `EMBEDDER_MISMATCH`,
 *   `STORE_BUSY`, `STORE_CORRUPT`, `OPTION_INVALID`.
 */
export function openStore(path: string, options: OpenOptions = {}): Store {
  const { readonly, durability, busyTimeoutMs, ...given } = optionsOf("openStore", options);
  const database = openDatabase(textValue("path", path), { readonly, durability, busyTimeoutMs });
  try {
    const open = (): OpenedStore =>
      database.guard(() => {
        const embedder = embedderOf(database, given.embedder ?? hashingEmbedder);
        const { summarizer, tokenCounter, clock } = given;
        return new OpenedStore(database, {
          // An import prepares messages in a thread only for the embedder that is the library's own.
          embedder: embedder === hashingEmbedder ? embedder : calledBy(database, "the embedder", embedder),
          summarizer: summarizer ? calledBy(database, "the summarizer", summarizer) : extractiveSummarizer(),
          tokenCounter: tokenCounter
            ? checkedCounter(calledBy(database, "the token counter", tokenCounter))
            : estimatingTokenCounter,
          clock: clock ? checkedClock(() => database.calling("the clock", clock)) : systemClock,
        });
      });
    try {
      return open();
    } catch (error) {
      // Another process may have finished a `reembed` after the embedder was chosen.
      if (typeof given.embedder !== "function" || !StoreError.is(error, "EMBEDDER_MISMATCH")) throw error;
      return open();
    }
  } catch (error) {
    database.client.close();
    throw error;
  }
}

/** They return promises, and the store is not within a write when it calls them. */
const ASYNCHRONOUS: readonly PropertyKey[] = ["summarize", "embedAll"];

/** Returns a port of the caller whose other methods and getters write nothing: see `calling`. */
function calledBy<T extends object>(database: StoreDatabase, called: string, port: T): T {
  return new Proxy(port, {
    get: (_, name) => {
      const value: unknown = database.calling(called, () => Reflect.get(port, name));
      if (typeof value !== "function") return value;
      if (ASYNCHRONOUS.includes(name)) return value.bind(port);
      return (...given: unknown[]) => database.calling(called, () => value.apply(port, given));
    },
  });
}

function checkedCounter(counter: TokenCounter): TokenCounter {
  const option = `the count of the token counter ${counter.name}`;
  return { name: counter.name, count: (text) => wholeNumber(option, counter.count(text), 0, Number.MAX_SAFE_INTEGER) };
}

function checkedClock(clock: Clock): Clock {
  return () => {
    const now: unknown = clock();
    if (typeof now === "number" && Number.isFinite(now)) return now;
    ignoreRejection(now);
    throw new StoreError("OPTION_INVALID", {
      option: "the time of the clock",
      expected: "Unix milliseconds",
      actual: now,
    });
  };
}

function embedderOf(database: StoreDatabase, given: NonNullable<OpenOptions["embedder"]>): Embedder {
  if (typeof given !== "function") return given;
  const generation = new GenerationRepository(database).newest();
  if (generation === undefined) return hashingEmbedder;
  return parseValue("the result of embedder", EMBEDDER(), given(generation.embedderId, generation.dimension));
}

/** Returns the object behind a store, with its internal methods. @throws {StoreError} `OPTION_INVALID` for any other object. */
export function internalsOf(store: Store): OpenedStore {
  if (store instanceof OpenedStore) return store;
  throw new StoreError("OPTION_INVALID", { option: "store", expected: "one that openStore returned", actual: store });
}

function isSynchronous(work: unknown): boolean {
  return Object.prototype.toString.call(work) === "[object Function]"; // a generator only runs later, too
}

function refuseWork(actual: unknown): never {
  ignoreRejection(actual);
  const expected = "a function that returns no promise";
  throw new StoreError("OPTION_INVALID", { option: "the work of atomically", expected, actual });
}

/**
 * The only implementation of `Store`. Methods that are not in `Store` are internal: see `internalsOf`. It is long because `Store` has
 * many methods; each is a few lines.
 */
export class OpenedStore implements Store {
  readonly #database: StoreDatabase;
  readonly #repositories: Repositories;
  readonly #ports: SessionPorts;
  readonly #closing = new AbortController();
  /** One object for each session, because two would disagree about its next seq. */
  readonly #sessions = new Map<string, OpenedSession>();
  readonly #queries: Queries;
  #quickReader: QuickReader | undefined;
  readonly items: StoreItems;
  /** What imports use. */
  readonly intake: Intake;
  /** What a hub uses. */
  readonly copies: Copies;
  readonly work: StoreWork;

  constructor(database: StoreDatabase, chosen: ChosenPorts) {
    setMaxListeners(0, this.#closing.signal); // one listener for each session that is resolving
    this.#database = database;
    this.#queries = new Queries(database);
    this.#ports = new SessionPorts(database, chosen, this.#closing.signal);
    this.#repositories = this.#ports.repositories;
    this.items = new StoreItems(this.#ports);
    this.work = new StoreWork(this.#ports);
    this.intake = new Intake(this.#ports, (id) => this.#sessionObject(id));
    this.copies = new Copies(this.#ports, (id) => this.#sessionObject(id));
    if (database.readonly) return;
    const { embedder, clock } = chosen;
    const embedderId = startGeneration(this.#repositories, embedder.id, embedder.dimension, clock());
    if (embedderId !== embedder.id) {
      throw new StoreError("EMBEDDER_MISMATCH", { stored: embedderId, given: embedder.id });
    }
  }

  get path(): string {
    return this.#database.path;
  }

  get repositories(): Repositories {
    return this.#repositories;
  }

  session(id: string = uuidv7(), options: SessionOptions = {}): OpenedSession {
    return this.#sessionObject(openSession(this.#ports, id, options));
  }

  resume(id: string): OpenedSession {
    textValue("session id", id);
    this.#database.read(() => this.#repositories.sessions.existing(id));
    return this.#sessionObject(id);
  }

  projects(): ProjectInfo[] {
    return this.#database.read(() => projectsOf(this.#repositories));
  }

  renameProject(project: string, name: string, options: RenameProjectOptions = {}): void {
    const { merge } = optionsOf("renameProject", options);
    const [named, given] = [parseValue("project", identifier(), project), parseValue("name", identifier(), name)];
    if (merge) {
      mergeProjects(this.#repositories, named, given);
      this.#ports.changes.count += 1;
    } else renameProject(this.#repositories, this.projectNow(named), given);
  }

  /** Returns the project that a project was merged into, or the same one. */
  projectNow(project: string): string {
    return this.#database.read(() => projectNow(this.#repositories, project));
  }

  /** Reads the project that the given one was merged into. What is no text is refused later. */
  #scoped<O extends { project?: string | undefined }>(options: O): O {
    const project = options?.project;
    return typeof project === "string" ? { ...options, project: this.projectNow(project) } : options;
  }

  sessions(options: SessionsOptions = {}): SessionOverview[] {
    const { onUnreadable, ...given } = optionsOf("sessions", options);
    const wanted = this.#scoped(given);
    const { overviews } = this.#repositories;
    try {
      return this.#database.read(() => overviews.list(wanted));
    } catch (error) {
      if (!StoreError.is(error, "STORE_CORRUPT") || onUnreadable === undefined) throw error;
    }
    return this.#database
      .read(() => overviews.listedIds(wanted))
      .flatMap((id) => {
        try {
          return this.#database.read(() => overviews.of(id)) ?? [];
        } catch (error) {
          if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
          onUnreadable({ sessionId: id, reason: error.details.reason });
          return [];
        }
      });
  }

  expand(target: string | number, options: ExpandOptions = {}): Expansion {
    return this.#database.read(() => expand(this.#repositories, target, this.#scoped(options)));
  }

  subjects(options: SubjectsOptions = {}): SubjectInfo[] {
    const { project, limit } = this.#scoped(optionsOf("subjects", options));
    return this.#database.read(() => subjectsOf(this.#repositories, project, limit));
  }

  subject(handle: string, options: SubjectOptions = {}): SubjectPage {
    const wanted = this.#scoped(optionsOf("subject", options));
    const reader = tolerantReader(this.#repositories, wanted);
    return this.#database.read(() => subjectPage(this.#repositories, textValue("the handle", handle), wanted, reader));
  }

  recap(options: RecapOptions = {}): Recap {
    const wanted = this.#scoped(optionsOf("recap", options));
    const untilMs = wanted.untilMs ?? this.#ports.clock();
    const sinceMs = wanted.sinceMs ?? untilMs - RECAP_MS_DEFAULT;
    if (wanted.untilMs !== undefined && untilMs < sinceMs) {
      const expected = `at or after sinceMs, ${minuteOf(sinceMs)}`;
      throw new StoreError("OPTION_INVALID", { option: "untilMs", expected, actual: minuteOf(untilMs) });
    }
    const reader = tolerantReader(this.#repositories, wanted);
    return this.#database.read(() => recapOf(this.#repositories, { ...wanted, sinceMs }, reader));
  }

  remember(text: string, options: RememberOptions = {}): Remembered {
    const repositories = this.#repositories;
    return this.atomically(() => {
      const { text: said, project: named, note } = toRemember(repositories, text, options);
      const project = named === undefined ? null : projectNow(repositories, named);
      const known = repositories.remembered.sessionOf(project);
      const session =
        known === undefined
          ? this.session(`${REMEMBERED}${uuidv7()}`, { title: "Remembered", ...(project !== null && { project }) })
          : this.resume(known);
      const { messageId } = session.append({ role: "user", content: said, metadata: { remembered: note } });
      return rememberedIn(repositories, { project: project ?? undefined, limit: PAGE_LIMIT_MAX }).find(
        (one) => one.messageId === messageId,
      )!;
    });
  }

  remembered(options: RememberedOptions = {}): Remembered[] {
    const wanted = this.#scoped(parseOptions("remembered", REMEMBERED_OPTIONS(), options));
    return this.#database.read(() => rememberedIn(this.#repositories, wanted));
  }

  lost(options: LostOptions = {}): Lost | undefined {
    const { sessionId, summaryId, project, limit } = this.#scoped(optionsOf("lost", options));
    const { overviews } = this.#repositories;
    return this.#database.read(() => {
      const summary = summaryId === undefined ? undefined : this.message(summaryId);
      const named = sessionId ?? summary?.sessionId;
      if (named !== undefined) {
        return lostOf(this.quickReader, this.resume(named).id, { of: summary, limit });
      }
      for (const id of overviews.idsSince({ project, sinceMs: 0, limit: LOST_SESSIONS_MAX })) {
        const lost = lostOf(this.quickReader, id, { limit });
        if (lost !== undefined) return lost;
      }
      return undefined;
    });
  }

  /** Waits until a long read keeps no writer from emptying the log; see `StoreDatabase.turnToRead`. */
  turnToRead(): Promise<void> {
    return this.#database.turnToRead();
  }

  async recall(query: RecallQuery, options: RecallOptions = {}): Promise<RecallHit[]> {
    this.#database.refuseAtomic("recall");
    // `options` may be null, which is refused there.
    const signal = this.#ports.signalOf(options?.signal);
    return recall(this.#ports, query, options && { ...this.#scoped(options), signal });
  }

  /** Returns the vector of a query by meaning; undefined if this store searches by words. */
  async meaningOf(text: string, msMax: number, signal?: AbortSignal): Promise<QueryVector | undefined> {
    return semanticVector(this.#ports, text, msMax, this.#ports.signalOf(signal));
  }

  /** A message of a path or a branch. @throws {StoreError} `MESSAGE_NOT_FOUND`. */
  message(messageId: number): Message {
    const message = this.#database.read(() => this.#repositories.messages.byId(messageId));
    if (message === undefined) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
    return message;
  }

  nearestRoots(target: string | Float32Array | readonly number[], options: NearestRootsOptions = {}): NearRoot[] {
    this.#database.refuseAtomic("nearestRoots");
    return nearestRoots(this.#ports, target, options);
  }

  async upkeep(options: UpkeepOptions = {}): Promise<EmbedResult> {
    this.#database.refuseAtomic("upkeep");
    this.#database.assertWritable("upkeep");
    const { only, ...wanted } = optionsOf("upkeep", options);
    const embedding = { ...wanted, signal: this.#ports.signalOf(wanted.signal) };
    if (only === "vectors") return this.#ports.vectors.embed({ ...embedding, again: true });
    return this.#ports.upkeep.run(embedding, true);
  }

  reembed(options: ReembedOptions & { dryRun: true }): Promise<ReembedEstimate>;
  reembed(options: ReembedOptions & { dryRun?: false }): Promise<ReembedResult>;
  reembed(options: ReembedOptions): Promise<ReembedResult | ReembedEstimate>;
  async reembed(options: ReembedOptions): Promise<ReembedResult | ReembedEstimate> {
    const { similarityMin, signal, onProgress, dryRun, ...given } = optionsOf("reembed", options);
    const embedder =
      given.embedder === hashingEmbedder ? given.embedder : calledBy(this.#database, "the embedder", given.embedder);
    if (dryRun) return this.#database.read(() => reembedEstimate(this.#repositories, embedder));
    this.#database.refuseAtomic("reembed");
    this.#database.assertWritable("reembed");
    const result = await reembed(this.#repositories, {
      embedder,
      similarityMin,
      clock: this.#ports.clock,
      signal: this.#ports.signalOf(signal),
      ...(onProgress && { onProgress }),
      onSwitch: () => this.#ports.useEmbedder(embedder),
    });
    this.#ports.useEmbedder(embedder); // `onSwitch` is not called if another process switched first, or if there was nothing to do
    return result;
  }

  measuredSimilarity(embedder: Embedder): Promise<number | null> {
    return measuredSimilarity(this.#repositories, embedder, this.#ports.signalOf(undefined));
  }

  atomically<T>(work: () => T): T {
    try {
      return this.#database.atomically(() => {
        const result = isSynchronous(work) ? work() : refuseWork(work);
        return typeof (result as { then?: unknown } | null | undefined)?.then === "function"
          ? refuseWork(result)
          : result;
      });
    } catch (error) {
      for (const session of this.#sessions.values()) session.rolledBack();
      throw error;
    }
  }

  query(sql: string, params: QueryParams = []): QueryRow[] {
    return [...this.queryRows(sql, { params })];
  }

  stats(): StoreStats {
    return this.#database.read(() => storeStats(this.#repositories));
  }

  verify(options: VerifyOptions = {}): VerifyReport {
    this.#database.refuseAtomic("verify"); // SQLite writes the totals of the full-text index when it commits
    const { rebuild, onProgress = () => {} } = optionsOf("verify", options);
    const report = verifyStore(this.#repositories, {
      ...TITLES,
      rebuild,
      onProgress,
      searchWords,
      actionsOf: actionsOfStep,
      localEmbedder: hashingEmbedder,
    });
    if (rebuild) this.#ports.changes.count += 1;
    return report;
  }

  async backup(path: string, options: BackupOptions = {}): Promise<BackupReport> {
    this.#database.refuseAtomic("backup");
    const checked = optionsOf("backup", options);
    return backupStore(this.#database, textValue("path", path), checked, this.#closing.signal);
  }

  /**
   * Puts a copy of this store in the place of another, which is kept under another name, if `verify` finds nothing wrong with this one.
   *
   * @throws {StoreError} `STORE_CORRUPT`; see `restoreStore`.
   */
  async restoreTo(
    path: string,
    {
      onChecked,
      onCopied,
    }: { onChecked: NonNullable<VerifyOptions["onProgress"]>; onCopied: NonNullable<BackupOptions["onProgress"]> },
  ): Promise<RestoreReport> {
    refuseInUse(path, this.#database);
    const { ok, problemCount, problems } = this.verify({ onProgress: onChecked });
    if (!ok) {
      const reason = `\`verify\` finds ${problemCount === 1 ? "a problem" : `${problemCount} problems`} in this backup, such as: ${problems[0]!.text}`;
      throw new StoreError("STORE_CORRUPT", { path: this.#database.path, reason });
    }
    return restoreStore(this.#database, path, { onProgress: onCopied, nowMs: Date.now() }, this.#closing.signal);
  }

  export(options: ExportOptions & { rows: true }): Generator<string>;
  export(options?: ExportOptions & { rows?: false }): Generator<ExportLine>;
  export(options?: ExportOptions): Generator<ExportLine> | Generator<string>;
  export(options: ExportOptions = {}): Generator<ExportLine> | Generator<string> {
    this.#database.assertOpen();
    const { rows, onUnreadable, ...wanted } = optionsOf("export", options);
    if (rows && onUnreadable !== undefined) {
      const expected = "left out with `rows`, because a session moves as a whole or not at all";
      throw new StoreError("OPTION_INVALID", { option: "onUnreadable", expected, actual: onUnreadable });
    }
    if (!rows && wanted.ownIds) {
      const fix = "Pass `rows: true`, too. Other exports have no ids of rows.";
      throw new StoreError("OPTION_INVALID", {
        option: "ownIds",
        expected: "left out without `rows`",
        actual: true,
        fix,
      });
    }
    return rows
      ? rowLines(this.#repositories, wanted)
      : exportLines(this.#repositories, { ...wanted, ...(onUnreadable && { onUnreadable }) });
  }

  importRows(path: string): ImportedRows[] {
    this.#database.refuseAtomic("importRows");
    try {
      const sessions = importRowsOf(this.#repositories, textValue("path", path));
      this.eraseDue();
      return sessions;
    } finally {
      this.#ports.changes.count += 1;
    }
  }

  doctor(options: DoctorOptions = {}): Finding[] {
    return examine(this.#ports, optionsOf("doctor", options));
  }

  forget(sessions: string | readonly string[], options: ForgetOptions = {}): ForgetReport {
    const { messageIds, sinceMs, untilMs, related, dryRun } = optionsOf("forget", options);
    const ids = typeof sessions === "string" ? [sessions] : parseValue("sessions", SESSION_LIST(), sessions);
    for (const id of ids) textValue("session id", id);
    if (messageIds !== undefined && ids.length !== 1) {
      throw new StoreError("OPTION_INVALID", { option: "messageIds", expected: "one session", actual: ids });
    }
    const targets = this.#database.read(() =>
      [...new Set(ids)].flatMap(
        (sessionId) => targetOf(this.#repositories, { sessionId, messageIds, sinceMs, untilMs }) ?? [],
      ),
    );
    return this.#forget(targets, { related, dryRun });
  }

  /** Forgets messages of several sessions, one after another, and then rewrites the file once. */
  forgetAll(
    idsBySession: ReadonlyMap<string, Iterable<number>>,
  ): Pick<ForgetReport, "messageCount" | "summaryCount" | "erased"> & { copies: string[] } {
    const copies: string[] = [];
    const counts = { messageCount: 0, summaryCount: 0 };
    const terms = { ...TITLES, dryRun: false, forgottenAtMs: this.#ports.clock() };
    let erased = true;
    this.#forgetInHooks([...idsBySession.keys()]);
    try {
      for (const [sessionId, ids] of idsBySession) {
        const forgotten = forget(this.#repositories, [{ sessionId, messageIds: [...ids] }], terms);
        if (forgotten.isCopy) copies.push(sessionId);
        counts.messageCount += forgotten.messageCount;
        counts.summaryCount += forgotten.summaryCount;
        this.#ports.changes.count += 1;
      }
    } finally {
      if (counts.messageCount > 0) erased = this.erase(); // also if a damaged session ended the loop
    }
    return { ...counts, erased, copies };
  }

  #forget(targets: readonly ForgetTarget[], options: { related: boolean; dryRun: boolean }): ForgetReport {
    const repositories = this.#repositories;
    const { dryRun } = options;
    const { related, all } = this.#relatedTo(targets, options);
    const terms = { ...TITLES, dryRun, forgottenAtMs: this.#ports.clock() };
    const idsOfAll = (): number[] => all.flatMap((target) => idsOf(repositories, target));
    const traces = dryRun ? undefined : this.#unlessDamaged(() => repositories.traces.of(idsOfAll()));
    if (!dryRun) this.#forgetInHooks(all.map(({ sessionId }) => sessionId));
    const forgotten = forget(repositories, all, terms);
    if (dryRun) return { ...forgotten, related, erased: false, stillIn: null };
    this.#ports.changes.count += 1;
    const isRewritten = this.erase();
    if (!isRewritten || traces === undefined) return { ...forgotten, related, erased: isRewritten, stillIn: null };
    const isInMemory = this.path === ":memory:";
    const isFound = !isInMemory && fileHas(this.path, traces.pieces);
    const holders = this.#unlessDamaged(() => repositories.traces.holders(traces, isFound || isInMemory)) ?? null;
    return { ...forgotten, related, erased: !isFound || holders?.length !== 0, stillIn: holders };
  }

  /** Drops what the log of the hooks tells of sessions, first, so that a process that is killed can be repeated. */
  #forgetInHooks(sessionIds: readonly string[]): void {
    if (this.path === ":memory:") return;
    const agentsNames = this.#unlessDamaged(() =>
      sessionIds.map((id) => this.#repositories.sessions.byId(id)?.externalId ?? id),
    );
    forgetHookLines(this.path, new Set([...sessionIds, ...(agentsNames ?? [])]));
  }

  /** Returns what is related to some targets, and everything to forget in order. */
  #relatedTo(
    targets: readonly ForgetTarget[],
    options: { related: boolean; dryRun: boolean },
  ): { related: RelatedSession[] | null; all: readonly ForgetTarget[] } {
    const repositories = this.#repositories;
    if (options.related) return this.#database.read(() => relatedTo(repositories, targets));
    const found = this.#unlessDamaged(() => relatedTo(repositories, targets));
    if (found === undefined) return { related: null, all: targets };
    const isShared = options.dryRun && found.related.some(({ relation }) => relation === "fork");
    if (isShared) return found;
    return { ...found, all: this.#database.read(() => sharingFirst(repositories, targets)) };
  }

  /** Reads what need not be known to forget, because a damaged file must not prevent forgetting. */
  #unlessDamaged<T>(read: () => T): T | undefined {
    return unless(["STORE_CORRUPT"], () => this.#database.read(read));
  }

  restore(sessionId: string, options: RestoreOptions = {}): boolean {
    const { messageIds } = optionsOf("restore", options);
    return restoreForgotten(this.#repositories, textValue("session id", sessionId), messageIds);
  }

  exclude(options: ExcludeOptions = {}): Exclusions {
    const { remove, paths, projects } = optionsOf("exclude", options);
    if (paths.length + projects.length === 0) return this.exclusions();
    return changeExclusions(this.#repositories, { paths: paths.map((path) => resolve(path)), projects }, remove);
  }

  /** Internal. Rewrites the file without the forgotten messages. Returns false if another process is reading or the disk is full. */
  erase(): boolean {
    this.#database.assertWritable("forget");
    if (this.#database.isAtomic) return false;
    return erase(this.#repositories, this.#ports.nearest.forget());
  }

  /** Internal. Like `erase`, if something was forgotten and its bytes may still be there. */
  eraseDue(): void {
    if (this.#database.read(() => isErasingDue(this.#repositories))) this.erase();
  }

  /** A field, because a structured clone, which would have no methods, is refused where it would need a function. */
  readonly close = (): void => {
    if (!this.#database.client.open) return;
    this.#database.refuseAtomic("close");
    this.#closing.abort(new StoreError("STORE_CLOSED", { path: this.#database.path }));
    if (!this.#database.readonly) this.#tidy();
    this.#queries.close();
    this.#database.client.close();
  };

  [Symbol.dispose](): void {
    this.close();
  }

  /** Like `query`, but yields one row at a time, for large results. */
  queryRows(sql: string, options: { params?: QueryParams; heapBytesMax?: number } = {}): Generator<QueryRow> {
    return this.#queries.rows(sql, options);
  }

  exclusions(): Exclusions {
    return this.#database.read(() => exclusionsOf(this.#repositories));
  }

  /**
   * Returns the version of the store's contents. Some number in it changes whenever anyone appends, forgets, goes back, renames
   * or moves a frontier. The call takes microseconds.
   */
  position(): { dataVersion: number; ownChanges: number; newestMessageId: number; logPosition: number } {
    const { messages, unions } = this.#repositories;
    return this.#database.read(() => ({
      dataVersion: this.#database.dataVersion(),
      ownChanges: this.#ports.changes.count,
      newestMessageId: messages.lastId(),
      logPosition: unions.newestPosition(),
    }));
  }

  /** Reads for hooks, with this store's connection. */
  get quickReader(): QuickReader {
    this.#quickReader ??= new QuickReader(this.#database.client);
    return this.#quickReader;
  }

  forgetCount(): number {
    return this.#database.read(() => this.#repositories.generations.rewriteCountOfAll());
  }

  #sessionObject(id: string): OpenedSession {
    const session = this.#sessions.get(id) ?? new OpenedSession(this.#ports, id, (id) => this.#sessionObject(id));
    this.#sessions.set(id, session);
    return session;
  }

  #tidy(): void {
    try {
      this.#database.waitNoMore();
      this.eraseDue();
      indexTailNow(this.#repositories, { countMax: CLOSING_MESSAGES_MAX, timeMsMax: CLOSING_MS_MAX });
    } catch {
      // If the index is damaged or the disk is full, `doctor` and the next search or append report it.
    }
  }
}
