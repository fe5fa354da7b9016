import { signal } from "@preact/signals";
import type { MessagesAnswer, ViewMessage } from "../../api.ts";
import { get, type Refused } from "../client.ts";
import type { Outline } from "./outline.ts";

const PAGE = 40;
/** The most pages kept; the least recently shown ones go. */
const PAGES_MAX = 24;

/** The messages of a session that are shown or near, in pages. */
export class MessagePages {
  /** Counts what was loaded. */
  readonly loaded = signal(0);
  readonly error = signal<Refused | undefined>(undefined);
  readonly #session: string;
  #outline: Outline;
  readonly #pages = new Map<number, ViewMessage[]>();
  readonly #loading = new Map<number, AbortController>();

  constructor(session: string, outline: Outline) {
    this.#session = session;
    this.#outline = outline;
  }

  /** Takes a newer outline: the last page may have grown, and after a message was forgotten, every page begins elsewhere. */
  grow(outline: Outline): void {
    for (const aborting of this.#loading.values()) aborting.abort();
    this.#loading.clear();
    const last = this.#outline.count - 1;
    if (outline.seqs[last] === this.#outline.seqs[last]) this.#pages.delete(Math.floor(last / PAGE));
    else this.#pages.clear();
    this.#outline = outline;
    this.loaded.value += 1;
  }

  forget(index: number): void {
    this.#pages.delete(Math.floor(index / PAGE));
    this.show(index, index);
  }

  at(index: number): ViewMessage | undefined {
    const page = this.#pages.get(Math.floor(index / PAGE));
    return page?.find(({ seq }) => seq === this.#outline.seqs[index]);
  }

  /** Loads what is missing of these messages and the pages around them, and stops loading what has been passed. */
  show(first: number, last: number): void {
    const from = Math.max(0, Math.floor((first - PAGE / 2) / PAGE));
    const to = Math.min(Math.floor((this.#outline.count - 1) / PAGE), Math.floor((last + PAGE / 2) / PAGE));
    for (const [page, aborting] of this.#loading) {
      if (page >= from && page <= to) continue;
      aborting.abort();
      this.#loading.delete(page);
    }
    for (let page = from; page <= to; page++) {
      const messages = this.#pages.get(page);
      if (messages === undefined) void this.#load(page);
      else {
        // To the end, so that it goes last.
        this.#pages.delete(page);
        this.#pages.set(page, messages);
      }
    }
    for (const page of this.#pages.keys()) {
      if (this.#pages.size <= PAGES_MAX) break;
      this.#pages.delete(page);
    }
  }

  async #load(page: number): Promise<void> {
    if (this.#loading.has(page)) return;
    const aborting = new AbortController();
    this.#loading.set(page, aborting);
    try {
      const { seqs, count } = this.#outline;
      const seqEnd = seqs[Math.min(count, (page + 1) * PAGE) - 1]! + 1;
      const messages: ViewMessage[] = [];
      // An answer ends early if its messages are large.
      for (let next: number | null = seqs[page * PAGE]!; next !== null && next < seqEnd; ) {
        const request = { session: this.#session, seqFrom: next, limit: PAGE - messages.length };
        const answer: MessagesAnswer = await get("/api/messages", request, aborting.signal);
        messages.push(...answer.messages);
        if (messages.length >= PAGE) break;
        next = answer.next;
      }
      if (aborting.signal.aborted) return;
      this.#pages.set(page, messages);
      this.error.value = undefined;
      this.loaded.value += 1;
    } catch (error) {
      if (!aborting.signal.aborted) this.error.value = error as Refused;
    } finally {
      if (this.#loading.get(page) === aborting) this.#loading.delete(page);
    }
  }
}
