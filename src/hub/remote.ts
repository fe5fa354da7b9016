import { StoreError } from "../core/errors.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { Store } from "../session/store.ts";
import {
  allHubNotes,
  assertHub,
  hubNameOf,
  noteHub,
  type OnDamaged,
  projectNotesOf,
  REMOTE,
  type Repositories,
  undecidedSessions,
  unlessDamagedIn,
} from "../store/index.ts";
import { hubAddressOf } from "./address.ts";
import type { HubConnection } from "./connection.ts";

/** The hub of a store, and what of the store may leave the machine. */
export interface Remote {
  /** Without a password. */
  url: string;
  /** Folders, and names that programs gave. The hub gets only names: see `hubNameOf`. */
  projects: string[];
  /** The team whose hub it is; null if it is the only one. */
  team: string | null;
}

/** What a store follows on its hub, and how far it is. */
export interface Follows {
  /** Projects by their names on the hub. Sessions whose newest message is older than `sinceMs` are left out. */
  projects: { name: string; sinceMs: number }[];
  /** Set if all projects are followed: the same for each. */
  all: number | null;
  /** When the hub was last asked, by its clock; null if everything is to be asked for. */
  mark: string | null;
  /** The numbers of sessions that the last sync could not bring. */
  retry: number[];
}

const FOLLOWS = "hubFollows";
const NOTHING: Follows = { projects: [], all: null, mark: null, retry: [] };

export function remoteOf(store: Store): Remote | undefined {
  const { database, settings } = internalsOf(store).repositories;
  return database.read(() => (settings.get(REMOTE) as Remote | false | undefined) || undefined);
}

/** Sets the hub of a store, or adds projects to it. @throws {StoreError} `OPTION_INVALID`, `STORE_READONLY`. */
export function addRemote(store: Store, given: Remote): Remote {
  const { repositories } = internalsOf(store);
  const { database, settings } = repositories;
  hubAddressOf(given.url);
  return database.write("addRemote", () => {
    const known = remoteOf(store);
    const isSameTeam = given.team === null || known?.team === null || given.team === known?.team;
    const same = known?.url === given.url && isSameTeam ? known : undefined;
    const projects = [...new Set([...(same?.projects ?? []), ...given.projects])].sort();
    const remote = { ...given, projects, team: given.team ?? same?.team ?? null };
    settings.set(REMOTE, remote);
    for (const project of projects) hubNameOf(repositories, project);
    return remote;
  });
}

/** Makes what a store notes be about a hub. If it was about another, a sync begins anew. */
export function enterHub(store: Store, hub: string): void {
  const { repositories } = internalsOf(store);
  const { database, settings } = repositories;
  database.write("push", () => {
    if (noteHub(repositories, hub)) settings.set(FOLLOWS, { ...followsOf(repositories), mark: null, retry: [] });
  });
}

/** Removes the hub of a store. What was pushed stays on the hub. */
export function removeRemote(store: Store): void {
  const { database, settings } = internalsOf(store).repositories;
  database.write("removeRemote", () => settings.set(REMOTE, false));
}

/** Returns what the projects of a store are called on the hub, if that is not what they are called here. */
export function namesOnHub(store: Store): ReadonlyMap<string, string> {
  const { repositories } = internalsOf(store);
  return repositories.database.read(() => projectNotesOf(repositories).onHub);
}

/** Returns the sessions that began here or were taken, that the hub has forgotten, and that are kept until `push` is told what becomes of them. */
export function forgottenOnHub(store: Store): string[] {
  const { repositories } = internalsOf(store);
  return repositories.database.read(() => undecidedSessions(repositories));
}

/**
 * Returns the sessions that a push may send.
 *
 * @param ids  By default the sessions of `projects`. Copies are left out.
 * @throws {StoreError} `SESSION_NOT_FOUND`; `STORE_CORRUPT`, unless `onDamaged` is given.
 */
export function sessionsToPush(
  store: Store,
  ids: readonly string[] | undefined,
  projects: readonly string[],
  onDamaged: OnDamaged = (_, error) => {
    throw error;
  },
): { id: string; project: string | null }[] {
  const { repositories } = internalsOf(store);
  const onUnreadable = ({ sessionId, reason }: { sessionId: string; reason: string }): void =>
    onDamaged(sessionId, new StoreError("STORE_CORRUPT", { path: store.path, reason }));
  const asked = ids ?? projects.flatMap((project) => store.sessions({ project, onUnreadable }).map(({ id }) => id));
  return asked.flatMap((id) => {
    const row = unlessDamagedIn(repositories, id, () => repositories.sessions.existing(id), onDamaged);
    return row === undefined || row.author !== null ? [] : row;
  });
}

export function followsOf({ database, settings }: Pick<Repositories, "database" | "settings">): Follows {
  return database.read(() => (settings.get(FOLLOWS) as Follows | undefined) ?? NOTHING);
}

export function followedOf(store: Store): Pick<Follows, "projects" | "all"> {
  const { projects, all } = followsOf(internalsOf(store).repositories);
  return { projects, all };
}

/**
 * Follows a project of the hub, or all: the next `sync` brings its sessions, and later ones what is new.
 *
 * @param project  The name that it has on the hub; null for all.
 * @param options.sinceMs  Leaves out sessions whose newest message is older. By default all are followed.
 * @throws {StoreError} `STORE_READONLY`.
 */
export function follow(store: Store, project: string | null, { sinceMs = 0 }: { sinceMs?: number } = {}): void {
  const { repositories } = internalsOf(store);
  repositories.database.write("follow", () => {
    const { projects, all, retry } = followsOf(repositories);
    const others = projects.filter(({ name }) => name !== project);
    const next =
      project === null ? { projects, all: sinceMs } : { projects: [...others, { name: project, sinceMs }], all };
    repositories.settings.set(FOLLOWS, { ...next, retry, mark: null } satisfies Follows);
  });
}

/**
 * Follows a project no longer, and deletes the copies of its sessions. What this store has taken stays.
 *
 * @param project  null for all that is followed.
 * @returns the ids of the copies.
 * @throws {StoreError} `OPTION_INVALID` for a project that is followed only because all are; `SESSION_SHARED` or
 *   `STORE_CORRUPT`, after all others are gone, if a fork in the store shares messages of a copy, or what is noted of one is damaged.
 */
export function unfollow(store: Store, project: string | null): string[] {
  const opened = internalsOf(store);
  const { repositories } = opened;
  const { database, sessions, settings } = repositories;
  database.write("follow", () => {
    const { projects, all, mark, retry } = followsOf(repositories);
    if (project !== null && all !== null) {
      const expected = "null, because all projects are followed: coppice hub unfollow --all";
      throw new StoreError("OPTION_INVALID", { option: "project", expected, actual: project });
    }
    const rest = project === null ? [] : projects.filter(({ name }) => name !== project);
    // The hub leaves out of `retry` what is not followed.
    settings.set(FOLLOWS, { projects: rest, all: project === null ? null : all, mark, retry } satisfies Follows);
  });
  const damages: StoreError[] = [];
  const ids = database.read(() => {
    const { onHub } = projectNotesOf(repositories);
    return [...allHubNotes(repositories, (_, error) => damages.push(error)).keys()].filter((id) => {
      const row = sessions.unchecked(id); // a damaged copy can be deleted, too
      if (row === undefined || row.author === null) return false;
      return project === null || (onHub.get(row.project ?? "") ?? row.project) === project;
    });
  });
  const { dropped, refused } = opened.copies.drop(ids);
  opened.eraseDue();
  const [failure] = [...refused.map(({ error }) => error), ...damages];
  if (failure !== undefined) throw failure;
  return dropped;
}

/** Notes how far a sync came, unless something else is followed since. */
export function noteSynced(
  { database, settings }: Repositories,
  asked: Follows,
  { mark, retry, hub }: Pick<Follows, "mark" | "retry"> & { hub: HubConnection },
): void {
  const { projects, all } = asked;
  const isSame = (other: Follows): boolean =>
    JSON.stringify([other.projects, other.all, other.mark]) === JSON.stringify([projects, all, asked.mark]);
  database.write("sync", () => {
    assertHub({ settings }, hub);
    const now = followsOf({ database, settings });
    if (isSame(now)) settings.set(FOLLOWS, { projects, all, mark, retry } satisfies Follows);
  });
}
