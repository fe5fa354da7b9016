import type { Repositories } from "../repositories.ts";

// What a store notes about sessions that are also on a hub.

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
  /** True if messages of it were forgotten here since the last push. */
  isStale?: true;
  /** The places of messages that are left out of a copy, because they were forgotten here in another session. */
  left?: number[];
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

/** Returns what is noted of all sessions, by their ids. */
export function allHubNotes({ settings }: Pick<Repositories, "settings">): Map<string, HubNotes> {
  const rows = settings.startingWith(nameOf(""));
  return new Map(rows.map(({ name, value }) => [name.slice(nameOf("").length), value as HubNotes]));
}

/** Returns the sessions that the hub has forgotten, and that are kept until the person decides. */
export function undecidedSessions(repositories: Pick<Repositories, "settings">): string[] {
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

/** Returns the numbers that forgotten sessions had on the hub, which the next push deletes there. */
export function forgottenNumbers({ settings }: Pick<Repositories, "settings">): number[] {
  return (settings.get(FORGOTTEN) as number[] | undefined) ?? [];
}

/** Notes that the hub has forgotten these, too. */
export function forgottenEverywhere(repositories: Repositories, numbers: readonly number[]): void {
  const { database, settings } = repositories;
  database.write("push", () =>
    settings.set(
      FORGOTTEN,
      forgottenNumbers(repositories).filter((one) => !numbers.includes(one)),
    ),
  );
}

/** Notes that a session was forgotten. Others lose it with the next push, unless it was a copy. Call it after writing its tombstones. */
export function noteForgotten(repositories: Repositories, sessionId: string): void {
  const { settings } = repositories;
  const { isCopy, sessionNo } = hubNotesOf(repositories, sessionId);
  settings.delete(nameOf(sessionId));
  if (isCopy) settings.set(FORGOTTEN_COPIES, [...forgottenCopies(repositories), digestOf(repositories, sessionId)]);
  else if (sessionNo !== undefined) settings.set(FORGOTTEN, [...forgottenNumbers(repositories), sessionNo]);
}

/** Notes that messages of a session were forgotten. Others lose them with the next push, unless it is a copy. */
export function noteForgottenMessages(repositories: Pick<Repositories, "settings">, sessionId: string): void {
  const { isCopy, sessionNo } = hubNotesOf(repositories, sessionId);
  if (!isCopy && sessionNo !== undefined) noteOnHub(repositories, sessionId, { isStale: true });
}

/** Drops what is noted of a session. Call it inside a transaction. */
export function dropHubNotes({ settings }: Pick<Repositories, "settings">, sessionId: string): void {
  settings.delete(nameOf(sessionId));
}

/** True if the user has forgotten this copy, so that only a pull brings it back. */
export function isForgottenCopy(repositories: Repositories, sessionId: string): boolean {
  return forgottenCopies(repositories).includes(digestOf(repositories, sessionId));
}

/** Lets a copy that was forgotten be pulled again. Call it inside a transaction. */
export function takeForgottenCopy(repositories: Repositories, sessionId: string): void {
  const { settings, tombstones } = repositories;
  if (!isForgottenCopy(repositories, sessionId)) return;
  const digest = digestOf(repositories, sessionId);
  settings.set(
    FORGOTTEN_COPIES,
    forgottenCopies(repositories).filter((other) => other !== digest),
  );
  tombstones.delete(tombstones.makeDigests().session(sessionId), undefined);
}

function forgottenCopies({ settings }: Pick<Repositories, "settings">): string[] {
  return (settings.get(FORGOTTEN_COPIES) as string[] | undefined) ?? [];
}

/** Returns the digest of an id, as in the tombstones, so that no id of a forgotten session stays. */
function digestOf({ tombstones }: Repositories, sessionId: string): string {
  return tombstones.digests()?.session(sessionId).toString("hex") ?? "";
}
