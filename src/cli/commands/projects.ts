import { existsSync } from "node:fs";
import { Option } from "commander";
import { isPath, remoteAt } from "../../core/project.ts";
import { projectMeant } from "../../session/aids/project-meant.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { repeatableOption } from "../options.ts";
import { type Column, tableLines } from "../screen/table.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, oneLine } from "../screen/text.ts";

interface ExcludeFlags {
  project?: string[];
  remove?: true;
}

const excludeCommand: Command<ExcludeFlags> = {
  usage: "exclude [paths...]",
  summary: "Leave folders and projects out of imports and watches.",
  details:
    "No transcript in an excluded folder is read, and no session whose agent worked there or in a worktree of a repository in it " +
    "is imported. Sessions that are " +
    "stored already stay; `coppice forget` deletes them. A name that is no project yet leaves out every folder that is called so. " +
    "Without paths and projects, it lists what is excluded.\n" +
    "With --json: {paths, projects}.",
  argument: "files and folders",
  options: [repeatableOption("project <name>", "a project"), new Option("--remove", "import these again from now on")],
  examples: ["", "~/work/client", "--project client", "--project client --remove"],

  async run({ args: paths, options: { project: projects = [], remove = false }, loadStores }) {
    const isQuestion = paths.length + projects.length === 0;
    const stores = await loadStores();
    const store = isQuestion ? stores.openToRead() : stores.openToWrite();
    const known = store.exclude().projects;
    const meant = (typed: string): string => (known.includes(typed) ? typed : projectMeant(store, typed));
    const value = store.exclude({ paths, projects: projects.map(meant), remove });
    return {
      value,
      lines: [
        ...value.paths.map((path) => `path\t${oneLine(path)}`),
        ...value.projects.map((project) => `project\t${oneLine(project)}`),
        ...(value.paths.length + value.projects.length === 0 ? ["Nothing is excluded."] : []),
      ],
    };
  },
};

/** A project with what is in its folder now. */
type Listed = ReturnType<Store["projects"]>[number] & { isGone: boolean; remote: string | null };

const renameCommand: Command = {
  usage: "rename <project> <name>",
  summary: "Give a project another name for people.",
  details: "With --json: the projects, as `coppice projects` lists them.",
  argument: ["by name or path", "what people see from now on"],
  examples: ["~/work/shop store"],

  async run({ args: [typed, name], loadStores, terminal }) {
    const store = (await loadStores()).openToWrite({ mustExist: true });
    store.renameProject(projectMeant(store, typed!), name!);
    return listed(store, terminal);
  },
};

const mergeCommand: Command = {
  usage: "merge <project> <into>",
  summary: "Put all sessions of a project into another one.",
  details:
    "Later sessions of the first project are put there, too. This cannot be undone. It is for a folder that was moved, for a second " +
    "clone, and for sessions whose folder is not known. With --json: the projects, as `coppice projects` lists them.",
  argument: ["by name or path", "by name or path: the project that stays"],
  examples: ['"shop (old)" ~/work/shop', ". ~/work/shop"],

  async run({ args: [from, into], loadStores, terminal }) {
    const store = (await loadStores()).openToWrite({ mustExist: true });
    store.renameProject(projectMeant(store, from!), projectMeant(store, into!), { merge: true });
    return listed(store, terminal);
  },
};

export const projectsCommand: Command = {
  usage: "projects",
  summary: "List the projects; rename, merge or exclude one.",
  details:
    "A project is the repository in which an agent works, with its worktrees and subfolders, or else the folder. Its path tells it " +
    "apart, so two folders called shop are two projects. A remote is shown and proves nothing, because any repository can name it.\n" +
    "With --json: an array of {project, name, sessionCount, isGone, remote}.",
  subcommands: [renameCommand, mergeCommand, excludeCommand],
  examples: [""],
  paged: true,

  async run({ loadStores, terminal }) {
    return listed((await loadStores()).openToRead(), terminal);
  },
};

function listed(store: Store, terminal: Terminal) {
  const value = store.projects().map((one): Listed => {
    const isGone = isPath(one.project) && !existsSync(one.project);
    return { ...one, isGone, remote: remoteAt(one.project) ?? null };
  });
  return { value, lines: lines(value, terminal) };
}

const COLUMNS: readonly Column<Listed>[] = [
  { header: "Project", value: ({ name }) => oneLine(name), widthMin: 12 },
  { header: "Sessions", value: ({ sessionCount }) => sessionCount },
  { header: "Folder", value: folderOf, widthMin: 20, cut: "start" },
  { header: "Remote", value: ({ remote }) => oneLine(remote ?? ""), expendable: true },
];

function folderOf({ project, isGone }: Listed): string {
  if (!isPath(project)) return "";
  return isGone ? `${oneLine(project)} (gone)` : oneLine(project);
}

function* lines(projects: readonly Listed[], terminal: Terminal): Generator<string> {
  if (projects.length === 0) return terminal.note("No projects.");
  yield* tableLines(COLUMNS, projects, terminal);
  for (const remote of new Set(projects.map((one) => one.remote))) {
    const [first, second, ...rest] = projects.filter((one) => one.remote === remote);
    if (remote === null || second === undefined) continue;
    const count = formatCount(rest.length + 2, "project");
    const call = `coppice projects merge "${oneLine(second.name)}" "${oneLine(first!.name)}"`;
    terminal.hint(`${count} have the remote ${oneLine(remote)}. If you made these clones: ${call}`);
  }
}
