import { DamageError } from "../../core/damage.ts";
import { StoreError } from "../../core/errors.ts";
import { isPath, projectAt, projectNames } from "../../core/project.ts";
import type { SessionRow } from "../facts/sessions.ts";
import type { Repositories } from "../repositories.ts";
import { dissolveSubjects } from "./write.ts";

/** The setting that a migration adds if sessions may have names of folders as their projects. */
const DUE = "projectsDue";
const NOTES = "projects";
/** The hub of the store: see hub/remote.ts. */
export const REMOTE = "remote";

/** What a store notes about projects. Everything else about them is in the rows of sessions. */
export interface ProjectNotes {
  /** The names that the user gave. */
  names: ReadonlyMap<string, string>;
  /** Projects that the user merged into others. None of these is merged itself. */
  merged: ReadonlyMap<string, string>;
  /** What projects are called on the hub, which does not know folders. */
  onHub: ReadonlyMap<string, string>;
}

/** The notes as the setting has them: lists of pairs. */
export type StoredNotes = { [Name in keyof ProjectNotes]?: [string, string][] };

export function projectNotesOf({ settings }: Pick<Repositories, "settings">): ProjectNotes {
  const { names, merged, onHub } = (settings.get(NOTES) ?? {}) as StoredNotes;
  return { names: new Map(names), merged: new Map(merged), onHub: new Map(onHub) };
}

function setNotes({ settings }: Repositories, notes: ProjectNotes): void {
  const { names, merged, onHub } = notes;
  settings.set(NOTES, { names: [...names], merged: [...merged], onHub: [...onHub] } satisfies StoredNotes);
}

/** Returns the project that has the sessions of a project: another one if the two were merged. */
export function projectNow(repositories: Pick<Repositories, "settings">, project: string): string {
  return projectNotesOf(repositories).merged.get(project) ?? project;
}

/** Returns the names of all projects that have sessions, and of some that may have none. */
export function namesOfProjects(repositories: Repositories, others: readonly string[] = []): Map<string, string> {
  const known = repositories.sessions.projects().map(({ project }) => project);
  return projectNames([...known, ...others], projectNotesOf(repositories).names);
}

/** @throws {StoreError} `OPTION_INVALID` for a project without a folder, or a name that is taken. */
export function renameProject(repositories: Repositories, project: string, name: string): void {
  repositories.database.write("renameProject", () => {
    if (!isPath(project)) {
      const expected = "a folder's project; a project that is only a name can be merged into another";
      throw new StoreError("OPTION_INVALID", { option: "project", expected, actual: project });
    }
    const notes = projectNotesOf(repositories);
    const names = [...namesOfProjects(repositories)];
    const isOther = names.some(([other, its]) => other !== project && (its === name || other === name));
    if (isOther || isPath(name)) {
      const expected = "a name that no other project has, and no path";
      const fix =
        "To make one project of the two, run `coppice projects merge`, or pass `{ merge: true }` in a program.";
      throw new StoreError("OPTION_INVALID", { option: "name", expected, actual: name, ...(isOther && { fix }) });
    }
    setNotes(repositories, { ...notes, names: new Map([...notes.names, [project, name]]) });
  });
}

/**
 * Makes one project of two: all sessions of `from` are in `into` from then on, and so are later ones.
 *
 * @param into  A project, or what a project of the store is called.
 * @throws {StoreError} `OPTION_INVALID` if both are one already, or one of them is a name that no session has.
 */
export function mergeProjects(repositories: Repositories, from: string, into: string): void {
  const { database, sessions } = repositories;
  database.write("renameProject", () => {
    const notes = projectNotesOf(repositories);
    const old = projectNow(repositories, from);
    const kept = projectNow(repositories, projectCalled(repositories, into));
    if (old === kept) {
      const expected = "another project: the two are one already";
      throw new StoreError("OPTION_INVALID", { option: "name", expected, actual: into });
    }
    for (const [option, project] of Object.entries({ project: old, name: kept })) {
      // A mistyped name must not take all sessions of a project.
      if (isPath(project) || sessions.idsOfProject(project).length > 0) continue;
      const expected = "a folder, or a project that has sessions";
      throw new StoreError("OPTION_INVALID", { option, expected, actual: project });
    }
    const merged = [...notes.merged].map(([one, target]): [string, string] => [one, target === old ? kept : target]);
    const names = new Map([...notes.names].filter(([project]) => project !== old));
    setNotes(repositories, { ...notes, names, merged: new Map([...merged, [old, kept]]) });
    // Nobody has agreed to share all of the other project.
    const remote = remoteIn(repositories);
    const shared = remote?.projects.filter((project) => project !== old);
    if (shared !== undefined) repositories.settings.set(REMOTE, { ...remote, projects: shared });
    for (const project of [old, kept]) dissolveSubjects(repositories, project, 0);
    sessions.setProject(sessions.idsOfProject(old), kept);
  });
}

/** Returns the project with this name; the name itself if it is a project, or the name of none. */
function projectCalled(repositories: Repositories, name: string): string {
  const names = namesOfProjects(repositories);
  if (names.has(name)) return name;
  return [...names].find(([, its]) => its === name)?.[0] ?? name;
}

/** Returns what a project is called on the hub: the same for ever, and unlike every other of the store. */
export function hubNameOf(repositories: Repositories, project: string): string {
  const { database } = repositories;
  const known = database.read(() => projectNotesOf(repositories).onHub.get(project));
  if (known !== undefined || !isPath(project)) return known ?? project;
  return database.write("push", () => {
    const notes = projectNotesOf(repositories);
    const taken = new Set(notes.onHub.values());
    const shown = namesOfProjects(repositories, [project]).get(project)!;
    const name = taken.has(shown) ? project : shown;
    setNotes(repositories, { ...notes, onHub: new Map([...notes.onHub, [project, name]]) });
    return name;
  });
}

/** Returns the project here that the user shares under a name on the hub; the name itself if there is none. */
export function projectOnHub(repositories: Pick<Repositories, "settings">, name: string): string {
  const remote = remoteIn(repositories);
  const shared = [...projectNotesOf(repositories).onHub].find(([project, its]) => {
    return its === name && remote?.projects.includes(project);
  });
  return shared === undefined ? name : shared[0];
}

/** What of a store may leave the machine. */
function remoteIn({ settings }: Pick<Repositories, "settings">): { projects: string[] } | undefined {
  return (settings.get(REMOTE) as { projects: string[] } | false | undefined) || undefined;
}

/**
 * Gives the sessions of an older version their projects. It had the names of folders; the folders themselves are in the metadata of
 * imported sessions. Where nothing tells the folder, the name stays. All of it is one transaction, so whoever opens the store next
 * makes it if this one is killed.
 */
export function identifyProjects(repositories: Repositories): void {
  const { database, settings, sessions } = repositories;
  if (database.read(() => settings.get(DUE)) === undefined) return;
  try {
    database.write("open", () => {
      if (settings.get(DUE) === undefined) return; // another process was first
      const { found, namesLeft } = identified(sessionsIn(repositories));
      for (const name of new Set([...found.values()].flatMap((sources) => [...sources.keys()]))) {
        const targets = [...found.values()].filter((sources) => sources.has(name));
        const isWhole = targets.length === 1 && targets[0]!.size === 1 && !namesLeft.has(name);
        if (!isWhole) dissolveSubjects(repositories, name, 0);
      }
      for (const [project, sources] of found) sessions.setProject([...sources.values()].flat(), project);
      shareAsBefore(repositories, found, namesLeft);
      settings.delete(DUE);
    });
  } catch (error) {
    // A damaged store can still be opened. Its projects keep their names until it is repaired.
    if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
  }
}

/** The sessions and branches that have a project, by id. A damaged row keeps what it says. */
function sessionsIn({ sessions }: Repositories): Map<string, SessionRow> {
  const rows = new Map<string, SessionRow>();
  for (const id of sessions.idsOfProject()) {
    try {
      rows.set(id, sessions.known(id));
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
    }
  }
  return rows;
}

/** The projects of folders, each with the names that its sessions had, and their ids. */
type Found = Map<string, Map<string, string[]>>;

function identified(rows: ReadonlyMap<string, SessionRow>): { found: Found; namesLeft: Set<string> } {
  const projects = new Map<string, string | undefined>();
  const ofFolders = new Map<string, string | undefined>();
  const projectOf = (row: SessionRow): string | undefined => {
    if (projects.has(row.id)) return projects.get(row.id);
    projects.set(row.id, undefined); // damaged parents may lead back to it
    const folder = folderIn(row);
    if (folder !== undefined && !ofFolders.has(folder)) ofFolders.set(folder, projectAt(folder));
    // Branches and forks go with the session that they are of.
    const parent = row.forkSeq === null ? undefined : rows.get(row.parentSessionId ?? "");
    const inherited = parent !== undefined && parent.project === row.project ? projectOf(parent) : undefined;
    const project = folder === undefined ? inherited : ofFolders.get(folder);
    projects.set(row.id, project);
    return project;
  };
  const found: Found = new Map();
  const namesLeft = new Set<string>();
  for (const row of rows.values()) {
    const [project, name] = [projectOf(row), row.project!];
    if (project === undefined) {
      namesLeft.add(name);
      continue;
    }
    const sources = found.get(project) ?? new Map<string, string[]>();
    found.set(project, sources);
    if (sources.has(name)) sources.get(name)!.push(row.id);
    else sources.set(name, [row.id]);
  }
  return { found, namesLeft };
}

/** Returns the folder of an imported session, if that is what named its project. */
function folderIn({ source, project, metadata }: SessionRow): string | undefined {
  const { cwd, workspaceDirs } = metadata ?? {};
  const folder = cwd ?? (Array.isArray(workspaceDirs) ? workspaceDirs[0] : undefined);
  if (source === null || typeof folder !== "string") return undefined;
  return folder.split(/[\\/]/).filter(Boolean).at(-1)?.trim() === project ? folder : undefined;
}

/** What was shared by a name stays shared, under that name, if the name was one project's. */
function shareAsBefore(repositories: Repositories, found: Found, namesLeft: ReadonlySet<string>): void {
  const { settings } = repositories;
  const remote = remoteIn(repositories);
  if (remote === undefined) return;
  const notes = projectNotesOf(repositories);
  const onHub = new Map(notes.onHub);
  const projects = remote.projects.flatMap((name) => {
    const named = [...found].filter(([, sources]) => sources.has(name)).map(([project]) => project);
    if (named.length !== 1) return [name];
    onHub.set(named[0]!, name);
    return namesLeft.has(name) ? [name, ...named] : named;
  });
  settings.set(REMOTE, { ...remote, projects });
  setNotes(repositories, { ...notes, onHub });
}
