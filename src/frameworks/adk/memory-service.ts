import type { BaseMemoryService, MemoryEntry, SearchMemoryRequest, SearchMemoryResponse, Session } from "@google/adk";
import { StoreError } from "../../core/errors.ts";
import type { RecallHit } from "../../recall/hits.ts";
import { rankTexts } from "../../recall/rank-texts.ts";
import type { Store } from "../../session/store.ts";
import { appendEventMessages, eventIdOf } from "./event-messages.ts";
import { storeSessionIdOf } from "./keys.ts";

export interface CoppiceMemoryServiceOptions {
  /** The most memories that a search returns: 1 to 1,000, by default 10. */
  limit?: number;
}

/** A hit may be a message whose event is no memory, so more are asked for. */
const HITS_PER_MEMORY = 4;
const HITS_MAX = 1_000;

/**
 * ADK's memory in a store. A session that is added to it can be found by `searchMemory` of its app and user, by the ranking of
 * `recall`. Memories share at least one word with the query. Adding a session again adds what is new.
 */
export class CoppiceMemoryService implements BaseMemoryService {
  readonly #store: Store;
  readonly #limit: number;

  constructor(store: Store, { limit = 10 }: CoppiceMemoryServiceOptions = {}) {
    this.#store = store;
    this.#limit = limit;
  }

  async addSessionToMemory({ appName, userId, id: sessionId, events }: Session): Promise<void> {
    const namespace = ["adk", "memories", appName, userId];
    const said = events.filter(({ content }) => content?.parts?.length);
    this.#store.atomically(() => {
      const session = this.#store.session(storeSessionIdOf({ appName, userId, sessionId }));
      this.#store.items.deleteAll([...namespace, session.id]);
      for (const event of said) {
        appendEventMessages(session, event);
        const { content, author, timestamp } = event;
        const memory = JSON.parse(JSON.stringify({ content, author, timestamp: new Date(timestamp).toISOString() }));
        this.#store.items.put([...namespace, session.id], event.id, memory, { session: session.id });
      }
    });
  }

  async searchMemory({ appName, userId, query }: SearchMemoryRequest): Promise<SearchMemoryResponse> {
    const namespace = ["adk", "memories", appName, userId];
    const sessionIds = this.#store.items.namespaces({ prefix: namespace }).map((found) => found[4]!);
    if (sessionIds.length === 0) return { memories: [] };
    const memories = new Map<string, MemoryEntry>();
    for (const hit of await this.#hits(query, sessionIds)) {
      if (memories.size === this.#limit) break;
      const [message] = this.#store.resume(hit.sessionId).messages({ seqFrom: hit.seq, seqTo: hit.seq });
      const eventId = eventIdOf(message);
      if (eventId === undefined) continue;
      const memory = this.#store.items.get([...namespace, hit.sessionId], eventId)?.value;
      if (memory !== undefined)
        memories.set(JSON.stringify([hit.sessionId, eventId]), memory as unknown as MemoryEntry);
    }
    return { memories: memories.size > 0 ? [...memories.values()] : this.#byWords(query, namespace) };
  }

  /** Recall does not search for stop words, such as "hello", in messages that have other words. */
  #byWords(query: string, namespace: readonly string[]): MemoryEntry[] {
    const memories = this.#store.items.list(namespace).map(({ value }) => value as unknown as MemoryEntry);
    const texts = memories.map(({ content }) => content.parts?.map(({ text = "" }) => text).join(" ") ?? "");
    return rankTexts(query, texts)
      .slice(0, this.#limit)
      .map(({ index }) => memories[index]!);
  }

  /** Recall also finds messages by their neighbors and their likeness. A memory has a word of the query. */
  async #hits(query: string, sessionIds: string[]): Promise<RecallHit[]> {
    try {
      const limit = Math.min(HITS_MAX, this.#limit * HITS_PER_MEMORY);
      const hits = await this.#store.recall(query, { sessionIds, limit, neighbors: 0 });
      const withWord = new Set(
        rankTexts(
          query,
          hits.map(({ text }) => text),
        ).map(({ index }) => index),
      );
      return hits.filter((_, index) => withWord.has(index));
    } catch (error) {
      if (StoreError.is(error, "QUERY_EMPTY")) return [];
      throw error;
    }
  }
}
