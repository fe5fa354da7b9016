import type { HubSource, Missing } from "../../src/hub/hub-source.ts";
import { indexedMessage } from "../../src/hub/indexed-message.ts";
import { LoadedSegment } from "../../src/hub/loaded-segment.ts";
import type { HubIndex, HubReader } from "../../src/hub/recall.ts";
import { decodeSegment, type EncodedSegment, mergeSegments, segmentOf } from "../../src/hub/segment.ts";
import type { Store } from "../../src/index.ts";

/** The index of a hub in memory, without a server. */
export class MemoryIndex implements HubIndex, HubReader {
  readonly encoded = new Map<number, EncodedSegment>();
  readonly #texts = new Map<string, string>();
  readonly #names = new Map<number, { sessionId: string; store: string }>();
  #newest = 0;

  push(change: Parameters<typeof segmentOf>[0], texts: ReadonlyMap<string, string> = new Map()): void {
    this.encoded.set(++this.#newest, segmentOf(change));
    for (const [key, text] of texts) this.#texts.set(key, text);
  }

  /** Pushes the messages of a store with these seqs. */
  pushFrom(store: Store, sessionId: string, sessionNo: number, from: number, to: number): void {
    this.#names.set(sessionNo, { sessionId, store: store.path });
    const rows = store.query(
      `SELECT id, seq, role, name, parts, text, token_count AS tokenCount, created_at_ms AS createdAtMs FROM messages
       WHERE session_id = '${sessionId}' AND seq >= ${from} AND seq < ${to} ORDER BY id`,
    ) as unknown as Parameters<typeof indexedMessage>[1][];
    const texts = rows.map(({ id, text }) => [`${sessionNo} ${id}`, text] as const);
    this.push({ added: rows.map((row) => indexedMessage(sessionNo, row)) }, new Map(texts));
  }

  merge(numbers: readonly number[]): void {
    const merged = numbers.map((number) => this.#read(number));
    const isComplete = numbers.length === this.encoded.size;
    for (const number of numbers) this.encoded.delete(number);
    this.encoded.set(++this.#newest, mergeSegments(merged, isComplete));
  }

  #read(number: number) {
    const { head, buckets } = this.encoded.get(number)!;
    const segment = decodeSegment(head);
    return { segment, buckets: segment.buckets ?? buckets };
  }

  reading<T>(search: (reader: HubReader) => Promise<T>): Promise<T> {
    return search(this);
  }

  async segments(): Promise<LoadedSegment[]> {
    return Array.from(this.encoded, ([number, { head }]) => new LoadedSegment(1, number, decodeSegment(head)));
  }

  async near(): Promise<[]> {
    return [];
  }

  async fetch({ buckets, texts }: Missing, source: HubSource) {
    for (const key of buckets) source.addBucket(key, this.encoded.get(key.segment)!.buckets[key.bucket]!);
    for (const { id, sessionNo, messageId } of texts) source.addText(id, this.#texts.get(`${sessionNo} ${messageId}`)!);
    return this.#names;
  }
}
