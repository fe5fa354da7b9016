import { StoreError } from "../../core/errors.ts";
import type { JsonValue } from "../../core/json.ts";
import type { Item } from "../facts/items.ts";
import type { SaidAt } from "../facts/tombstones.ts";
import type { Repositories } from "../repositories.ts";
import { storeIdOf } from "./id-blocks.ts";

// What a store notes about sessions that are also on a hub.

/** An item as a hub has it. The bytes of a value are in base64, and the key of a tag is the id that the session has on the hub. */
export type HubItem = Pick<Item, "namespace" | "key" | "createdAtMs" | "updatedAtMs"> & {
  value?: JsonValue;
  bytes?: string;
};

/** What a store knows of a session that a hub has, too. */
export interface HubNotes {
  /** The store in which it began, or what stands for it on the hub; left out if that is this store. */
  origin?: string;
  /** The id that it has on the hub, if that is another one. */
  name?: string;
  /** True if it began in this store, although `origin` is another. */
  isOwn?: true;
  /** Set if it began here and the hub has forgotten it, or messages of it. `kept`: the person knows, and keeps it. */
  forgotten?: "asked" | "kept";
  /** True if another store may push it. */
  isCopy?: true;
  /** Its number on the hub. It gets another one when messages of it are forgotten. */
  sessionNo?: number;
  /** How many events of its log on the hub the store has. */
  length?: number;
  /** The message that was the last of its path then, and the newest entry; 0 for none. */
  lastId?: number;
  entryId?: number;
  /** A digest of its title, settings and items, as the hub has them. */
  head?: string;
  /** Digests of its items, as the hub has them. */
  items?: string[];
  /** Items of it that are on the hub only, because something else here has their names. A push sends them again. */
  aside?: HubItem[];
  /** True if messages of it were forgotten here since the last push. */
  isStale?: true;
  /** The places of messages that are left out of a copy, because they were forgotten here in another session. */
  left?: number[];
  /** What was noted of it on other hubs, by their ids. */
  elsewhere?: Record<string, OfHub>;
}

type OfHub = Pick<
  HubNoteChanges,
  "sessionNo" | "length" | "lastId" | "entryId" | "head" | "items" | "aside" | "isStale" | "forgotten"
>;

/** The id of the hub that the notes are about. Each hub counts its sessions from 1. */
const HUB = "hubId";
const FORGOTTEN = "hubForgotten";

function nameOf(sessionId: string): string {
  return `hub ${sessionId}`;
}

export function hubNotesOf({ settings }: Pick<Repositories, "settings">, sessionId: string): HubNotes {
  return (settings.get(nameOf(sessionId)) as HubNotes | undefined) ?? {};
}

/** True if the store has had the session before any other had it. Then nobody else may delete anything of it. */
export function beganHere(repositories: Pick<Repositories, "settings">, sessionId: string): boolean {
  const { origin, isOwn } = hubNotesOf(repositories, sessionId);
  return origin === undefined || isOwn === true;
}

/** The ids that a session of a hub may have in a store, the likeliest first. */
function idsFor({ origin, name }: NameOnHub): string[] {
  return [name, `${name}~${origin.slice(0, 8)}`, `${name}~${origin}`];
}

/** Returns the id that a session of a hub has in this store; undefined if it is not here. */
export function idHere(repositories: Repositories, session: NameOnHub): string | undefined {
  const here = storeIdOf(repositories);
  return idsFor(session).find((id) => {
    if (repositories.sessions.byId(id) === undefined) return false;
    const { origin = here, name = id } = hubNotesOf(repositories, id);
    return origin === session.origin && name === session.name;
  });
}

/** Returns the id that a session of a hub gets, which is its own if no other session has it. @throws {StoreError} `ROWS_INVALID`. */
export function newIdHere({ sessions }: Repositories, session: NameOnHub): string {
  const free = idsFor(session).find((id) => sessions.unchecked(id) === undefined);
  if (free !== undefined) return free;
  throw new StoreError("ROWS_INVALID", { reason: `other sessions have the ids ${idsFor(session).join(", ")}` });
}

/** Returns the last message and the newest entry of a session; 0 for none. */
export function endOf(
  { entries, messages }: Repositories,
  sessionId: string,
): Required<Pick<HubNotes, "lastId" | "entryId">> {
  return {
    lastId: messages.lastOf(sessionId)?.id ?? 0,
    entryId: entries.before(sessionId, Number.MAX_SAFE_INTEGER, 1)[0]?.position ?? 0,
  };
}

/** What is told of a session whose rows are damaged, so that the others are not kept from anything. */
export type OnDamaged = (sessionId: string, error: StoreError) => void;

/** Reads something of one session. @returns undefined if it is damaged. */
export function unlessDamagedIn<T>(
  { database }: Pick<Repositories, "database">,
  sessionId: string,
  read: () => T,
  onDamaged: OnDamaged,
): T | undefined {
  try {
    return database.read(read);
  } catch (error) {
    if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
    onDamaged(sessionId, error);
    return undefined;
  }
}

/** Returns what is noted of all sessions, by their ids. Those whose notes are damaged are left out. */
export function allHubNotes(
  repositories: Pick<Repositories, "database" | "settings">,
  onDamaged: OnDamaged = () => {},
): Map<string, HubNotes> {
  const beginning = nameOf("");
  const ids = repositories.settings.namesLike({ beginning }).map((name) => name.slice(beginning.length));
  return new Map(
    ids.flatMap((id) => {
      const notes = unlessDamagedIn(repositories, id, () => hubNotesOf(repositories, id), onDamaged);
      return notes === undefined ? [] : [[id, notes]];
    }),
  );
}

/** Returns the sessions that the hub has forgotten, and that are kept until the person decides. */
export function undecidedSessions(repositories: Pick<Repositories, "database" | "settings">): string[] {
  return [...allHubNotes(repositories)].flatMap(([id, { forgotten }]) => (forgotten === "asked" ? id : []));
}

export type HubNoteChanges = { [Name in keyof HubNotes]: HubNotes[Name] | undefined };

/** Changes some of the notes. A value of undefined removes one. Call it inside a transaction. */
export function noteOnHub(
  { settings }: Pick<Repositories, "settings">,
  sessionId: string,
  changes: HubNoteChanges,
): void {
  settings.set(nameOf(sessionId), { ...hubNotesOf({ settings }, sessionId), ...changes });
}

/**
 * Makes the notes be about a hub. What another hub has says nothing of this one, so its numbers are put aside until it is the hub again.
 * Copies that came from there are kept, and made again if this hub has their sessions. Call it inside a transaction.
 *
 * @returns false if they are about this hub already.
 */
export function noteHub(
  repositories: Pick<Repositories, "database" | "settings" | "sessions" | "tombstones">,
  hub: string,
): boolean {
  const { settings, tombstones } = repositories;
  const former = settings.get(HUB) as string | undefined;
  if (former === hub) return false;
  for (const [id, notes] of allHubNotes(repositories)) {
    const { sessionNo, length, lastId, entryId, head, items, aside, isStale, forgotten } = notes;
    const { [hub]: known, ...others } = notes.elsewhere ?? {};
    if (former !== undefined && sessionNo !== undefined) {
      others[former] = { sessionNo, length, lastId, entryId, head, items, aside, isStale, forgotten };
    }
    const isCopy = isRead(repositories, id);
    const { origin, name, isOwn } = notes;
    // A restored hub has messages again that were forgotten since.
    const isChanged = !isCopy && tombstones.forgottenBefore(id, Number.MAX_SAFE_INTEGER) !== undefined;
    settings.set(nameOf(id), {
      // What waits for the person's decision is sent to no hub.
      ...{ origin, name, isOwn, forgotten, ...(known ?? (isChanged && { isStale: true })) },
      ...(isCopy && { isCopy, length: undefined }), // it is made again
      ...(Object.keys(others).length > 0 && { elsewhere: others }),
    } satisfies HubNoteChanges);
  }
  settings.set(HUB, hub);
  return true;
}

/**
 * Another process may name another hub while a push or a sync goes on. Call it inside the transaction that reads or writes numbers.
 *
 * @param hub  The hub that the numbers are of.
 * @throws {StoreError} `HUB_CHANGED` if the notes are about another.
 */
export function assertHub({ settings }: Pick<Repositories, "settings">, hub: { id: string; name: string }): void {
  if (settings.get(HUB) !== hub.id) throw new StoreError("HUB_CHANGED", { hub: hub.name, reason: "another" });
}

/** True if a session is only read here, or another store goes on with what did not begin here. To forget it is then no concern of others. */
export function isCopied(repositories: Pick<Repositories, "settings" | "sessions">, sessionId: string): boolean {
  const { isCopy } = hubNotesOf(repositories, sessionId);
  return isCopy === true && (isRead(repositories, sessionId) || !beganHere(repositories, sessionId));
}

/** True if a session is only read here. */
function isRead({ sessions }: Pick<Repositories, "sessions">, sessionId: string): boolean {
  return (sessions.unchecked(sessionId)?.author ?? null) !== null;
}

/** Returns the numbers that forgotten sessions had on the hub, which the next push deletes there; undefined if there was no push to it. */
export function forgottenNumbers({ settings }: Pick<Repositories, "settings">): number[] | undefined {
  return numbersByHub({ settings })[settings.get(HUB) as string];
}

/** Notes that the hub has forgotten these, too. */
export function forgottenEverywhere(repositories: Repositories, numbers: readonly number[]): void {
  const { database, settings } = repositories;
  database.write("push", () => {
    const left = (forgottenNumbers(repositories) ?? []).filter((one) => !numbers.includes(one));
    settings.set(FORGOTTEN, { ...numbersByHub(repositories), [settings.get(HUB) as string]: left });
  });
}

/** Notes what a push has sent. If the session was forgotten meanwhile, the next push deletes that. Call it inside a transaction. */
export function notePushed(repositories: Repositories, sessionId: string, changes: HubNoteChanges): void {
  if (repositories.sessions.unchecked(sessionId) !== undefined) noteOnHub(repositories, sessionId, changes);
  else if (changes.sessionNo !== undefined) {
    const origin = storeIdOf(repositories) ?? "";
    repositories.settings.set(forgottenName(repositories, { origin, name: sessionId }), true);
    addForgotten(repositories, { sessionNo: changes.sessionNo });
  }
}

/**
 * Notes that a session was forgotten: no sync brings it again. Others lose it with the next push, unless it was a copy. Call it after
 * writing its tombstones.
 */
export function noteForgotten(repositories: Repositories, sessionId: string): void {
  const { settings } = repositories;
  const known = nameOnHub(repositories, sessionId);
  if (known === undefined) return;
  settings.set(forgottenName(repositories, known), true);
  if (!isCopied(repositories, sessionId)) addForgotten(repositories, hubNotesOf(repositories, sessionId));
  settings.delete(nameOf(sessionId));
}

/** Notes that messages of a session were forgotten. Others lose them with the next push, unless it is a copy. */
export function noteForgottenMessages(
  repositories: Pick<Repositories, "settings" | "sessions">,
  sessionId: string,
): void {
  const { sessionNo, elsewhere } = hubNotesOf(repositories, sessionId);
  if (isCopied(repositories, sessionId) || (sessionNo === undefined && elsewhere === undefined)) return;
  const stale = Object.entries(elsewhere ?? {}).map(([hub, known]) => [hub, { ...known, isStale: true as const }]);
  noteOnHub(repositories, sessionId, { isStale: true, ...(elsewhere && { elsewhere: Object.fromEntries(stale) }) });
}

function addForgotten(
  { settings }: Pick<Repositories, "settings">,
  { sessionNo, elsewhere = {} }: Pick<HubNotes, "sessionNo" | "elsewhere">,
): void {
  const all = { ...elsewhere, ...(sessionNo !== undefined && { [settings.get(HUB) as string]: { sessionNo } }) };
  const numbers = numbersByHub({ settings });
  for (const [hub, { sessionNo: one }] of Object.entries(all)) {
    if (one !== undefined) numbers[hub] = [...new Set([...(numbers[hub] ?? []), one])];
  }
  if (Object.keys(all).length > 0) settings.set(FORGOTTEN, numbers);
}

function numbersByHub({ settings }: Pick<Repositories, "settings">): Record<string, number[]> {
  return { ...(settings.get(FORGOTTEN) as Record<string, number[]> | undefined) };
}

/** Drops what is noted of a session. Call it inside a transaction. */
export function dropHubNotes({ settings }: Pick<Repositories, "settings">, sessionId: string): void {
  settings.delete(nameOf(sessionId));
}

/** True if the user has forgotten this session, so that only a pull brings it back. */
export function isForgottenCopy(repositories: Repositories, session: NameOnHub): boolean {
  return repositories.settings.get(forgottenName(repositories, session)) !== undefined;
}

/** Lets a session that was forgotten be pulled again, under this id. Call it inside a transaction. */
export function takeForgottenCopy(repositories: Repositories, session: NameOnHub, sessionId: string): void {
  const { settings, tombstones } = repositories;
  if (!isForgottenCopy(repositories, session)) return;
  settings.delete(forgottenName(repositories, session));
  tombstones.delete(tombstones.makeDigests().session(sessionId), undefined);
}

/** Returns by what hubs know a session; undefined if none does. */
export function nameOnHub(repositories: Repositories, sessionId: string): NameOnHub | undefined {
  const notes = repositories.settings.get(nameOf(sessionId)) as HubNotes | undefined;
  return notes && { origin: notes.origin ?? storeIdOf(repositories) ?? "", name: notes.name ?? sessionId };
}

/** Returns a function that tells which messages of a session of a hub were forgotten here, in whichever copy of it. */
export function forgottenOnHubIn(repositories: Repositories, sessionId: string): (message: SaidAt) => boolean {
  const { tombstones } = repositories;
  const session = nameOnHub(repositories, sessionId);
  const digests = session && tombstones.digests();
  return (message) => digests !== undefined && tombstones.has(digests.onHub(session!, message));
}

/** By what a session is known in all stores. */
export interface NameOnHub {
  origin: string;
  name: string;
}

/** Returns the name of a setting, with a digest as in the tombstones, so that no id of a forgotten session stays. */
function forgottenName({ tombstones }: Repositories, { origin, name }: NameOnHub): string {
  return `hubForgotten ${tombstones.digests()?.session(`${origin} ${name}`).toString("hex")}`;
}
