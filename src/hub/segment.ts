import { ByteReader, ByteWriter, damaged } from "./bytes.ts";

/** The first byte of a head. */
const FORM = 1;

/** A bucket ends with the first word that makes it this large, in bytes. Postgres moves values of more than 2 KB out of their rows. */
const BUCKET_BYTES = 1_800;

/** If the buckets of a segment have at most this many bytes together, they are part of its head. Readers keep heads in memory. */
const INLINE_BYTES_MAX = 100_000;

/** Times farther from 1970 are rounded to this one, about the year 37,600, because `signed` takes differences of 52 bits. */
const TIMES_MS_MAX = 2 ** 50;

/** A message, as far as ranking needs it. */
export interface IndexedMessage {
  sessionNo: number;
  messageId: number;
  seq: number;
  /** An index of the four roles. */
  role: number;
  isCall: boolean;
  name: string | null;
  tokenCount: number;
  createdAtMs: number;
  /** The number of its words. */
  wordCount: number;
  /**
   * 1 if the segment adds the message; -1 if it removes a message that another segment adds, and then the other fields are 0. A
   * message is in the index if these numbers of all segments add up to 1, in whichever order segments are read and merged.
   */
  net: number;
}

/** The postings of a word: for each message with it, its index among the messages of the segment, and how often it has the word. */
export interface WordList {
  messages: number[];
  counts: number[];
}

/** The messages of one or more pushes and, by word, which messages have it. A segment never changes: a merge makes another one. */
export interface Segment {
  /** In order of ids, then of sessions. */
  messages: readonly IndexedMessage[];
  /** Sessions that were forgotten. Their messages are left out of all segments. */
  forgottenSessions: readonly number[];
  /** The first word of each bucket. */
  firstWords: readonly string[];
  /** The buckets, if they are part of the head. */
  buckets: readonly Buffer[] | undefined;
}

/** The bytes of a segment. */
export interface EncodedSegment {
  head: Buffer;
  /** Empty if the buckets are part of the head. */
  buckets: Buffer[];
}

/** What a push adds to the index. */
export interface IndexChange {
  added: readonly (Omit<IndexedMessage, "wordCount" | "net"> & { stems: readonly string[] })[];
  removed?: readonly { sessionNo: number; messageId: number }[];
  forgottenSessions?: readonly number[];
}

export function segmentOf({ added, removed = [], forgottenSessions = [] }: IndexChange): EncodedSegment {
  const gone = removed.map((message): IndexedMessage => ({ ...NOTHING, ...message, net: -1 }));
  const all = [...added.map(({ stems, ...message }) => ({ ...message, wordCount: stems.length, net: 1 })), ...gone];
  const stemsOf = new Map(added.map(({ stems }, index) => [all[index]!, stems] as const));
  const messages = all.sort(byId);
  const lists = new Map<string, WordList>();
  messages.forEach((message, index) => {
    for (const stem of stemsOf.get(message) ?? []) {
      const list = lists.get(stem) ?? { messages: [], counts: [] };
      if (list.messages.at(-1) === index) list.counts[list.counts.length - 1]! += 1;
      else {
        list.messages.push(index);
        list.counts.push(1);
      }
      lists.set(stem, list);
    }
  });
  return encodeSegment(messages, forgottenSessions, lists);
}

const NOTHING = { seq: 0, role: 0, isCall: false, name: null, tokenCount: 0, createdAtMs: 0, wordCount: 0 };

/**
 * Makes one segment of several. Messages that one of them removes are left out with their words, and so are forgotten sessions. No
 * other segment may have any of these.
 *
 * @param segments  Each with all of its buckets.
 */
export function mergeSegments(segments: readonly { segment: Segment; buckets: readonly Buffer[] }[]): EncodedSegment {
  const forgotten = new Set(segments.flatMap(({ segment }) => segment.forgottenSessions));
  const all = segments.flatMap(({ segment }, at) => {
    return segment.messages.map((message, index) => ({ message, at, index }));
  });
  all.sort((left, right) => byId(left.message, right.message) || right.message.net - left.message.net);
  const messages: IndexedMessage[] = [];
  const places = segments.map(({ segment }) => new Int32Array(segment.messages.length).fill(-1));
  for (let from = 0, to = 0; from < all.length; from = to) {
    const { message } = all[from]!;
    let net = 0;
    for (; to < all.length && byId(all[to]!.message, message) === 0; to++) net += all[to]!.message.net;
    if (net <= 0 || forgotten.has(message.sessionNo)) continue;
    for (const { at, index } of all.slice(from, to)) places[at]![index] = messages.length;
    messages.push({ ...message, net: 1 });
  }
  const lists = new Map<string, WordList>();
  segments.forEach(({ segment, buckets }, at) => {
    const of = places[at]!;
    for (const bucket of buckets) {
      for (const { word, list } of wordsIn(bucket, segment.messages.length)) {
        const merged = lists.get(word) ?? { messages: [], counts: [] };
        list.messages.forEach((index, position) => {
          const place = of[index]!;
          if (place < 0) return;
          merged.messages.push(place);
          merged.counts.push(list.counts[position]!);
        });
        if (merged.messages.length > 0) lists.set(word, merged);
      }
    }
  });
  for (const [word, list] of lists) lists.set(word, inOrder(list));
  return encodeSegment(messages, [], lists);
}

/** Sorts a list. A message that was removed and added again may be in it twice, with the same words. */
function inOrder({ messages, counts }: WordList): WordList {
  if (messages.every((message, at) => at === 0 || message > messages[at - 1]!)) return { messages, counts };
  const countOf = new Map(messages.map((message, at) => [message, counts[at]!]));
  const sorted = [...countOf.keys()].sort((left, right) => left - right);
  return { messages: sorted, counts: sorted.map((message) => countOf.get(message)!) };
}

export function byId(
  left: { messageId: number; sessionNo: number },
  right: { messageId: number; sessionNo: number },
): number {
  return left.messageId - right.messageId || left.sessionNo - right.sessionNo;
}

function encodeSegment(
  messages: readonly IndexedMessage[],
  forgottenSessions: readonly number[],
  lists: ReadonlyMap<string, WordList>,
): EncodedSegment {
  const { firstWords, buckets } = bucketsOf(lists);
  const writer = new ByteWriter();
  writer.number(FORM);
  const sessions = [...new Set(messages.map(({ sessionNo }) => sessionNo))].sort((left, right) => left - right);
  writeRising(writer, sessions);
  writeRising(
    writer,
    [...forgottenSessions].sort((left, right) => left - right),
  );
  const names = [...new Set(messages.flatMap(({ name }) => name ?? []))];
  writer.number(names.length);
  for (const name of names) writer.text(name);
  const sessionIndex = new Map(sessions.map((session, index) => [session, index]));
  const nameIndex = new Map(names.map((name, index) => [name, index]));
  writer.number(messages.length);
  let [lastId, lastMs] = [0, 0];
  for (const { sessionNo, messageId, seq, role, isCall, name, tokenCount, createdAtMs, wordCount, net } of messages) {
    writer.number(messageId - lastId);
    writer.number(sessionIndex.get(sessionNo)!);
    writer.number(role | (isCall ? 4 : 0) | (name === null ? 0 : 8) | (net === 1 ? 0 : 16));
    if (name !== null) writer.number(nameIndex.get(name)!);
    if (net !== 1) writer.signed(net);
    lastId = messageId;
    if (net < 0) continue;
    writer.number(seq);
    writer.number(wordCount);
    writer.number(tokenCount);
    const time = Math.max(-TIMES_MS_MAX, Math.min(TIMES_MS_MAX, createdAtMs));
    writer.signed(time - lastMs);
    lastMs = time;
  }
  const isInline = buckets.reduce((sum, { length }) => sum + length, 0) <= INLINE_BYTES_MAX;
  writer.number(firstWords.length);
  for (const word of firstWords) writer.text(word);
  writer.number(isInline ? 1 : 0);
  if (!isInline) return { head: writer.take(), buckets };
  for (const bucket of buckets) {
    writer.number(bucket.length);
    writer.bytes(bucket);
  }
  return { head: writer.take(), buckets: [] };
}

/** @throws {DamageError} for bytes that are no head. */
export function decodeSegment(head: Buffer): Segment {
  const reader = new ByteReader(head);
  if (reader.number() !== FORM) throw damaged("its form is unknown");
  const sessions = readRising(reader);
  const forgottenSessions = readRising(reader);
  const names = Array.from({ length: reader.count() }, () => reader.text());
  let [messageId, createdAtMs] = [0, 0];
  const messages = Array.from({ length: reader.count() }, (): IndexedMessage => {
    messageId = checked(messageId + reader.number());
    const sessionNo = at(sessions, reader.number());
    const kind = reader.number();
    if (kind > 31) throw damaged("it has an unknown kind of message");
    const role = kind & 3;
    const name = (kind & 8) === 0 ? null : at(names, reader.number());
    const net = (kind & 16) === 0 ? 1 : reader.signed();
    if (net === 0) throw damaged("it has a message that it neither adds nor removes");
    if (net < 0) return { ...NOTHING, sessionNo, messageId, net };
    const [seq, wordCount, tokenCount] = [reader.number(), reader.number(), reader.number()];
    createdAtMs = checked(createdAtMs + reader.signed());
    return { sessionNo, messageId, seq, role, isCall: (kind & 4) !== 0, name, tokenCount, createdAtMs, wordCount, net };
  });
  if (messages.some((message, index) => index > 0 && byId(messages[index - 1]!, message) >= 0)) {
    throw damaged("its messages are not in order");
  }
  const firstWords = Array.from({ length: reader.count() }, () => reader.text());
  const isInline = reader.number() === 1;
  const buckets = isInline
    ? firstWords.map(() => {
        const { from, to } = reader.skip();
        return head.subarray(from, to);
      })
    : undefined;
  if (!reader.isAtEnd) throw damaged("more bytes follow its head");
  return { messages, forgottenSessions, firstWords, buckets };
}

/** Returns the index of the only bucket that may have a word; -1 if none may. */
export function bucketOf({ firstWords }: Pick<Segment, "firstWords">, word: string): number {
  let [from, to] = [0, firstWords.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (firstWords[middle]! <= word) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}

function bucketsOf(lists: ReadonlyMap<string, WordList>): { firstWords: string[]; buckets: Buffer[] } {
  const firstWords: string[] = [];
  const buckets: Buffer[] = [];
  const writer = new ByteWriter();
  const own = new ByteWriter();
  let before = "";
  for (const word of [...lists.keys()].sort()) {
    const isFirst = writer.length === 0;
    if (isFirst) firstWords.push(word);
    const shared = isFirst ? 0 : sharedLength(before, word);
    before = word;
    const { messages, counts } = lists.get(word)!;
    writer.number(shared);
    writer.text(word.slice(shared));
    writer.number(messages.length);
    let last = -1;
    messages.forEach((message, index) => {
      const count = counts[index]!;
      own.number(2 * (message - last - 1) + (count > 1 ? 1 : 0));
      if (count > 1) own.number(count);
      last = message;
    });
    const list = own.take();
    writer.number(list.length);
    writer.bytes(list);
    if (writer.length >= BUCKET_BYTES) buckets.push(writer.take());
  }
  if (writer.length > 0) buckets.push(writer.take());
  return { firstWords, buckets };
}

export interface WordEntry {
  word: string;
  /** How many messages have it. */
  messageCount: number;
  readonly list: WordList;
}

/**
 * Yields the words of a bucket in order. A list is decoded when it is read.
 *
 * @param messageMax  The number of messages in the segment.
 * @throws {DamageError} for bytes that are no bucket.
 */
export function* wordsIn(bucket: Buffer, messageMax: number): Generator<WordEntry> {
  const reader = new ByteReader(bucket);
  let word = "";
  while (!reader.isAtEnd) {
    const shared = reader.number();
    if (shared > word.length) throw damaged("a word shares more than the whole word before it");
    word = word.slice(0, shared) + reader.text();
    const messageCount = reader.count();
    yield entryOf(bucket, word, messageCount, reader.skip(), messageMax);
  }
}

/**
 * Returns undefined if the bucket does not have the word. A word that shares more with the one before it than that one shares with
 * the wanted word comes before the wanted word, too, so it is not read.
 *
 * @throws {DamageError} as `wordsIn` does.
 */
export function findWord(bucket: Buffer, word: string, messageMax: number): WordEntry | undefined {
  const reader = new ByteReader(bucket);
  let matched = 0;
  while (!reader.isAtEnd) {
    const shared = reader.number();
    const { from, to } = reader.skip();
    const messageCount = reader.count();
    const list = reader.skip();
    if (shared > matched) continue;
    const rest = bucket.toString("utf8", from, to);
    const wanted = word.slice(shared);
    if (rest === wanted) return entryOf(bucket, word, messageCount, list, messageMax);
    if (rest > wanted) return undefined;
    matched = shared + sharedLength(rest, wanted);
  }
  return undefined;
}

function entryOf(
  bucket: Buffer,
  word: string,
  messageCount: number,
  { from, to }: { from: number; to: number },
  messageMax: number,
): WordEntry {
  return {
    word,
    messageCount,
    get list() {
      return listIn(new ByteReader(bucket, from, to), messageCount, messageMax);
    },
  };
}

function listIn(reader: ByteReader, messageCount: number, messageMax: number): WordList {
  const list: WordList = { messages: new Array(messageCount), counts: new Array(messageCount) };
  let message = -1;
  for (let index = 0; index < messageCount; index++) {
    const step = reader.number();
    message += Math.floor(step / 2) + 1;
    if (message >= messageMax) throw damaged("a word is in a message that the segment does not have");
    list.messages[index] = message;
    list.counts[index] = step % 2 === 0 ? 1 : reader.number();
  }
  if (!reader.isAtEnd) throw damaged("more bytes follow a list");
  return list;
}

/** The number of characters that two words share at their beginnings, without a half of a surrogate pair. */
function sharedLength(left: string, right: string): number {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length++;
  return /[\ud800-\udbff]/.test(left[length - 1] ?? "") ? length - 1 : length;
}

function writeRising(writer: ByteWriter, values: readonly number[]): void {
  writer.number(values.length);
  values.forEach((value, index) => {
    writer.number(value - (values[index - 1] ?? 0));
  });
}

function readRising(reader: ByteReader): number[] {
  let value = 0;
  return Array.from({ length: reader.count() }, () => {
    value = checked(value + reader.number());
    return value;
  });
}

function at<T>(values: readonly T[], index: number): T {
  if (index >= values.length) throw damaged("it names a session or a person that it does not have");
  return values[index]!;
}

function checked(value: number): number {
  if (!Number.isSafeInteger(value)) throw damaged("a number is too large");
  return value;
}
