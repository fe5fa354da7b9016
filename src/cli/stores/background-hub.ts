import { StoreError } from "../../core/errors.ts";
import type { Hub, PushReport } from "../../hub/hub.ts";
import type { Remote } from "../../hub/remote.ts";
import type { SyncReport } from "../../hub/sync.ts";
import type { Store } from "../../session/store.ts";

/** Changes of this time, in milliseconds, are pushed together. */
const GATHERING_MS = 2_000;
/** The pause between two syncs, and after a failure, in milliseconds. */
const PAUSE_MS = 60_000;

export interface BackgroundHubListeners {
  onPushed(report: PushReport): void;
  onSynced(report: SyncReport): void;
  /** Called when a push or a sync fails. The next one does what this one did not. */
  onFailed(error: unknown, retryInMs: number): void;
}

/**
 * Keeps a store and its hub together, one step at a time: brings what the store follows every minute, and pushes sessions while they
 * change. The first push is of all sessions of the projects that may go to the hub.
 */
export class BackgroundHub {
  readonly #store: Store;
  readonly #isPushing: boolean;
  readonly #listeners: BackgroundHubListeners;
  readonly #stopping = new AbortController();
  #opened: { hub: Hub; remote: Remote } | undefined;
  /** The sessions to push; undefined for all. */
  #due: Set<string> | undefined;
  #syncAtMs = 0;
  /** No step begins before. */
  #pausedUntilMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = 0;
  #running: Promise<void> | undefined;

  /** @param options.push  False to push nothing. */
  constructor(store: Store, { push }: { push: boolean }, listeners: BackgroundHubListeners) {
    this.#store = store;
    this.#isPushing = push;
    this.#listeners = listeners;
    if (!push) this.#due = new Set();
  }

  /** Pushes these sessions soon, if their projects may go to the hub. */
  changed(sessionIds: readonly string[]): void {
    if (this.#isPushing) for (const id of sessionIds) this.#due?.add(id);
    this.#schedule();
  }

  /** Brings and pushes what is left, and closes the connection. @throws {StoreError} the errors of `Hub.push` and `Hub.sync`. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#running;
    this.#syncAtMs = 0;
    try {
      await this.#step();
    } finally {
      await this.#close();
    }
  }

  /** Gives up a step that is going on, and closes the connection. What was sent and brought before stays. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
    await this.#close();
  }

  async #close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.hub.close();
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#stopping.signal.aborted) return;
    const now = Date.now();
    const isDue = this.#due === undefined || this.#due.size > 0;
    const atMs = Math.max(this.#pausedUntilMs, isDue ? now + GATHERING_MS : Math.max(this.#syncAtMs, now));
    if (this.#timer !== undefined && this.#timerAtMs <= atMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#running = this.#try();
    }, atMs - now);
  }

  async #try(): Promise<void> {
    try {
      await this.#step();
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#listeners.onFailed(error, PAUSE_MS);
      this.#pausedUntilMs = Date.now() + PAUSE_MS;
    }
    this.#running = undefined;
    this.#schedule();
  }

  async #step(): Promise<void> {
    const { followedOf, remoteOf } = await import("../../hub/remote.ts");
    const remote = remoteOf(this.#store);
    const isSyncDue = Date.now() >= this.#syncAtMs;
    if (isSyncDue) this.#syncAtMs = Date.now() + PAUSE_MS;
    if (remote === undefined) return;
    const { projects, all } = followedOf(this.#store);
    const failures: unknown[] = [];
    if (isSyncDue && (all !== null || projects.length > 0)) {
      await this.#sync(remote).catch((error: unknown) => failures.push(error)); // what is here is pushed all the same
    }
    await this.#push(remote).catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  async #sync(remote: Remote): Promise<void> {
    const hub = await this.#hubOf(remote);
    this.#listeners.onSynced(await hub.sync(this.#store, { signal: this.#stopping.signal }));
  }

  async #hubOf(remote: Remote): Promise<Hub> {
    const { url, team } = remote;
    if (this.#opened !== undefined && (this.#opened.remote.url !== url || this.#opened.remote.team !== team)) {
      await this.#close();
    }
    if (this.#opened === undefined) {
      const { openHub } = await import("../../hub/hub.ts");
      this.#opened = { remote, hub: await openHub(url, { team: team ?? undefined, signal: this.#stopping.signal }) };
    }
    return this.#opened.hub;
  }

  async #push(remote: Remote): Promise<void> {
    const due = this.#due;
    if (due?.size === 0) return;
    this.#due = new Set();
    try {
      const hub = await this.#hubOf(remote);
      const { projects } = remote;
      const sessions = due === undefined ? undefined : [...due].filter((id) => this.#isOfProjects(id, projects));
      const report = await hub.push(this.#store, {
        ...(sessions !== undefined && { sessions }),
        projects,
        fork: true,
        signal: this.#stopping.signal,
      });
      this.#listeners.onPushed(report);
    } catch (error) {
      const changedSince: Set<string> = this.#due;
      this.#due = due === undefined ? undefined : new Set([...due, ...changedSince]);
      throw error;
    }
  }

  #isOfProjects(sessionId: string, projects: readonly string[]): boolean {
    try {
      const { project } = this.#store.resume(sessionId);
      return project !== null && projects.includes(project);
    } catch (error) {
      if (StoreError.is(error, "SESSION_NOT_FOUND")) return false; // forgotten meanwhile
      throw error;
    }
  }
}
