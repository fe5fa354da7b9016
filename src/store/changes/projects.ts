import { StoreError } from "../../core/errors.ts";
import { isPath, projectNames } from "../../core/project.ts";
import type { Repositories } from "../repositories.ts";
import { dissolveSubjects } from "./write.ts";

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
    let name = shown;
    for (let count = 2; taken.has(name); count += 1) name = `${shown} ${count}`;
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

function remoteIn({ settings }: Pick<Repositories, "settings">): { projects: string[] } | undefined {
  return (settings.get(REMOTE) as { projects: string[] } | false | undefined) || undefined;
}

const EXCLUSIONS = "exclusions";

export interface StoredExclusions {
  paths: readonly string[];
  projects: readonly string[];
}

export function exclusionsOf({ settings }: Repositories): StoredExclusions {
  return { paths: [], projects: [], ...(settings.get(EXCLUSIONS) as Partial<StoredExclusions> | undefined) };
}

/** Adds to what imports leave out, or removes from it. Returns everything that they leave out now. */
export function changeExclusions(
  repositories: Repositories,
  given: StoredExclusions,
  isRemoved: boolean,
): StoredExclusions {
  const { database, settings } = repositories;
  return database.write("exclude", () => {
    const known = exclusionsOf(repositories);
    const changed = (field: keyof StoredExclusions): string[] =>
      isRemoved
        ? known[field].filter((one) => !given[field].includes(one))
        : [...new Set([...known[field], ...given[field]])].sort();
    const exclusions = { paths: changed("paths"), projects: changed("projects") };
    settings.set(EXCLUSIONS, exclusions);
    return exclusions;
  });
}
