import { hash } from "node:crypto";
import { StoreError } from "../../core/errors.ts";
import type { JsonValue, Message } from "../../core/message.ts";
import { parseMessage } from "../../core/message.ts";
import type { SessionSettings } from "../../core/options.ts";
import { knownSettings } from "../../core/settings.ts";
import { TAGS } from "../../core/tags.ts";
import { prepareMessage } from "../../ingest/prepare.ts";
import {
  assertHub,
  createSession,
  dropCopy,
  type Entry,
  encodeValue,
  endOf,
  forgottenOnHubIn,
  type HubItem,
  type HubNoteChanges,
  hubNotesOf,
  type Item,
  idHere,
  type NameOnHub,
  newIdHere,
  noteOnHub,
  type Repositories,
  storeIdOf,
} from "../../store/index.ts";
import type { OpenedSession } from "../opened-session.ts";
import type { SessionPorts } from "../ports.ts";

/**
 * What happened in a session. Nothing in it is a number of a store: a message is named by its place in the order of events, and gets a
 * number of its own in each store.
 */
export type SessionEvent =
  | { message: Pick<Message, "role" | "parts" | "name" | "metadata" | "createdAtMs"> & { id?: string; pinned?: true } }
  /** The session went back: so many messages of its path stayed. */
  | { keep: number }
  | { entry: Pick<Entry, "value" | "id" | "createdAtMs"> };

/** What of a session is overwritten, and what is known from its beginning. */
export interface SessionHead {
  title: string | null;
  settings: Partial<SessionSettings>;
  metadata: Record<string, JsonValue> | null;
  source: string | null;
  /** The id of the session that started it, where it began. */
  parent: string | null;
  forkSeq: number | null;
  createdAtMs: number;
  items: HubItem[];
}

export interface NewCopy extends NameOnHub {
  /** Where the number is from. */
  hub: { id: string; name: string };
  sessionNo: number;
  digest: string;
  author: string;
  project: string | null;
  /** The id of the copy of `parent` in this store. */
  parentId: string | undefined;
}

/** Writes copies of sessions that are in other stores. A copy is derived from its messages as any session is. */
export class Copies {
  readonly #ports: SessionPorts;
  readonly #sessionOf: (id: string) => OpenedSession;

  constructor(ports: SessionPorts, sessionOf: (id: string) => OpenedSession) {
    this.#ports = ports;
    this.#sessionOf = sessionOf;
  }

  /**
   * Begins a copy, or gives it what was overwritten since. It is made anew if messages of its session were forgotten, or another hub was
   * asked meanwhile.
   *
   * @returns its id; undefined if the session is no copy, because this store has taken it.
   * @throws {StoreError} `SESSION_SHARED` if forks in the store share messages of a copy that is to be made anew.
   */
  putHead(head: SessionHead, copy: NewCopy): string | undefined {
    const { repositories } = this.#ports;
    const { database, sessions } = repositories;
    const { author, project, parentId, origin, name, sessionNo, digest } = copy;
    const id = database.writeWhole("pull", () => {
      assertHub(repositories, copy.hub);
      let known = idHere(repositories, copy);
      if (known !== undefined) {
        if (sessions.existing(known).author === null) return undefined;
        const noted = hubNotesOf(repositories, known);
        if (noted.sessionNo !== sessionNo || noted.length === undefined) {
          dropCopy(repositories, known);
          this.#sessionOf(known).release();
          known = undefined;
        }
      }
      const id = known ?? newIdHere(repositories, copy);
      if (known === undefined) {
        const { title, metadata, source, forkSeq, createdAtMs } = head;
        createSession(repositories, {
          ...{ id, title, metadata, source, forkSeq, createdAtMs },
          ...{ author, project, parentSessionId: parentId },
          settings: knownSettings(head.settings),
        });
        noteOnHub(repositories, id, {
          ...(origin !== storeIdOf(repositories) && { origin }),
          ...(id !== name && { name }),
          ...{ isCopy: true, sessionNo, length: 0 },
        });
      } else {
        this.#overwrite(id, head);
        sessions.setAuthor(id, author);
        sessions.complete(id, null, project, parentId ?? null);
      }
      this.#putItems(id, head, head.items);
      noteOnHub(repositories, id, { head: digest });
      return id;
    });
    this.#ports.changes.count += 1;
    return id;
  }

  /**
   * Gives a session of this store what another store, which has taken it, has overwritten. An item that one side has deleted since both
   * had the same goes, unless the other has changed it. If both have changed it, the newer one stays. Call it inside a transaction.
   */
  merge(id: string, head: SessionHead): void {
    const { repositories } = this.#ports;
    const known = new Set(hubNotesOf(repositories, id).items);
    this.#overwrite(id, head);
    this.#putItems(id, head, mergedItems(itemsForHub(repositories, id), head.items, known));
  }

  /** Returns the items of a session that are on hubs only, because something else here has their names. */
  itemsAside(id: string): HubItem[] {
    const { repositories } = this.#ports;
    const { elsewhere = {}, ...notes } = repositories.database.read(() => hubNotesOf(repositories, id));
    return [notes, ...Object.values(elsewhere)].flatMap(({ aside = [] }) => aside);
  }

  #overwrite(id: string, { title, settings }: SessionHead): void {
    const { sessions } = this.#ports.repositories;
    if (title !== null && title !== sessions.existing(id).title) sessions.rename(id, title);
    sessions.setSettings(id, knownSettings(settings));
  }

  #putItems(id: string, head: SessionHead, items: readonly HubItem[]): void {
    const { repositories } = this.#ports;
    const { name = id } = hubNotesOf(repositories, id);
    for (const { namespace, key } of sharedItems(repositories, id)) repositories.items.delete(namespace, key);
    const aside: HubItem[] = [];
    for (const item of items) {
      if (!isShared(item, name)) continue;
      const { value, bytes, createdAtMs, updatedAtMs } = item;
      const namespace = JSON.stringify(item.namespace);
      const key = isOfCoppice(item) ? id : item.key;
      if (repositories.items.has(namespace, key)) aside.push(item);
      else {
        const stored = bytes === undefined ? (value as JsonValue) : new Uint8Array(Buffer.from(bytes, "base64"));
        const row = { namespace, key, sessionId: id, writtenAtMs: updatedAtMs, ...encodeValue(stored) };
        repositories.items.put(row, createdAtMs);
      }
    }
    noteOnHub(repositories, id, { items: head.items.map(digestOfItem), aside: aside.length === 0 ? undefined : aside });
  }

  /**
   * Adds events of the hub to a session, in one transaction. The new end of the session is noted in it, too, so what was cut off goes on
   * there.
   *
   * @param notes  What else is then noted.
   * @param isAsKnown  Tells in the transaction whether the session is still where the events follow on: another process may bring it, too.
   * @returns how many messages came, and the new end; undefined if it is elsewhere.
   */
  add(
    id: string,
    events: readonly SessionEvent[],
    notes: HubNoteChanges,
    isAsKnown: () => boolean,
  ): { messageCount: number; end: ReturnType<typeof endOf> } | undefined {
    const { repositories, clock } = this.#ports;
    const { database, messages, entries } = repositories;
    const session = this.#sessionOf(id);
    try {
      return database.writeWhole("pull", () => {
        if (!isAsKnown()) return undefined;
        const left = new Set(hubNotesOf(repositories, id).left);
        // What others say in a session that began here, or is taken, is new.
        const isRead = repositories.sessions.existing(id).author !== null;
        const isForgotten = isRead ? forgottenOnHubIn(repositories, id) : () => false;
        let count = 0;
        let waiting: ReturnType<typeof prepareMessage>[] = [];
        const flush = (): void => {
          const place = messages.nextSeq({ sessionId: id }) + left.size;
          const forgotten = waiting.map(isForgotten);
          const results = session.appendPrepared(waiting.filter((_, index) => !forgotten[index])).values();
          for (const [index, isLeft] of forgotten.entries()) {
            if (!isLeft && results.next().value!.appended) count += 1;
            else left.add(place + index);
          }
          waiting = [];
        };
        for (const event of events) {
          if ("message" in event) {
            const { createdAtMs, ...message } = event.message;
            waiting.push(prepareMessage(parseMessage({ ...message, createdAt: createdAtMs }), this.#ports));
            continue;
          }
          flush();
          if ("keep" in event) {
            const { keep } = event;
            session.goBack(keep - [...left].filter((place) => place < keep).length - 1);
            for (const place of left) if (place >= keep) left.delete(place);
          } else {
            const { value, id: externalId = null, createdAtMs } = event.entry;
            const beforeSeq = messages.nextSeq({ sessionId: id });
            entries.add({
              sessionId: id,
              beforeSeq,
              externalId,
              createdAtMs: createdAtMs ?? clock(),
              ...encodeValue(value),
            });
          }
        }
        flush();
        const end = endOf(repositories, id);
        noteOnHub(repositories, id, { ...notes, ...end, left: left.size === 0 ? undefined : [...left] });
        return { messageCount: count, end };
      });
    } catch (error) {
      session.release(); // it has in memory what was rolled back
      if (!StoreError.is(error, "MESSAGE_INVALID") && !StoreError.is(error, "MESSAGE_CONFLICT")) throw error;
      throw new StoreError("ROWS_INVALID", { reason: error.message }, { cause: error });
    }
  }

  /**
   * Deletes copies. `eraseDue` removes their bytes.
   *
   * @returns their ids; and those that stay, because forks in the store share their messages, or their rows are damaged.
   */
  drop(ids: readonly string[]): { dropped: string[]; refused: { sessionId: string; error: StoreError }[] } {
    const dropped: string[] = [];
    const refused: { sessionId: string; error: StoreError }[] = [];
    for (const sessionId of ids) {
      try {
        dropCopy(this.#ports.repositories, sessionId);
        this.#sessionOf(sessionId).release();
        dropped.push(sessionId);
      } catch (error) {
        if (!StoreError.is(error, "SESSION_SHARED") && !StoreError.is(error, "STORE_CORRUPT")) throw error;
        refused.push({ sessionId, error });
      }
    }
    this.#ports.changes.count += 1;
    return { dropped, refused };
  }
}

/** The items of a session as the hub gets them, by namespace and key. */
export function itemsForHub(repositories: Repositories, sessionId: string): HubItem[] {
  const { name = sessionId, aside = [] } = hubNotesOf(repositories, sessionId);
  const own = sharedItems(repositories, sessionId).map(({ value, session: _, ...rest }): HubItem => {
    const item = isOfCoppice(rest) ? { ...rest, key: name } : rest;
    return value instanceof Uint8Array ? { ...item, bytes: Buffer.from(value).toString("base64") } : { ...item, value };
  });
  return [...byName([...aside, ...own])].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, item]) => item);
}

/** @param known  Digests of the items that both had. */
function mergedItems(own: readonly HubItem[], others: readonly HubItem[], known: ReadonlySet<string>): HubItem[] {
  const isKnown = (item: HubItem): boolean => known.has(digestOfItem(item));
  const [here, there] = [byName(own), byName(others)];
  return [...new Map([...here, ...there]).keys()].flatMap((name) => {
    const [mine, other] = [here.get(name), there.get(name)];
    // Only one side has it. If both had it, the other side has deleted it.
    if (mine === undefined || other === undefined) return isKnown((mine ?? other)!) ? [] : [(mine ?? other)!];
    return isKnown(mine) || (!isKnown(other) && mine.updatedAtMs < other.updatedAtMs) ? [other] : [mine];
  });
}

function byName(items: readonly HubItem[]): Map<string, HubItem> {
  return new Map(items.map((item) => [JSON.stringify([item.namespace, item.key]), item]));
}

/** A digest by which stores know an item until it is written again. */
export function digestOfItem({ namespace, key, value, bytes, updatedAtMs }: HubItem): string {
  return hash("sha256", JSON.stringify([namespace, key, value, bytes, updatedAtMs]), "base64url").slice(0, 16);
}

/** The items of a session that cross, as they are here. */
function sharedItems({ factRows, items }: Repositories, sessionId: string): Item[] {
  const rows = factRows.itemsOf(sessionId);
  const own = rows.map(({ namespace, key }) => items.byKey(JSON.parse(namespace) as string[], key)!);
  return own.filter((item) => isShared(item, sessionId));
}

/** False for items of Coppice that would say something of another session, or are no tags. */
function isShared(item: Pick<Item, "namespace" | "key">, sessionId: string): boolean {
  return !isOfCoppice(item) || (item.namespace[1] === TAGS[1] && item.key === sessionId);
}

function isOfCoppice({ namespace }: Pick<Item, "namespace">): boolean {
  return namespace[0] === TAGS[0];
}
