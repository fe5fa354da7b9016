import { randomUUID } from "node:crypto";
import {
  type AppendEventRequest,
  BaseSessionService,
  type CreateSessionRequest,
  createSession,
  type DeleteSessionRequest,
  type Event,
  type GetSessionConfig,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type Session,
} from "@google/adk";
import { unless } from "../../core/errors.ts";
import { setOwn } from "../../core/json.ts";
import type { Store } from "../../session/store.ts";
import { everyItem } from "../every.ts";
import { appendEventMessages } from "./event-messages.ts";
import { type SessionKey, storeSessionIdOf } from "./keys.ts";
import { putState, readState, type StateValues } from "./scoped-state.ts";

/** An item under the session's id. */
interface StoredSession {
  lastUpdateTime: number;
  /** How many events were appended. It tells whether another object or process has appended some. */
  revision: number;
}

const PAGE = 10_000;

/**
 * Keeps the sessions of ADK in a store: events word for word in the order in which they were appended, and state by scope. An
 * `appendEvent` is one transaction, and stores only that event and the keys that it changes.
 *
 * The texts of events are also appended as messages, in the session `adk:<app>/<user>/<session>` of the store, where it can be recalled.
 */
export class CoppiceSessionService extends BaseSessionService {
  readonly #store: Store;
  /** How much of the stored session a session object has. */
  readonly #revisions = new WeakMap<Session, number>();
  /** The state that the events of a session object wrote. */
  readonly #copies = new WeakMap<Session, Session>();

  constructor(store: Store) {
    super();
    this.#store = store;
  }

  override async createSession(request: CreateSessionRequest): Promise<Session> {
    const { appName, userId, state = {}, sessionId = "" } = request;
    const key = { appName, userId, sessionId: sessionId || randomUUID() };
    const stored = { lastUpdateTime: Date.now(), revision: 0 };
    this.#store.atomically(() => {
      if (this.#stored(key) !== undefined) throw new Error(`Session with id ${key.sessionId} already exists.`);
      this.#store.session(storeSessionIdOf(key));
      this.#put(key, stored);
      putState(this.#store, key, state);
    });
    return this.#sessionOf(key, stored, []);
  }

  override async getSession({ config = {}, ...key }: GetSessionRequest): Promise<Session | undefined> {
    const stored = this.#stored(key);
    return stored && this.#sessionOf(key, stored, this.#events(key, config));
  }

  override async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { appName, userId, limit, offset = 0, page, order } = request;
    const all = this.#all(appName, userId);
    const direction = order === "desc" ? -1 : 1;
    if (order !== undefined) {
      all.sort(
        ([left, { lastUpdateTime: leftTime }], [right, { lastUpdateTime: rightTime }]) =>
          direction * (leftTime - rightTime) || (left.sessionId < right.sessionId ? -1 : 1),
      );
    }
    const totalItems = all.length;
    const sessionsIn = (start: number, end?: number): Session[] =>
      all.slice(start, end).map(([key, stored]) => this.#sessionOf(key, stored, []));
    if (limit === undefined) {
      return {
        sessions: sessionsIn(offset),
        page: 1,
        limit: totalItems,
        totalItems,
        totalPages: Math.min(1, totalItems),
      };
    }
    const start = page === undefined ? offset : (page - 1) * limit;
    return {
      sessions: sessionsIn(start, start + limit),
      page: page ?? (limit === 0 ? 1 : Math.floor(start / limit) + 1),
      limit,
      totalItems,
      totalPages: limit === 0 ? 0 : Math.ceil(totalItems / limit),
    };
  }

  /** Forgets the session with its events, its state and its messages: see `forget` of the store. */
  override async deleteSession(key: DeleteSessionRequest): Promise<void> {
    unless(["SESSION_NOT_FOUND"], () => this.#store.forget(storeSessionIdOf(key)));
  }

  override async appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    if (event.partial) return event;
    const key = { appName: session.appName, userId: session.userId, sessionId: session.id };
    const { json, delta } = await this.#written(session, event);
    const revision = this.#store.atomically(() => {
      const stored = this.#stored(key);
      if (stored === undefined) throw new Error(`Session ${session.id} not found for appendEvent.`);
      const kept = this.#store.session(storeSessionIdOf(key));
      kept.entries.append([{ id: event.id, value: JSON.parse(json) }], { known: "replace" });
      putState(this.#store, key, delta);
      appendEventMessages(kept, event);
      this.#put(key, { lastUpdateTime: event.timestamp, revision: stored.revision + 1 });
      return stored.revision + 1;
    });
    // This comes before `await`, because the next event of the same object may be appended meanwhile.
    const isCurrent = this.#revisions.get(session) === revision - 1;
    if (isCurrent) this.#revisions.set(session, revision);
    const appended = await super.appendEvent({ session, event });
    if (!isCurrent) this.#refresh(session, key, appended);
    session.lastUpdateTime = event.timestamp;
    return appended;
  }

  /**
   * Returns what to store of an event, without `temp:` keys. The base class knows which of two writes of a key is the newer, even if
   * its event comes first. It tells by a copy of the state, because the session object also has writes whose events are still to come.
   */
  async #written(session: Session, event: Event): Promise<{ json: string; delta: StateValues }> {
    const { id, appName } = session;
    const copy = this.#copies.get(session) ?? createSession({ id, appName, state: Object.create(null) });
    this.#copies.set(session, copy);
    const trimmed = await super.appendEvent({
      session: copy,
      event: { ...event, ...(event.actions && { actions: { ...event.actions } }) },
    });
    copy.events = [];
    const names = Object.keys(trimmed.actions?.stateDelta ?? {});
    return { json: JSON.stringify(trimmed), delta: Object.fromEntries(names.map((name) => [name, copy.state[name]])) };
  }

  /** Gives a session object the events and the state that others have stored. */
  #refresh(session: Session, key: SessionKey, appended: Event): void {
    const stored = this.#stored(key);
    if (stored === undefined) return;
    session.events = this.#events(key).map((event) => (event.id === appended.id ? appended : event));
    for (const [name, value] of Object.entries(readState(this.#store, key))) setOwn(session.state, name, value);
    this.#revisions.set(session, stored.revision);
  }

  #sessionOf(key: SessionKey, { lastUpdateTime, revision }: StoredSession, events: Event[]): Session {
    const { appName, userId, sessionId: id } = key;
    const session = createSession({ id, appName, userId, state: readState(this.#store, key), events, lastUpdateTime });
    this.#revisions.set(session, revision);
    return session;
  }

  /** Returns the newest events, of those after a time. As in ADK, zero stands for no limit. */
  #events(key: SessionKey, { numRecentEvents = 0, afterTimestamp = 0 }: GetSessionConfig = {}): Event[] {
    const { entries } = this.#store.resume(storeSessionIdOf(key));
    const count = numRecentEvents > 0 ? numRecentEvents : Number.MAX_SAFE_INTEGER;
    const limit = afterTimestamp === 0 ? Math.min(PAGE, count) : PAGE;
    const events: Event[] = [];
    for (let after: number | undefined; ; ) {
      const page = entries.list({ descending: true, limit, ...(after !== undefined && { after }) });
      for (const { value } of page) {
        const event = value as unknown as Event;
        if (afterTimestamp === 0 || event.timestamp > afterTimestamp) events.push(event);
        if (events.length === count) return events.reverse();
      }
      if (page.length < limit) return events.reverse();
      after = page.at(-1)!.position;
    }
  }

  #all(appName: string, userId: string | undefined): [SessionKey, StoredSession][] {
    const prefix = ["adk", "sessions", appName, ...(userId === undefined ? [] : [userId])];
    return everyItem(this.#store.items, prefix).map(({ namespace, key: sessionId, value }) => {
      return [{ appName, userId: namespace[3]!, sessionId }, value as unknown as StoredSession];
    });
  }

  #stored({ appName, userId, sessionId }: SessionKey): StoredSession | undefined {
    return this.#store.items.get(["adk", "sessions", appName, userId], sessionId)?.value as StoredSession | undefined;
  }

  #put(key: SessionKey, stored: StoredSession): void {
    const { appName, userId, sessionId } = key;
    this.#store.items.put(["adk", "sessions", appName, userId], sessionId, stored, { session: storeSessionIdOf(key) });
  }
}
