import { isDeepStrictEqual } from "node:util";
import type { SessionRow } from "../facts/sessions.ts";
import type { Repositories } from "../repositories.ts";

// What a store notes about sessions that are also on a hub.

/** What a store knows of a session that a hub has, too. */
export interface HubNotes {
  /** The store in which it began, or what stands for it on the hub; left out if that is this store. */
  origin?: string;
  /** True if it began in this store, although `origin` is another. */
  isOwn?: true;
  /** Set if it began here and the hub has forgotten it, or messages of it. `kept`: the person knows, and keeps it. */
  forgotten?: "asked" | "kept";
  /** True if another store may push it. */
  isCopy?: boolean;
  /** The session that has what only this store had when another one had taken the session. */
  forkId?: string;
  /** Digests of the facts that the hub had when this store last looked, and of those that this store has sent since. */
  seen?: readonly string[];
  /** Digests of the title and of the items that the store and the hub last had in common. */
  agreed?: { title: string; items: string };
}

/** A forgotten session that the hub may still have. */
export interface NotedSession {
  sessionId: string;
  project: string | null;
  /** Tells a copy of it from a session that begins later under its id. Older notes lack it. */
  createdAtMs?: number;
  /** As in `HubNotes`. */
  origin?: string;
}

const FORGOTTEN = "hubForgotten";
const FORGOTTEN_COPIES = "hubForgottenCopies";

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

/** Returns the sessions that the hub has forgotten, and that are kept until the person decides. */
export function undecidedSessions({ settings }: Pick<Repositories, "settings">): string[] {
  return settings
    .startingWith(nameOf(""))
    .filter(({ value }) => (value as HubNotes).forgotten === "asked")
    .map(({ name }) => name.slice(nameOf("").length));
}

/** Returns the sessions whose messages only this store had, and which are now in a fork. */
export function originalsOf({ settings }: Pick<Repositories, "settings">, forkId: string): string[] {
  return settings
    .startingWith(nameOf(""))
    .filter(({ value }) => (value as HubNotes).forkId === forkId)
    .map(({ name }) => name.slice(nameOf("").length));
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

/** Notes whether another store may push a session. */
export function setCopy(repositories: Repositories, sessionId: string, isCopy: boolean): void {
  const { database } = repositories;
  if ((database.read(() => hubNotesOf(repositories, sessionId)).isCopy ?? false) === isCopy) return;
  database.write("push", () => noteOnHub(repositories, sessionId, { isCopy: isCopy || undefined }));
}

/** The sessions that the next push has to forget on the hub; undefined if the store has never been pushed. */
export function notedSessions({ settings }: Repositories): readonly NotedSession[] | undefined {
  return settings.get(FORGOTTEN) as NotedSession[] | undefined;
}

/** Notes each session that is forgotten from now on. @param done  Notes of sessions that the hub has forgotten. They are deleted. */
export function keepNotes(repositories: Repositories, done: readonly NotedSession[]): void {
  const { database, settings } = repositories;
  database.write("push", () => {
    const noted = notedSessions(repositories) ?? [];
    const rest = noted.filter((note) => !done.some((one) => isDeepStrictEqual(one, note)));
    settings.set(FORGOTTEN, rest);
  });
}

/** Notes that a session was forgotten. Others lose it with the next push, unless it was a copy. Call it after writing its tombstones. */
export function noteForgotten(
  repositories: Repositories,
  { id, project, createdAtMs }: Pick<SessionRow, "id" | "project" | "createdAtMs">,
): void {
  const { settings } = repositories;
  const { origin, isCopy } = hubNotesOf(repositories, id);
  settings.delete(nameOf(id));
  if (isCopy) {
    settings.set(FORGOTTEN_COPIES, [...forgottenCopies(repositories), digestOf(repositories, id)]);
    return;
  }
  const noted = notedSessions(repositories);
  if (noted === undefined) return;
  const note: NotedSession = { sessionId: id, project, createdAtMs, ...(origin !== undefined && { origin }) };
  settings.set(FORGOTTEN, [...noted, note]);
}

/** Lets a copy that was forgotten be pulled again. @returns false if the session was not forgotten as a copy. */
export function takeForgottenCopy(repositories: Repositories, sessionId: string): boolean {
  const [copies, digest] = [forgottenCopies(repositories), digestOf(repositories, sessionId)];
  if (!copies.includes(digest)) return false;
  const rest = copies.filter((other) => other !== digest);
  repositories.settings.set(FORGOTTEN_COPIES, rest);
  return true;
}

function forgottenCopies({ settings }: Repositories): string[] {
  return (settings.get(FORGOTTEN_COPIES) as string[] | undefined) ?? [];
}

/** Returns the digest of an id, as in the tombstones, so that no id of a forgotten session stays. */
function digestOf({ tombstones }: Repositories, sessionId: string): string {
  return tombstones.digests()?.session(sessionId).toString("hex") ?? "";
}
