import type { PoolClient } from "pg";
import type { Action } from "../core/action.ts";
import { DamageError } from "../core/damage.ts";
import { StoreError } from "../core/errors.ts";
import { ROLES } from "../core/message-words.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import { searchStem } from "../models/search-words.ts";
import { saturate } from "../recall/bm25.ts";
import { holdsLetters, holdsPhrases, type Phrase, type RunWords } from "../recall/phrase.ts";
import type { Query } from "../recall/query.ts";
import { affordable, POSTINGS_MAX, POSTINGS_MAX_AMONG, type QueryTerm, rarest } from "../recall/query-terms.ts";
import type { QueryVector } from "../recall/query-vector.ts";
import type { Found, FoundTerm, Lookup, Source } from "../recall/source.ts";
import { sampleBy } from "../recall/vector-source.ts";
import { type EvidenceRow, type SearchScope, sampleStep, type TextRow } from "../store/index.ts";
import { decodeEmbedding, encodeEmbedding } from "../vector/codec.ts";
import { damaged } from "./bytes.ts";
import type { LoadedSegment } from "./loaded-segment.ts";
import { type MessageKey, vectorsOfMessages } from "./near.ts";
import { textOf } from "./rows.ts";
import { bucketOf, byId, findWord, type IndexedMessage, type WordEntry, wordsIn } from "./segment.ts";
import { type BucketKey, bucketsNamed } from "./word-index.ts";

/** In a project of at most this many messages, a search reads more of the index, as it does in a small scope of a store. */
const SMALL_MAX = 5_000;

/** At most this many messages, newest first, are checked for the phrases of a query. Their texts are fetched. */
const COMPARED_MAX = 2_000;

/** The most stems with the same beginning that are compared. */
const STEMS_MAX = 20_000;

/** Messages of several stores may have the same id. A fraction is added to the ids of all but the first. */
const SAME_ID_STEP = 1 / 1_024;

/** How a session is called in its store, and which store it is. */
export interface HubSessionName {
  sessionId: string;
  store: string;
}

/** A source lacks something that must be fetched before the question is asked again. */
class NotFetched extends Error {}

/** The bytes of a segment are damaged. */
export class SegmentDamaged extends Error {
  readonly segment: number;

  constructor(segment: number, cause: DamageError) {
    super(`segment ${segment} is damaged`, { cause });
    this.segment = segment;
  }
}

function readOf<T>({ number }: LoadedSegment, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof DamageError ? new SegmentDamaged(number, error) : error;
  }
}

/** Takes all values, and empties what they were in. */
function taken<T>(values: Iterable<T>, from: { clear(): void }): T[] {
  const all = [...values];
  from.clear();
  return all;
}

const TEXTS = `SELECT wanted.at, s.session_no AS "sessionNo", m.body, s.session_id AS "sessionId", s.origin AS store
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS wanted (place, session_no, message_id, at)
  JOIN coppice.messages m ON m.place = wanted.place AND m.session_no = wanted.session_no AND m.message_id = wanted.message_id
  JOIN coppice.sessions s ON s.place = m.place AND s.session_no = m.session_no`;

/** A message, and its position in the index. */
interface Entry {
  loaded: LoadedSegment;
  message: IndexedMessage;
}

/** A message that has a word this many times. */
interface Posting extends Entry {
  count: number;
}

/**
 * The messages of a project on the hub, as a search reads them. It answers from what was fetched. It notes what it lacks, and throws
 * `NotFetched`, so questions are asked with `answer`.
 *
 * The ids that it gives are those of the messages in their stores, unless several stores have the same.
 */
export class HubSource implements Source {
  readonly #hub: { client: PoolClient; name: string };
  readonly #segments: readonly LoadedSegment[];
  readonly #meaning: QueryVector | undefined;
  readonly #removed: Removed;
  readonly #buckets = new Map<string, Buffer>();
  readonly #texts = new Map<number, string>();
  /** The names of sessions by number. A session has one here when a text of it was fetched. */
  readonly #names = new Map<number, HubSessionName>();
  /** The words of segments by number and stem, and their postings by stem. */
  readonly #words = new Map<string, WordEntry | undefined>();
  readonly #postings = new Map<string, readonly Posting[]>();
  readonly #entries = new Map<number, Entry>();
  readonly #places = new Map<number, number>();
  /** Undefined for messages without a vector. */
  readonly #embeddings = new Map<number, Float32Array | undefined>();
  readonly #missingBuckets = new Map<string, BucketKey>();
  readonly #missingTexts = new Set<number>();
  /** Some messages have none. */
  readonly #missingVectors = new Set<number>();

  /** @param meaning  The vector of the query, if messages are also compared by their meaning. */
  constructor(
    hub: { client: PoolClient; name: string },
    segments: readonly LoadedSegment[],
    meaning: QueryVector | undefined,
  ) {
    this.#hub = hub;
    this.#segments = segments;
    this.#meaning = meaning;
    this.#removed = removedIn(segments);
  }

  /** Answers a question. What it lacks is fetched first, as often as it takes. */
  async answer<T>(ask: () => T, signal: AbortSignal | undefined): Promise<T> {
    for (;;) {
      try {
        return ask();
      } catch (error) {
        if (!(error instanceof NotFetched)) throw error;
      }
      signal?.throwIfAborted();
      await this.#fetchBuckets();
      await this.#fetchTexts();
      await this.#fetchVectors();
    }
  }

  async #fetchBuckets(): Promise<void> {
    const keys = taken(this.#missingBuckets.values(), this.#missingBuckets);
    if (keys.length === 0) return;
    const found = await bucketsNamed(this.#hub.client, keys);
    for (const { segment, bucket, body } of found) this.#buckets.set(`${segment} ${bucket}`, body);
    const missing = keys.find(({ segment, bucket }) => !this.#buckets.has(`${segment} ${bucket}`));
    if (missing !== undefined) throw new SegmentDamaged(missing.segment, damaged("it lacks a bucket"));
  }

  async #fetchTexts(): Promise<void> {
    const ids = taken(this.#missingTexts, this.#missingTexts);
    if (ids.length === 0) return;
    const keys = ids.map((id) => this.keyOf(id));
    const { rows } = await this.#hub.client.query<{ at: number; sessionNo: number; body: Buffer } & HubSessionName>(
      TEXTS,
      [keys.map(({ place }) => place), keys.map(({ sessionNo }) => sessionNo), keys.map(({ messageId }) => messageId)],
    );
    if (rows.length < ids.length) {
      throw new StoreError("HUB_REFUSED", {
        hub: this.#hub.name,
        reason: "its word index names messages that it does not have",
      });
    }
    for (const { at, sessionNo, body, sessionId, store } of rows) {
      this.#texts.set(ids[at - 1]!, textOf(body));
      this.#names.set(sessionNo, { sessionId, store });
    }
  }

  async #fetchVectors(): Promise<void> {
    const ids = taken(this.#missingVectors, this.#missingVectors);
    if (ids.length === 0) return;
    for (const id of ids) this.#embeddings.set(id, undefined);
    const wanted = ids.map((id) => ({ id, ...this.keyOf(id) }));
    for (const { id, vector } of await vectorsOfMessages(this.#hub.client, wanted, this.#meaning!))
      this.addVector(id, vector);
  }

  /** @param vector  A vector of the embedder that the search uses. */
  addVector(id: number, vector: Float32Array): void {
    this.#embeddings.set(id, vector);
  }

  /** The number of messages. */
  get messageCount(): number {
    return this.#removed.messageCount;
  }

  /** The ids of all messages. */
  ids(): number[] {
    return this.#idsIn((loaded) => loaded.segment.messages);
  }

  /** The ids of some hundred messages, which seldom change. */
  sampledIds(): number[] {
    return sampleBy(
      this.#idsIn((loaded) => loaded.sampled()),
      (id) => id,
    );
  }

  /** Returns the id that the source has given a message; undefined if the message is not in the index. */
  idOf(sessionNo: number, messageId: number): number | undefined {
    for (const loaded of this.#segments) {
      const message = loaded.find({ sessionNo, messageId });
      if (message !== undefined && this.#removed.isThere(loaded, message)) return this.#idOf({ loaded, message });
    }
    return undefined;
  }

  /** Returns how a message and its session are named. Its text must have been fetched. */
  nameOf(id: number): HubSessionName & { messageId: number } {
    const { sessionNo, messageId } = this.keyOf(id);
    return { messageId, ...this.#names.get(sessionNo)! };
  }

  keyOf(id: number): MessageKey {
    const { loaded, message } = this.#entries.get(id)!;
    return { place: loaded.place, sessionNo: message.sessionNo, messageId: message.messageId };
  }

  lookUp(query: Query, scope: SearchScope): Lookup {
    this.#need(query.words.map(({ stem }) => stem));
    const terms = rarest(query.words, (stem) => this.#countOf(stem));
    return {
      terms,
      stemsFrom: (beginning) => this.#stemsFrom(beginning),
      countOf: (stem) => this.#countOf(stem),
      found: () => this.#found(query, terms, scope),
    };
  }

  holdingLetters(phrases: readonly Phrase[], scope: SearchScope, limit: number): number[] {
    const texts = this.#searchTexts(this.#newestOf(this.ids(), scope));
    const holding = [...texts].filter(([, text]) => holdsLetters(text, phrases));
    return holding.map(([id]) => id).slice(0, limit);
  }

  inScope(ids: readonly number[], { roles, partTypes, sinceMs, untilMs }: SearchScope): number[] {
    if (partTypes !== undefined) throw notOnHub("partTypes", partTypes);
    return ids.filter((id) => {
      const { role, createdAtMs } = this.#entries.get(id)!.message;
      return (
        (roles === undefined || roles.includes(ROLES[role]!)) &&
        (sinceMs === undefined || createdAtMs >= sinceMs) &&
        (untilMs === undefined || createdAtMs <= untilMs)
      );
    });
  }

  around(ids: readonly number[], radius: number): number[] {
    const near = new Set<number>();
    for (const id of ids) {
      const { sessionNo, seq } = this.#entries.get(id)!.message;
      for (const there of this.#at(sessionNo, seq, radius)) near.add(there);
    }
    return [...near];
  }

  rows(ids: readonly number[]): EvidenceRow[] {
    return ids.map((messageId) => {
      const { sessionNo, seq, role, isCall, name, tokenCount, createdAtMs } = this.#entries.get(messageId)!.message;
      const sessionId = String(sessionNo);
      return { messageId, sessionId, seq, role: ROLES[role]!, name, tokenCount, createdAtMs, isCall };
    });
  }

  actions(): ReadonlyMap<number, Action[]> {
    return new Map();
  }

  texts(ids: readonly number[]): TextRow[] {
    const texts = this.textsOf(ids);
    return this.rows(ids).map(({ messageId, seq, role, name, createdAtMs }) => {
      return { messageId, seq, stepId: messageId, role, name, createdAtMs, text: texts.get(messageId)! };
    });
  }

  textsOf(ids: readonly number[]): Map<number, string> {
    const found = new Map<number, string>();
    for (const id of ids) {
      const text = this.#texts.get(id);
      if (text === undefined) this.#missingTexts.add(id);
      else found.set(id, text);
    }
    if (found.size < new Set(ids).size) throw new NotFetched();
    return found;
  }

  /** Computes the vectors of the local embedder from the texts, as the stores did. Other vectors are fetched. */
  embeddings(ids: readonly number[], embedderId: string): Map<number, Float32Array> {
    const unknown = ids.filter((id) => !this.#embeddings.has(id));
    if (embedderId === hashingEmbedder.id) {
      for (const [id, text] of this.textsOf(unknown)) {
        const vector = hashingEmbedder.embed(text);
        this.#embeddings.set(id, vector && decodeEmbedding(encodeEmbedding(vector)));
      }
    } else if (unknown.length > 0) {
      for (const id of unknown) this.#missingVectors.add(id);
      throw new NotFetched();
    }
    const found = new Map<number, Float32Array>();
    for (const id of ids) {
      const vector = this.#embeddings.get(id);
      if (vector !== undefined) found.set(id, vector);
    }
    return found;
  }

  /** The hub does not know the ids of messages in their programs. Copies have the same time, which nothing beside them has. */
  areCopies(messageId: number, otherId: number): boolean {
    const [one, other] = [messageId, otherId].map((id) => this.#entries.get(id)!.message);
    if (one!.sessionNo === other!.sessionNo || one!.createdAtMs !== other!.createdAtMs) return false;
    return [one!, other!].every(({ sessionNo, seq, createdAtMs }) => {
      const beside = this.#at(sessionNo, seq, 1).map((id) => this.#entries.get(id)!.message);
      return beside.every((message) => message.seq === seq || message.createdAtMs !== createdAtMs);
    });
  }

  /** A place of the hub has the sessions of one project. */
  areOfOneProject(sessionId: string, otherId: string): boolean {
    return this.#places.get(Number(sessionId)) === this.#places.get(Number(otherId));
  }

  counterparts(messageId: number, sessionId: string): number[] {
    return this.#at(Number(sessionId), this.#entries.get(messageId)!.message.seq, 0);
  }

  /** Clusters of the hub have no handles. */
  clusterOf(): null {
    return null;
  }

  #idsIn(messagesOf: (loaded: LoadedSegment) => readonly IndexedMessage[]): number[] {
    const ids = new Set<number>();
    for (const loaded of this.#segments) {
      for (const message of messagesOf(loaded)) {
        if (this.#removed.isThere(loaded, message)) ids.add(this.#idOf({ loaded, message }));
      }
    }
    return [...ids];
  }

  /** Returns the messages of a session that are at most `radius` seqs away. */
  #at(sessionNo: number, seq: number, radius: number): number[] {
    const ids: number[] = [];
    for (const loaded of this.#segments) {
      for (const message of loaded.near(sessionNo, seq, radius)) {
        if (this.#removed.isThere(loaded, message)) ids.push(this.#idOf({ loaded, message }));
      }
    }
    return ids;
  }

  /** Returns how many messages hold a stem. Lists are only read if some of their messages may have been removed. */
  #countOf(stem: string): number {
    if (this.#removed.hasAny) return this.#postingsOf(stem).length;
    return this.#segments.reduce((sum, loaded) => sum + (this.#wordIn(loaded, stem)?.messageCount ?? 0), 0);
  }

  #found(query: Query, known: readonly QueryTerm[], scope: SearchScope): Found {
    const hasPhrases = query.phrases.length > 0;
    const isSmall = this.messageCount <= SMALL_MAX;
    const terms = affordable(known, hasPhrases || isSmall ? POSTINGS_MAX_AMONG : POSTINGS_MAX);
    const holding = hasPhrases ? this.#holders(query, terms, scope) : undefined;
    const span = scope.project === undefined || isSmall ? undefined : this.#span();
    const { messageCount, wordCount } = span === undefined ? this.#removed : this.#sampledWords(sampleStep(span));
    const lengthMean = wordCount / messageCount;
    return {
      messageCount: span ?? messageCount,
      terms: terms.map((term): FoundTerm => {
        const entries = this.#postingsOf(term.stem);
        const held = holding === undefined ? entries : entries.filter((entry) => holding.has(this.#idOf(entry)));
        const messageIds = held.map((entry) => this.#idOf(entry));
        const shares = held.map(({ count, message }) => saturate(count, message.wordCount / lengthMean));
        return { term, holderCount: entries.length, postings: { messageIds, shares } };
      }),
    };
  }

  /** The number of messages, with those that were forgotten between others of their sessions, as stores count a large scope. */
  #span(): number {
    const ends = new Map<number, [first: number, last: number]>();
    for (const loaded of this.#segments) {
      for (const [sessionNo, { messages }] of loaded.sessions) {
        const isThere = (message: IndexedMessage): boolean => this.#removed.isThere(loaded, message);
        const [first, last] = [messages.find(isThere), messages.findLast(isThere)];
        if (first === undefined) continue;
        const [least, most] = ends.get(sessionNo) ?? [first.seq, first.seq];
        ends.set(sessionNo, [Math.min(least, first.seq), Math.max(most, last!.seq)]);
      }
    }
    return [...ends.values()].reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }

  /** Counts the words of the messages whose ids are multiples of a number. */
  #sampledWords(step: number): { messageCount: number; wordCount: number } {
    const seen = new Set<string>();
    let wordCount = 0;
    for (const loaded of this.#segments) {
      for (const message of loaded.multiplesOf(step)) {
        const key = keyOf({ loaded, message });
        if (seen.has(key) || !this.#removed.isThere(loaded, message)) continue;
        seen.add(key);
        wordCount += message.wordCount;
      }
    }
    return { messageCount: seen.size, wordCount };
  }

  /** Returns the messages that hold every phrase. */
  #holders({ phrases }: Query, terms: readonly QueryTerm[], scope: SearchScope): Set<number> {
    const runs = phrases.flatMap((phrase) => phrase.runs);
    this.#need(runs.flatMap(({ wholes, parts }) => [...wholes, ...parts]).map(searchStem));
    const holding = (word: string): Set<number> => {
      return new Set(this.#postingsOf(searchStem(word)).map((entry) => this.#idOf(entry)));
    };
    const holdingRun = ({ wholes, parts }: RunWords): Set<number> => {
      const pieces = parts.length === 0 ? [] : [...intersection(parts.map(holding))];
      return new Set([...wholes.flatMap((word) => [...holding(word)]), ...pieces]);
    };
    const found =
      runs.length > 0
        ? intersection(runs.map(holdingRun))
        : new Set(terms.flatMap(({ stem }) => this.#postingsOf(stem).map((entry) => this.#idOf(entry))));
    const texts = this.#searchTexts(this.#newestOf([...found], scope));
    return new Set([...texts].filter(([, text]) => holdsPhrases(text, phrases)).map(([id]) => id));
  }

  #newestOf(ids: readonly number[], scope: SearchScope): number[] {
    return this.inScope(ids, scope)
      .sort((left, right) => right - left)
      .slice(0, COMPARED_MAX);
  }

  /** Returns the texts as they are searched, with the names of their speakers. */
  #searchTexts(ids: readonly number[]): Map<number, string> {
    const named = Array.from(this.textsOf(ids), ([id, text]): [number, string] => {
      const { name } = this.#entries.get(id)!.message;
      return [id, name === null ? text : `${name}\n${text}`];
    });
    return new Map(named);
  }

  #stemsFrom(beginning: string): string[] {
    const ranges = this.#segments.map((loaded) => {
      const first = Math.max(0, bucketOf(loaded.segment, beginning));
      const last = bucketOf(loaded.segment, `${beginning}\u{10ffff}`);
      return { loaded, buckets: Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index) };
    });
    for (const { loaded, buckets } of ranges) for (const bucket of buckets) this.#bucket(loaded, bucket);
    this.#assertFetched();
    const stems = new Set<string>();
    for (const { loaded, buckets } of ranges) {
      for (const bucket of buckets) {
        readOf(loaded, () => {
          for (const { word } of wordsIn(this.#bucket(loaded, bucket)!, loaded.segment.messages.length)) {
            if (word.startsWith(beginning)) stems.add(word);
          }
        });
      }
    }
    const there = [...stems].filter((stem) => this.#countOf(stem) > 0);
    return there.sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right))).slice(0, STEMS_MAX);
  }

  /** Returns the messages that hold a stem, in order, without removed ones. */
  #postingsOf(stem: string): readonly Posting[] {
    const known = this.#postings.get(stem);
    if (known !== undefined) return known;
    const entries: Posting[] = [];
    let isInOrder = true;
    for (const loaded of this.#segments) {
      const word = this.#wordIn(loaded, stem);
      const list = readOf(loaded, () => word?.list);
      if (list === undefined) continue;
      for (let at = 0; at < list.messages.length; at++) {
        const message = loaded.segment.messages[list.messages[at]!]!;
        if (this.#removed.hasAny && !this.#removed.isThere(loaded, message)) continue;
        const before = entries.at(-1);
        if (before !== undefined && byId(before.message, message) >= 0) isInOrder = false;
        entries.push({ loaded, message, count: list.counts[at]! });
      }
    }
    if (!isInOrder) entries.sort((left, right) => byId(left.message, right.message));
    const once = entries.filter(({ message }, at) => at === 0 || byId(entries[at - 1]!.message, message) !== 0);
    this.#postings.set(stem, once);
    return once;
  }

  #idOf(entry: Entry): number {
    this.#places.set(entry.message.sessionNo, entry.loaded.place);
    for (let id = entry.message.messageId; ; id += SAME_ID_STEP) {
      const known = this.#entries.get(id);
      if (known === undefined) this.#entries.set(id, entry);
      else if (known.message.sessionNo !== entry.message.sessionNo) continue;
      return id;
    }
  }

  /** @throws {NotFetched} if a bucket with one of these stems is missing. */
  #need(stems: readonly string[]): void {
    for (const loaded of this.#segments) for (const stem of stems) this.#bucket(loaded, bucketOf(loaded.segment, stem));
    this.#assertFetched();
  }

  #assertFetched(): void {
    if (this.#missingBuckets.size > 0) throw new NotFetched();
  }

  #wordIn(loaded: LoadedSegment, stem: string): WordEntry | undefined {
    const key = `${loaded.number} ${stem}`;
    if (this.#words.has(key)) return this.#words.get(key);
    const bucket = this.#bucket(loaded, bucketOf(loaded.segment, stem));
    const found = bucket && readOf(loaded, () => findWord(bucket, stem, loaded.segment.messages.length));
    this.#words.set(key, found);
    return found;
  }

  #bucket({ place, number, segment }: LoadedSegment, bucket: number): Buffer | undefined {
    if (bucket < 0) return undefined;
    if (segment.buckets !== undefined) return segment.buckets[bucket];
    const key = `${number} ${bucket}`;
    const bytes = this.#buckets.get(key);
    if (bytes === undefined) this.#missingBuckets.set(key, { place, segment: number, bucket });
    return bytes;
  }
}

function notOnHub(option: string, actual: unknown): StoreError {
  return new StoreError("OPTION_INVALID", { option, expected: "left out for a search of the hub", actual });
}

interface Removed {
  /** The number of messages without removed ones, and the number of their words. */
  messageCount: number;
  wordCount: number;
  /** True if any message may have been removed. */
  hasAny: boolean;
  isThere(loaded: LoadedSegment, message: IndexedMessage): boolean;
}

/** Finds the messages that were removed or forgotten. Segments of one team cannot remove sessions of another. */
function removedIn(segments: readonly LoadedSegment[]): Removed {
  const forgotten = new Map<number, Set<number>>();
  for (const { place, segment } of segments) {
    const known = forgotten.get(place) ?? new Set();
    for (const session of segment.forgottenSessions) known.add(session);
    if (known.size > 0) forgotten.set(place, known);
  }
  const isForgotten = ({ place }: LoadedSegment, session: number): boolean =>
    forgotten.get(place)?.has(session) === true;
  let [messageCount, wordCount] = [0, 0];
  for (const loaded of segments) {
    for (const [session, own] of loaded.sessions) {
      if (isForgotten(loaded, session)) continue;
      messageCount += own.messages.length;
      wordCount += own.wordCount;
    }
  }
  const removals = new Map<string, Entry & { net: number }>();
  for (const loaded of segments) {
    for (const message of loaded.removals) {
      const key = keyOf({ loaded, message });
      removals.set(key, { loaded, message, net: (removals.get(key)?.net ?? 0) + message.net });
    }
  }
  for (const removal of removals.values()) {
    const { loaded, message } = removal;
    const added = segments.flatMap((other) => (other.place === loaded.place ? (other.find(message) ?? []) : []));
    removal.net += added.length;
    if (isForgotten(loaded, message.sessionNo)) continue;
    const surplus = added.length - (removal.net > 0 ? 1 : 0);
    messageCount -= surplus;
    wordCount -= surplus * (added[0]?.wordCount ?? 0);
  }
  const isThere = (loaded: LoadedSegment, message: IndexedMessage): boolean =>
    message.net > 0 &&
    !isForgotten(loaded, message.sessionNo) &&
    (removals.size === 0 || (removals.get(keyOf({ loaded, message }))?.net ?? 1) > 0);
  return { messageCount, wordCount, hasAny: forgotten.size + removals.size > 0, isThere };
}

function keyOf({ loaded, message }: Entry): string {
  return `${message.messageId} ${message.sessionNo} ${loaded.place}`;
}

function intersection(sets: readonly ReadonlySet<number>[]): Set<number> {
  const [first, ...others] = [...sets].sort((left, right) => left.size - right.size);
  return new Set([...(first ?? [])].filter((id) => others.every((other) => other.has(id))));
}
