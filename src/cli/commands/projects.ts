import { existsSync } from "node:fs";
import { isPath, remoteAt } from "../../core/project.ts";
import { projectMeant } from "../../session/project-meant.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { type Column, tableLines } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, oneLine } from "../text.ts";

/** A project with what is in its folder now. */
type Listed = ReturnType<Store["projects"]>[number] & { isGone: boolean; remote: string | null };

const HINT = "coppice projects rename <project> <name>, or coppice projects merge <project> <into>";

export const projectsCommand: Command = {
  usage: "projects [action] [project] [other]",
  summary: "List the projects, rename one, or make one of two.",
  details:
    "A project is the repository in which an agent works, with its worktrees and subfolders, or else the folder. Its path tells it " +
    "apart, so two folders called shop are two projects. `rename` changes only what people see. `merge` puts all sessions of the " +
    "first project into the second, also later ones, and cannot be undone: for a folder that was moved, for a second clone, and for " +
    "sessions whose folder is not known. A remote is shown and proves nothing, because any repository can name it.\n" +
    "With --json: an array of {project, name, sessionCount, isGone, remote}.",
  argument: "rename or merge; without it, the projects are listed",
  examples: ["", "rename ~/work/shop store", 'merge "shop (old)" ~/work/shop', "merge . ~/work/shop"],
  paged: true,

  async run({ args: [action, typed, other], loadStores, terminal }) {
    const stores = await loadStores();
    if (action === undefined) return listed(stores.openToRead(), terminal);
    if ((action !== "rename" && action !== "merge") || other === undefined) {
      throw new Failure("USAGE_INVALID", `\`projects\` has no action "${action}" with these words.`, { hint: HINT });
    }
    const store = stores.openToWrite({ mustExist: true });
    const project = projectMeant(store, typed!);
    if (action === "rename") store.renameProject(project, other);
    else store.mergeProjects(project, projectMeant(store, other));
    return listed(store, terminal);
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
