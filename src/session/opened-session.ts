import { v7 as uuidv7 } from "uuid";
import * as z from "zod/mini";
import type { RenderResult } from "../context/result.ts";
import { digestOf } from "../core/digest.ts";
import { StoreError } from "../core/errors.ts";
import type { SessionLevel } from "../core/handle.ts";
import { BATCH_MESSAGES_MAX, PAGE_LIMIT_MAX } from "../core/limits.ts";
import { type Message, type MessageInput, type ParsedMessage, parseMessages } from "../core/message.ts";
import { once } from "../core/once.ts";
import { wholeNumber } from "../core/options.ts";
import { nameInSession, OPENING_MESSAGES, OPENING_ROLES } from "../core/remembered.ts";
import { type FieldsOf, identifier, oneWordOf, parseOptions, trueOrFalse, whole } from "../core/schema.ts";
import { tagNamespace } from "../core/tags.ts";
import { textOf } from "../core/text.ts";
import type { TranscriptPoint } from "../core/transcript-point.ts";
import { judged } from "../core/verdicts.ts";
import { type AppendResult, append, caughtUp } from "../ingest/append.ts";
import { compact } from "../ingest/frontier.ts";
import type { Changed } from "../ingest/graduate.ts";
import { prepareMessage } from "../ingest/prepare.ts";
import { FORGOTTEN_PLACE, NAMED_FORGOTTEN_PLACE, newMessages, type SyncKey } from "../ingest/sync.ts";
import { followTranscript, undo } from "../ingest/undo.ts";
import { actionsOfStep } from "../models/actions.ts";
import { TITLES } from "../models/title.ts";
import {
  type Branch,
  deleteItem,
  type Entry,
  encodeValue,
  type FreshMessage,
  fork,
  loadSessionState,
  pinStep,
  putItem,
  type Repositories,
  type RewindTarget,
  rewind,
  type SessionOverview,
  type SessionState,
} from "../store/index.ts";
import type { ResolveResult } from "../summaries/resolve-run.ts";
import { type CompactResult, compactSpan } from "../summaries/span.ts";
import type { Resolving } from "./background.ts";
import { CONTEXT_OPTIONS, type ContextOptions, type RenderOptions } from "./context-options.ts";
import { Contexts } from "./contexts.ts";
import { SessionEntries } from "./entries.ts";
import type { SessionPorts } from "./ports.ts";
import type { PreparedMessage } from "./prepared.ts";
import type { Pressure } from "./pressure.ts";
import { type ResolveDirtyOptions, Resolver, type StartResolvingOptions } from "./resolver.ts";
import {
  type ClusterInfo,
  clustersOf,
  type Placement,
  placementAt,
  type RootInfo,
  type ThemeInfo,
  themesOf,
} from "./roots.ts";
import type {
  AppendOptions,
  ForkOptions,
  MessagesOptions,
  RewindOptions,
  RewindResult,
  Session,
  SessionChanges,
  UndoResult,
} from "./session.ts";

const MESSAGES_OPTIONS = once(() =>
  z.strictObject({
    seqFrom: z._default(whole(0), 0),
    seqTo: z._default(whole(0), Number.MAX_SAFE_INTEGER),
    limit: z._default(whole(0, PAGE_LIMIT_MAX), PAGE_LIMIT_MAX),
    last: z.optional(whole(0, PAGE_LIMIT_MAX)),
  } satisfies FieldsOf<MessagesOptions>),
);

const SESSION_CHANGES = once(() =>
  z.strictObject({
    title: z.optional(identifier()),
    addTags: z._default(z.array(identifier()), []),
    removeTags: z._default(z.array(identifier()), []),
  } satisfies FieldsOf<SessionChanges>),
);

const REWIND_OPTIONS = once(() =>
  z.strictObject({ toSeq: z.optional(whole(-1)), toMessageId: z.optional(whole(0)) } satisfies FieldsOf<RewindOptions>),
);

const FORK_OPTIONS = once(() =>
  z.strictObject({
    toSeq: z.optional(whole(0)),
    toMessageId: z.optional(whole(0)),
    id: z.optional(identifier()),
    title: z.optional(identifier()),
  } satisfies FieldsOf<ForkOptions>),
);

const PIN_OPTIONS = once(() => z.strictObject({ pinned: z._default(trueOrFalse(), true) }));

const ROOTS_OPTIONS = once(() => z.strictObject({ level: z._default(oneWordOf(["cluster", "theme"]), "theme") }));

/** A longer message is read again when it is indexed, so that few bytes are kept. */
const FRESH_CHARS_MAX = 64 * 1024;

/** Another writer may change the session during `sync`. Then `sync` starts again, up to this many times. */
const SYNC_ATTEMPTS_MAX = 10;

/**
 * The only implementation of `Session`. Methods that are not in `Session` are internal: see `internalsOf`. It is long because
 * `Session` has many methods; what they do is in the rooms below.
 */
export class OpenedSession implements Session {
  readonly id: string;
  readonly #ports: SessionPorts;
  readonly #opened: (id: string) => Session;
  #state: SessionState | undefined;
  #changesSeen = 0;
  /** True once it is known that the session is no copy. */
  #isOwn = false;
  #syncKeys: { keys: SyncKey[]; nextSeq: number } | undefined;
  /** The history that the last `sync` was given. After a rewind, which changes the branches, it is not used. */
  #lastHistory: { keys: SyncKey[]; branches: string } | undefined;
  readonly #contexts: Contexts;
  readonly #resolver: Resolver;
  readonly entries: SessionEntries;

  /** @param opened  Returns another session of the store. */
  constructor(ports: SessionPorts, id: string, opened: (id: string) => Session) {
    this.#ports = ports;
    this.#opened = opened;
    this.id = id;
    this.#contexts = new Contexts(ports, id, { current: () => this.#current(), reload: () => this.#reload() });
    this.#resolver = new Resolver(ports, id, this.#contexts);
    this.entries = new SessionEntries(ports, id, () => this.assertOwn());
  }

  append(messages: readonly MessageInput[], options?: AppendOptions): AppendResult[];
  append(message: MessageInput, options?: AppendOptions): AppendResult;
  append(given: MessageInput | readonly MessageInput[], options?: AppendOptions): AppendResult | AppendResult[] {
    const { seq } = options ?? {};
    this.assertOwn();
    if (seq !== undefined) wholeNumber("seq", seq, 0, Number.MAX_SAFE_INTEGER);
    const isList = Array.isArray(given);
    const rows = parseMessages(isList ? given : [given]).map((message) => prepareMessage(message, this.#ports));
    const results = this.appendPrepared(rows, seq);
    return isList ? results : results[0]!;
  }

  /** Appends messages that were prepared before, possibly in another thread: see `Intake.takesPrepared`. */
  appendPrepared(rows: readonly PreparedMessage[], seqExpected?: number): AppendResult[] {
    if (rows.length === 0) return [];
    const { repositories, clock, tailIndexer } = this.#ports;
    const placingAt = (dataVersion: number) => this.#ports.placingAt(dataVersion);
    const fresh: FreshMessage[] = [];
    // A row's words are not those of a text that an append changes.
    const onInsert = (message: Message, { partsJson, text, searchWords }: PreparedMessage): void => {
      if (partsJson.length > FRESH_CHARS_MAX) return;
      fresh.push({ message, words: message.text === text ? searchWords : undefined });
    };
    const appended = this.#change((state) =>
      append(repositories, state, rows, { placingAt, clock, seqExpected, onInsert }),
    );
    tailIndexer.appended(rows.length, fresh);
    return appended;
  }

  sync(history: readonly MessageInput[]): AppendResult[] {
    for (let attempt = 1; ; attempt++) {
      try {
        return this.#sync(history);
      } catch (error) {
        // Another writer has appended since the comparison, possibly the same messages.
        if (!StoreError.is(error, "SESSION_CHANGED") || attempt === SYNC_ATTEMPTS_MAX) throw error;
      }
    }
  }

  #sync(history: readonly MessageInput[]): AppendResult[] {
    const parsed = parseMessages(history);
    const digests = parsed.map(digestOf);
    const { nextSeq } = this.#current();
    const { messages } = this.#ports.repositories;
    const branches = this.#read(({ sessions }) => sessions.withBranches(this.id)).join();
    const isLastStored = this.#lastHistory?.branches === branches && nextSeq > 0;
    const last = isLastStored ? this.#lastHistory!.keys : [];
    this.#syncKeys ??= { keys: [], nextSeq: 0 };
    if (this.#syncKeys.nextSeq < nextSeq) {
      this.#syncKeys.keys.push(...this.#syncKeysFrom(this.#syncKeys.nextSeq));
      this.#syncKeys.nextSeq = nextSeq;
    }
    parsed.forEach(({ externalId }, index) => {
      const known = externalId === undefined ? undefined : messages.byExternalId(this.id, externalId);
      if (known === undefined || known.digest.equals(digests[index]!)) return;
      throw new StoreError("MESSAGE_CONFLICT", { sessionId: this.id, externalId: externalId!, messageId: known.id });
    });
    if (nextSeq === 0) this.#assertNotForgotten(parsed, digests);
    const placesOf = this.#placesIn(this.#syncKeys.keys);
    const keys = parsed.map((message, index) => ({
      externalId: message.externalId,
      digest: syncDigest(message, digests[index]!),
      places: placesOf(message.externalId, digests[index]!),
    }));
    const unknown = newMessages(keys, this.#syncKeys.keys, last);
    const indexes = keys.some(({ places }) => places.length > 0)
      ? this.#withoutForgotten(parsed, keys, unknown)
      : unknown;
    const fresh = indexes.map((index) => history[index]!);
    // Batches let other writers in between. If a batch fails, the next `sync` appends the rest.
    const results: AppendResult[] = [];
    for (let from = 0; from < fresh.length; from += BATCH_MESSAGES_MAX) {
      const batch = fresh.slice(from, from + BATCH_MESSAGES_MAX);
      results.push(...this.append(batch, { seq: nextSeq + from }));
    }
    this.#lastHistory = { keys, branches };
    return results.filter(({ appended }) => appended);
  }

  #syncKeysFrom(seqFrom: number): SyncKey[] {
    return this.#read(({ messages, tombstones }) => {
      const { hasName } = tombstones.recognizersIn(this.id);
      return messages.syncKeys(this.id, seqFrom).map(({ externalId, digest, seq }) => {
        const hadId = digest === FORGOTTEN_PLACE && !hasName(nameInSession(undefined, seq));
        return { externalId, digest: hadId ? NAMED_FORGOTTEN_PLACE : digest };
      });
    });
  }

  /** Returns a function that finds the forgotten places that a message may match. @param keys  Those of the session. */
  #placesIn(keys: readonly SyncKey[]): (externalId: string | undefined, digest: Buffer) => readonly string[] {
    const places = [FORGOTTEN_PLACE, NAMED_FORGOTTEN_PLACE];
    if (!keys.some(({ digest }) => places.includes(digest))) return () => [];
    const { hasContent, hasName } = this.#read(({ tombstones }) => tombstones.recognizersIn(this.id));
    return (externalId, digest) => {
      if (externalId !== undefined && hasName(externalId)) return places;
      if (!hasContent(digest)) return [];
      return externalId === undefined ? places : [FORGOTTEN_PLACE];
    };
  }

  /**
   * Leaves out what was forgotten under its id, and results of calls that were forgotten. A host may have shortened the results, so
   * that their content is not recognized.
   *
   * @param unknown  The indexes of messages that the session does not hold, in order.
   */
  #withoutForgotten(
    messages: readonly ParsedMessage[],
    keys: readonly SyncKey[],
    unknown: readonly number[],
  ): number[] {
    const { hasName } = this.#read(({ tombstones }) => tombstones.recognizersIn(this.id));
    const isUnknown = new Set(unknown);
    const forgottenCalls = new Set<string>();
    return messages.flatMap(({ role, parts, externalId }, index) => {
      const isKnown = !isUnknown.has(index);
      const isForgotten = externalId !== undefined && hasName(externalId);
      const callsAreForgotten = isForgotten || (isKnown && keys[index]!.places!.length > 0);
      for (const part of parts) {
        if (part.type !== "tool_call") continue;
        if (callsAreForgotten) forgottenCalls.add(part.toolCallId);
        else forgottenCalls.delete(part.toolCallId);
      }
      const results = role === "tool" ? parts.filter((part) => part.type === "tool_result") : [];
      const isOfForgotten = results.length > 0 && results.every(({ toolCallId }) => forgottenCalls.has(toolCallId));
      return isKnown || isForgotten || isOfForgotten ? [] : [index];
    });
  }

  /** Refuses the array of a session that was forgotten as a whole. What is new in it cannot be told from what was forgotten. */
  #assertNotForgotten(parsed: readonly ParsedMessage[], digests: readonly Buffer[]): void {
    const opening = parsed.flatMap(({ role, parts }, index) => {
      return OPENING_ROLES.includes(role) && textOf(parts) !== "" ? [digests[index]!] : [];
    });
    const isForgotten = this.#read(({ tombstones }) =>
      tombstones.hasForgotten(this.id, opening.slice(0, OPENING_MESSAGES)),
    );
    if (isForgotten) throw new StoreError("SESSION_FORGOTTEN", { sessionId: this.id });
  }

  render(options: RenderOptions = {}): RenderResult {
    return this.#contexts.render(options);
  }

  pressure(options: ContextOptions = {}): Pressure {
    return this.#contexts.pressure(options);
  }

  async resolveDirty(options: ResolveDirtyOptions = {}): Promise<ResolveResult> {
    return this.#resolver.resolveDirty(options, { isImported: false, hasUpkeep: true });
  }

  /**
   * Like `resolveDirty`, for imports, which resolve many sessions: without the store's upkeep. Work with tools gets an overview only,
   * because contexts of it have hardly any room for what else a model would be paid for.
   */
  async resolveImported(options: { signal?: AbortSignal } = {}): Promise<ResolveResult> {
    return this.#resolver.resolveDirty(options, { isImported: true, hasUpkeep: false });
  }

  startResolving(options: StartResolvingOptions = {}): Resolving {
    return this.#resolver.start(options, { isImported: false, hasUpkeep: true });
  }

  /** Like `startResolving`, for a session that is followed as it grows. Work with tools gets an overview only. */
  followImported(): Resolving {
    return this.#resolver.start({}, { isImported: true, hasUpkeep: true });
  }

  compact(options: ContextOptions = {}): CompactResult {
    const { repositories, placing, clock } = this.#ports;
    const { strategy, ...context } = this.#contexts.asked(parseOptions("compact", CONTEXT_OPTIONS(), options));
    switch (strategy) {
      case "union-find": {
        const isMoved = this.#change((state) => compact(repositories, state, placing));
        return isMoved ? { compacted: true } : { compacted: false, reason: "nothing_to_compress" };
      }
      case "full":
        return { compacted: false, reason: "never_compacted" };
      default: {
        const result = compactSpan({ ...context, strategy }, clock());
        this.#resolver.wake();
        return result;
      }
    }
  }

  /** Internal. @throws {StoreError} `SESSION_COPIED`. */
  assertOwn(): void {
    if (this.#isOwn) return;
    const row = this.#read(({ sessions }) => sessions.byId(this.id));
    if (row !== undefined && row.author !== null)
      throw new StoreError("SESSION_COPIED", { sessionId: this.id, author: row.author });
    this.#isOwn = row !== undefined;
  }

  update(changes: SessionChanges): void {
    const { title, addTags, removeTags } = parseOptions("update", SESSION_CHANGES(), changes);
    this.assertOwn();
    const { repositories, clock, changes: changed } = this.#ports;
    repositories.database.write("update", () => {
      if (title !== undefined) repositories.sessions.rename(this.id, title);
      for (const tag of addTags) {
        const place = { namespace: JSON.stringify(tagNamespace(tag)), key: this.id };
        putItem(repositories, { ...place, sessionId: this.id, writtenAtMs: clock(), ...encodeValue(true) });
      }
      for (const tag of removeTags) deleteItem(repositories, tagNamespace(tag), this.id);
    });
    changed.count += 1;
  }

  fork(options: ForkOptions = {}): Session {
    const { id = uuidv7(), title, ...at } = parseOptions("fork", FORK_OPTIONS(), options);
    const { repositories, clock, changes } = this.#ports;
    const target = at.toSeq === undefined && at.toMessageId === undefined ? undefined : targetOf("fork", at);
    fork(repositories, this.id, target, { id, title, nowMs: clock() });
    changes.count += 1;
    return this.#opened(id);
  }

  undo(): UndoResult {
    this.assertOwn();
    const { repositories, placing, clock } = this.#ports;
    const terms = this.#branchTerms();
    return this.#goBack(() => undo(repositories, this.id, { embedder: placing, clock, terms }));
  }

  branches(): Branch[] {
    return this.#read(({ sessions }) => sessions.branches(this.id));
  }

  edit(messageId: number, message: MessageInput): AppendResult {
    wholeNumber("messageId", messageId, 1, Number.MAX_SAFE_INTEGER);
    const { database, messages } = this.#ports.repositories;
    return this.#goBack(() =>
      database.write("edit", () => {
        this.rewind({ toSeq: messages.existing(this.id, messageId).seq - 1 });
        return this.append(message);
      }),
    );
  }

  /** Moves the session to a point in its transcript. Call it inside a transaction. */
  followTranscript(point: TranscriptPoint): void {
    const { repositories, placing, clock } = this.#ports;
    const newTerms = () => this.#branchTerms();
    const isMoved = followTranscript(repositories, this.id, point, { embedder: placing, clock, newTerms });
    if (isMoved) this.#goBack(() => {});
  }

  #branchTerms() {
    return { ...TITLES, actionsOf: actionsOfStep, branchId: uuidv7(), nowMs: this.#ports.clock() };
  }

  /** Runs something after which nothing in memory may be right. */
  #goBack<T>(change: () => T): T {
    this.#ports.changedAtMs.set(this.id, this.#ports.clock());
    try {
      return change();
    } finally {
      this.rolledBack();
      this.#ports.changes.count += 1;
      this.#resolver.wake();
    }
  }

  rewind(options: RewindOptions): RewindResult {
    const to = targetOf("rewind", parseOptions("rewind", REWIND_OPTIONS(), options));
    this.assertOwn();
    return this.#rewound(to);
  }

  /** Makes a copy go back, as the session did from which it was made. @param seq  The last one that stays. */
  goBack(seq: number): void {
    const { messages } = this.#ports.repositories;
    if (seq < messages.nextSeq({ sessionId: this.id }) - 1) this.#rewound({ toSeq: seq });
  }

  #rewound(to: RewindTarget): RewindResult {
    const terms = { ...this.#branchTerms(), isUndoable: true };
    return this.#goBack(() => rewind(this.#ports.repositories, this.id, to, terms));
  }

  pin(messageId: number, options: { pinned?: boolean } = {}): void {
    wholeNumber("messageId", messageId, 1, Number.MAX_SAFE_INTEGER);
    this.assertOwn();
    const { pinned } = parseOptions("pin", PIN_OPTIONS(), options);
    pinStep(this.#ports.repositories, this.id, messageId, pinned);
    this.#ports.changes.count += 1;
  }

  messages(options: MessagesOptions = {}): Message[] {
    const { seqFrom, seqTo, limit, last } = parseOptions("messages", MESSAGES_OPTIONS(), options);
    if (limit === 0 || last === 0) return [];
    return this.#read(({ messages, remembered }) => {
      const found =
        last === undefined
          ? messages.range(this.id, seqFrom, seqTo, limit)
          : messages.newest(this.id, seqFrom, seqTo, Math.min(last, limit));
      return judged(
        found,
        ({ id }) => id,
        (ids) => remembered.verdictsOn(ids),
      );
    });
  }

  /** Yields all messages in pages: those of the path, then those of each branch. */
  *everyPage(): Generator<Message[]> {
    for (const id of this.#read(({ sessions }) => sessions.withBranches(this.id))) {
      for (let first = 0; ; ) {
        const page = this.#read(({ messages }) => messages.range(id, first, Number.MAX_SAFE_INTEGER, PAGE_LIMIT_MAX));
        yield page;
        if (page.length < PAGE_LIMIT_MAX) break;
        first = page.at(-1)!.seq + 1;
      }
    }
  }

  /** Yields all entries in pages: those of the path, then those of each branch. */
  *everyEntry(): Generator<Entry[]> {
    for (const id of this.#read(({ sessions }) => sessions.withBranches(this.id))) {
      for (let after = 0; ; ) {
        const page = this.#read(({ entries }) => entries.after(id, after, BATCH_MESSAGES_MAX));
        yield page;
        if (page.length < BATCH_MESSAGES_MAX) break;
        after = page.at(-1)!.position;
      }
    }
  }

  get project(): string | null {
    return this.#read(({ sessions }) => sessions.byId(this.id))?.project ?? null;
  }

  roots(options?: { level?: "theme" }): ThemeInfo[];
  roots(options: { level: "cluster" }): ClusterInfo[];
  roots(options?: { level?: SessionLevel }): RootInfo[];
  roots(options: { level?: SessionLevel } = {}): RootInfo[] {
    const { level } = parseOptions("roots", ROOTS_OPTIONS(), options);
    const read = level === "theme" ? themesOf : clustersOf;
    return this.#read((repositories): RootInfo[] => read(repositories, this.id));
  }

  /** Returns why a step is in its cluster. @throws {StoreError} `OPTION_INVALID` if no step of the session entered it there. */
  placement(position: number): Placement {
    wholeNumber("position", position, 1, Number.MAX_SAFE_INTEGER);
    return this.#read((repositories) => placementAt(repositories, this.id, position));
  }

  /** A function as a field keeps the platform from cloning the object without its methods. */
  readonly info = (): SessionOverview => {
    const overview = this.#read(({ overviews }) => overviews.of(this.id));
    if (overview === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: this.id });
    return overview;
  };

  #read<T>(read: (repositories: Repositories) => T): T {
    const { repositories } = this.#ports;
    return repositories.database.read(() => read(repositories));
  }

  /** Changes the session. After an error, memory may differ from the file, so the session is loaded again at its next use. */
  #change<T>(change: (state: SessionState) => Changed<T>): T {
    const known = this.#held ?? this.#current();
    this.#ports.changedAtMs.set(this.id, this.#ports.clock());
    this.#ports.touch(this);
    try {
      const { state, result } = change(known);
      this.#take(state);
      this.#resolver.wake();
      return result;
    } catch (error) {
      this.#state = undefined;
      throw error;
    }
  }

  #current(): SessionState {
    const { database } = this.#ports.repositories;
    this.#ports.touch(this);
    database.assertOpen();
    // Usually nobody has written since the last call. Then no transaction is needed.
    const held = this.#held;
    return held?.dataVersion === database.dataVersion() ? held : database.read(() => this.#reload());
  }

  /** Goes on with a state. If another process has moved the frontier or forgotten messages, drops what may have become wrong. */
  #take(state: SessionState): SessionState {
    if (this.#state !== undefined && this.#state.foreignMoves !== state.foreignMoves) this.rolledBack();
    this.#state = state;
    return state;
  }

  release(): void {
    this.#state = undefined;
    this.#contexts.release();
    this.#syncKeys = undefined;
  }

  /** Drops the state in memory, because a transaction was rolled back or the session went back. The next call loads it again. */
  rolledBack(): void {
    this.release();
    this.#lastHistory = undefined;
  }

  /** The state in memory, or undefined if it must be loaded again. */
  get #held(): SessionState | undefined {
    return this.#changesSeen === this.#ports.changes.count ? this.#state : undefined;
  }

  #reload(): SessionState {
    const { repositories, changes } = this.#ports;
    if (this.#changesSeen !== changes.count) this.#state = undefined;
    this.#changesSeen = changes.count;
    if (this.#state !== undefined) return this.#take(caughtUp(repositories, this.#state));
    this.release();
    const state = loadSessionState(repositories, this.id);
    if (state === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: this.id });
    return this.#take(state);
  }
}

function targetOf(option: string, { toSeq, toMessageId }: RewindOptions): RewindTarget {
  if ((toSeq === undefined) === (toMessageId === undefined)) {
    const actual = { toSeq, toMessageId };
    throw new StoreError("OPTION_INVALID", { option, expected: "toSeq or toMessageId", actual });
  }
  return toSeq === undefined ? { toMessageId: toMessageId! } : { toSeq };
}

/** Returns the same digest as `MessageRepository.syncKeys` for the stored message. */
function syncDigest({ role, parts }: ParsedMessage, digest: Buffer): string {
  if (role !== "tool") return digest.toString("hex");
  return JSON.stringify(parts.map((part) => (part.type === "tool_result" ? part.toolCallId : null)));
}
