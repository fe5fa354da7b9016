import { Option } from "commander";
import { projectMeant } from "../../session/aids/project-meant.ts";
import type { Command } from "../command.ts";
import { repeatableOption } from "../options.ts";
import { oneLine } from "../screen/text.ts";

interface ExcludeFlags {
  project?: string[];
  remove?: true;
}

export const excludeCommand: Command<ExcludeFlags> = {
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
