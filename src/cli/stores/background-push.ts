import { StoreError } from "../../core/errors.ts";
import type { Hub, PushReport } from "../../hub/hub.ts";
import type { Remote } from "../../hub/remote.ts";
import type { Store } from "../../session/store.ts";

/** Changes of this time, in milliseconds, are pushed together. */
const GATHERING_MS = 2_000;
/** The pause after a push that failed, in milliseconds. */
const RETRY_MS = 60_000;

export interface BackgroundPushListeners {
  onPushed(report: PushReport): void;
  /** Called when a push fails. The next push sends what this one did not. */
  onFailed(error: unknown, retryInMs: number): void;
}

/** Pushes sessions while they change, one push at a time. It begins with all sessions of the projects that may go to the hub. */
export class BackgroundPush {
  readonly #store: Store;
  readonly #remote: Remote;
  readonly #listeners: BackgroundPushListeners;
  readonly #stopping = new AbortController();
  #hub: Hub | undefined;
  /** The sessions to push; undefined for all. */
  #due: Set<string> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(store: Store, remote: Remote, listeners: BackgroundPushListeners) {
    this.#store = store;
    this.#remote = remote;
    this.#listeners = listeners;
  }

  /** Pushes these sessions soon, if their projects may go to the hub. */
  changed(sessionIds: readonly string[]): void {
    for (const id of sessionIds) this.#due?.add(id);
    this.#schedule(GATHERING_MS);
  }

  /** Pushes what is left, and closes the connection. @throws {StoreError} the errors of `Hub.push`. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#running;
    try {
      await this.#push();
    } finally {
      await this.#close();
    }
  }

  /** Gives up a push that is going on, and closes the connection. What was sent before stays. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
    await this.#close();
  }

  async #close(): Promise<void> {
    const hub = this.#hub;
    this.#hub = undefined;
    await hub?.close();
  }

  #schedule(pauseMs: number): void {
    if (this.#timer !== undefined || this.#running !== undefined || this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#running = this.#try();
    }, pauseMs);
  }

  async #try(): Promise<void> {
    let pauseMs = GATHERING_MS;
    try {
      await this.#push();
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#listeners.onFailed(error, RETRY_MS);
      pauseMs = RETRY_MS;
    }
    this.#running = undefined;
    if (this.#due === undefined || this.#due.size > 0) this.#schedule(pauseMs);
  }

  async #push(): Promise<void> {
    const due = this.#due;
    if (due?.size === 0) return;
    this.#due = new Set();
    try {
      const { openHub } = await import("../../hub/hub.ts");
      this.#hub ??= await openHub(this.#remote.url, { team: this.#remote.team ?? undefined });
      const { projects } = this.#remote;
      const sessions = due === undefined ? undefined : [...due].filter((id) => this.#isOfProjects(id));
      const report = await this.#hub.push(this.#store, {
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

  #isOfProjects(sessionId: string): boolean {
    try {
      const { project } = this.#store.resume(sessionId);
      return project !== null && this.#remote.projects.includes(project);
    } catch (error) {
      if (StoreError.is(error, "SESSION_NOT_FOUND")) return false; // forgotten meanwhile
      throw error;
    }
  }
}
