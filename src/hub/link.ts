import type { PoolClient } from "pg";
import { StoreError } from "../core/errors.ts";
import type { OpenedStore } from "../session/opened-store.ts";
import {
  assertHub,
  type HubNoteChanges,
  type HubNotes,
  hubNotesOf,
  idHere,
  type NameOnHub,
  noteOnHub,
  type Repositories,
} from "../store/index.ts";
import type { HubConnection, HubVersion } from "./connection.ts";

/** A store and the hub that it has entered. What the store notes is read and written only while it is about this hub. */
export class Link {
  readonly hub: HubConnection;
  readonly store: OpenedStore;
  readonly storeId: string;
  readonly signal: AbortSignal | undefined;

  constructor(hub: HubConnection, store: OpenedStore, storeId: string, signal: AbortSignal | undefined) {
    this.hub = hub;
    this.store = store;
    this.storeId = storeId;
    this.signal = signal;
  }

  get repositories(): Repositories {
    return this.store.repositories;
  }

  get schema(): string {
    return this.hub.schema;
  }

  transaction<T>(work: (client: PoolClient, found: HubVersion) => Promise<T>): Promise<T> {
    return this.hub.transaction(work, this.signal);
  }

  /** Reads from the store, in one snapshot. @throws {StoreError} `HUB_CHANGED` if the store has entered another hub since. */
  read<T>(query: () => T): T {
    return this.repositories.database.read(() => {
      assertHub(this.repositories, this.hub);
      return query();
    });
  }

  /** Writes to the store, in one transaction. @throws {StoreError} `HUB_CHANGED` if the store has entered another hub since. */
  write(operation: "push" | "pull", change: () => void): void {
    this.repositories.database.write(operation, () => {
      assertHub(this.repositories, this.hub);
      change();
    });
  }

  notes(sessionId: string): HubNotes {
    return this.read(() => hubNotesOf(this.repositories, sessionId));
  }

  note(sessionId: string, changes: HubNoteChanges): void {
    this.write("pull", () => noteOnHub(this.repositories, sessionId, changes));
  }

  isCopy(sessionId: string): boolean {
    const { database, sessions } = this.repositories;
    return database.read(() => sessions.byId(sessionId)?.author ?? null) !== null;
  }

  /** Returns the id that a session of the hub has in the store; undefined if it is not there. */
  idOf(session: NameOnHub): string | undefined {
    return this.repositories.database.read(() => idHere(this.repositories, session));
  }

  refused(reason: string, solution?: string): StoreError {
    return new StoreError("HUB_REFUSED", { hub: this.hub.name, reason, ...(solution !== undefined && { solution }) });
  }
}

/** True for an error of the hub or of the store, which the next session would meet, too. */
export function isOfAll(error: unknown): boolean {
  return StoreError.is(error) && /^(HUB|STORE|FORMAT)_(?!REFUSED|CORRUPT)/.test(error.code);
}

/** Makes a session of this store one that the hub does not know. */
export function becomeOwn(repositories: Repositories, sessionId: string): void {
  const isOwn = true as const;
  const origin = crypto.randomUUID();
  const nothing = { sessionNo: undefined, length: undefined, lastId: undefined, entryId: undefined };
  const noHead = { head: undefined, items: undefined, aside: undefined };
  const own = { origin, name: undefined, isOwn, isCopy: undefined, forgotten: undefined };
  repositories.database.write("push", () => noteOnHub(repositories, sessionId, { ...nothing, ...noHead, ...own }));
}
