import type { ServerResponse } from "node:http";
import type { Change } from "./api.ts";
import { RefusedRequest } from "./refusal.ts";
import { newsOf } from "./sessions.ts";
import type { ViewStore } from "./view-store.ts";

/**
 * Reading the store's position takes some microseconds, and waking up for it half a millisecond. So the server looks less often when
 * nothing has changed for a while, and never while nobody listens.
 */
const POLL_MS = 500;
const IDLE_POLL_MS = 2_000;
const IDLE_AFTER_MS = 20_000;
/** Comments keep the connection from being closed as idle. */
const COMMENT_MS = 10_000;
export const LISTENERS_MAX = 16;
/** A listener that does not read this many bytes is gone, or hostile. */
const UNREAD_BYTES_MAX = 64 * 1024;

/** Tells pages that the store has changed, whichever process wrote. */
export class Events {
  readonly #view: ViewStore;
  readonly #listeners = new Set<ServerResponse>();
  #timer: NodeJS.Timeout | undefined;
  #seen: ReturnType<ViewStore["position"]> | undefined;
  #commentAtMs = 0;
  #changedAtMs = 0;

  constructor(view: ViewStore) {
    this.#view = view;
  }

  /** @throws {RefusedRequest} if too many listen already. */
  listen(response: ServerResponse): void {
    if (this.#listeners.size >= LISTENERS_MAX) {
      throw new RefusedRequest(503, "BUSY", `${LISTENERS_MAX} pages are open already. Close one.`);
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write("retry: 2000\n\n");
    this.#listeners.add(response);
    response.once("close", () => {
      this.#listeners.delete(response);
      if (this.#listeners.size === 0) this.#stop();
    });
    if (this.#timer !== undefined) return;
    this.#seen = this.#view.position();
    this.#changedAtMs = performance.now();
    this.#lookLater();
  }

  #lookLater(): void {
    const isIdle = performance.now() - this.#changedAtMs > IDLE_AFTER_MS;
    this.#timer = setTimeout(
      () => {
        void this.look();
        this.#lookLater();
      },
      isIdle ? IDLE_POLL_MS : POLL_MS,
    );
  }

  /** Tells every page if the store has changed. */
  async look(): Promise<void> {
    if (this.#seen === undefined) return;
    try {
      const seen = this.#seen;
      const now = this.#view.position();
      if (JSON.stringify(now) === JSON.stringify(seen)) return this.#comment();
      this.#seen = now;
      this.#changedAtMs = performance.now();
      const news = await this.#view.read((store) => newsOf(store, now, seen.newestMessageId));
      const { newestMessageId, logPosition } = now;
      const change: Change = { newestMessageId, logPosition, sessions: news.sessions.map(({ session }) => session) };
      this.#send(`event: change\ndata: ${JSON.stringify(change)}\n\n`);
    } catch {
      // The store is being replaced or is busy. The next look tells, and the routes answer with the error.
      await this.#view.read((store) => store.stats()).catch(() => {});
    }
  }

  #comment(): void {
    const nowMs = performance.now();
    if (nowMs - this.#commentAtMs < COMMENT_MS) return;
    this.#commentAtMs = nowMs;
    this.#send(":\n\n");
  }

  #send(text: string): void {
    for (const response of this.#listeners) {
      if (response.writableLength > UNREAD_BYTES_MAX) response.destroy();
      else response.write(text);
    }
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#seen = undefined;
  }

  close(): void {
    this.#stop();
    for (const response of this.#listeners) response.destroy();
  }
}
