import { StoreError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { Store } from "../session/store.ts";

/** A hub that gives no answer for so long is given up, in milliseconds. */
export const HUB_MS_MAX = 8_000;

type RecallHit = Awaited<ReturnType<Store["recall"]>>[number];
type RecallOptions = NonNullable<Parameters<Store["recall"]>[1]>;

/** What the tools ask of a team's hub. */
export interface Hub {
  recall(query: string, options: RecallOptions & { store: Store }): Promise<(RecallHit & { hubSession: number })[]>;
  expand(
    hit: { hubSession: number; messageId: number },
    options: { limit?: number; offset?: number; project?: string },
  ): Promise<{ members: Message[]; memberCount: number; offset: number }>;
  close(): Promise<void>;
}

/** Finds and opens the hub of a store. The command line implements it. */
export interface HubAccess {
  /** Undefined if the store has no hub. */
  urlOf(store: Store): Promise<string | undefined>;
  open(url: string, signal: AbortSignal): Promise<Hub>;
  /** What a project of the store is called on the hub. */
  nameOf(store: Store, project: string): Promise<string>;
}

/** The hub of a server that runs for days. It is opened when it is first asked, and again if the store names another. */
export class LiveHub {
  readonly #access: HubAccess;
  readonly #closing = new AbortController();
  #open: { url: string; hub: Promise<Hub> } | undefined;

  constructor(access: HubAccess) {
    this.#access = access;
  }

  /**
   * Asks the store's hub. It is given up after `HUB_MS_MAX`.
   *
   * @throws {StoreError} `HUB_UNREACHABLE`, `OPTION_INVALID` if the store has no hub, and what `ask` throws.
   */
  async ask<T>(store: Store, ask: (hub: Hub, signal: AbortSignal) => Promise<T>): Promise<T> {
    const url = await this.#access.urlOf(store);
    if (url === undefined) {
      throw new StoreError("HUB_UNREACHABLE", { hub: "of this store", reason: "`coppice hub add` has named none" });
    }
    const over = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const { host, pathname } = new URL(url);
        const reason = `it has not answered within ${HUB_MS_MAX / 1_000} seconds`;
        reject(new StoreError("HUB_UNREACHABLE", { hub: host + pathname, reason }));
        over.abort();
      }, HUB_MS_MAX);
    });
    try {
      return await Promise.race([this.#opened(url).then((hub) => ask(hub, over.signal)), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  nameOf(store: Store, project: string): Promise<string> {
    return this.#access.nameOf(store, project);
  }

  close(): void {
    this.#closing.abort();
    void this.#open?.hub.then((hub) => hub.close()).catch(() => {});
    this.#open = undefined;
  }

  #opened(url: string): Promise<Hub> {
    if (this.#open?.url === url) return this.#open.hub;
    void this.#open?.hub.then((hub) => hub.close()).catch(() => {});
    const hub = this.#access.open(url, this.#closing.signal);
    const open = { url, hub };
    this.#open = open;
    hub.catch(() => {
      if (this.#open === open) this.#open = undefined; // the next call tries again
    });
    return hub;
  }
}
