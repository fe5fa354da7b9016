import { internalsOf } from "../session/opened-store.ts";
import type { Store } from "../session/store.ts";
import { hubNameOf, movable, projectNotesOf, REMOTE, undecidedSessions } from "../store/index.ts";
import { hubAddressOf } from "./address.ts";

/** The hub of a store, and what of the store may leave the machine. */
export interface Remote {
  /** Without a password. */
  url: string;
  /** Folders, and names that programs gave. The hub gets only names: see `hubNameOf`. */
  projects: string[];
  /** The team to which new projects belong; null if it is the only one. */
  team: string | null;
}

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
    const same = known?.url === given.url ? known : undefined;
    const projects = [...new Set([...(same?.projects ?? []), ...given.projects])].sort();
    const remote = { ...given, projects, team: given.team ?? same?.team ?? null };
    settings.set(REMOTE, remote);
    for (const project of projects) hubNameOf(repositories, project);
    return remote;
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

/** Returns the sessions that began here, that the hub has forgotten, and that are kept until `push` is told what becomes of them. */
export function forgottenOnHub(store: Store): string[] {
  const { repositories } = internalsOf(store);
  return repositories.database.read(() => undecidedSessions(repositories));
}

/**
 * Returns the sessions that a push sends.
 *
 * @param ids  By default the sessions of `projects` that can move.
 * @throws {StoreError} `SESSION_NOT_FOUND`, `SESSION_SHARED`.
 */
export function sessionsToPush(
  store: Store,
  ids: readonly string[] | undefined,
  projects: readonly string[],
): { id: string; project: string | null }[] {
  const { repositories } = internalsOf(store);
  const { database, paths } = repositories;
  if (ids !== undefined) return database.read(() => ids.map((id) => movable(repositories, id)));
  const found = projects.flatMap((project) => store.sessions({ project }));
  return database.read(() => found.filter(({ id }) => !paths.isFork(id)));
}
