import { Option } from "commander";
import { projectMeant } from "../../session/project-meant.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { repeatableOption } from "../options.ts";
import { oneLine } from "../text.ts";

interface RemoteFlags {
  project?: string[];
  team?: string;
}

export const remoteCommand: Command<RemoteFlags> = {
  usage: "remote [action] [url]",
  summary: "Name the hub of this store, and the projects that may go there.",
  details:
    "`add` sets the hub or adds projects to it; `remove` forgets it, and what was pushed stays there. Nothing else is ever pushed " +
    "than sessions of these projects and sessions that `coppice push` names. The hub gets the name of a project, as `coppice projects` " +
    "shows it when it is added, and not its folder. The URL has no password: it comes from PGPASSWORD or .pgpass.\n" +
    "With --json: {url, projects, team}.",
  argument: ["add or remove; without it, the hub is shown", "with add: the database of the hub"],
  options: [
    repeatableOption("project <name>", "a project whose sessions may go there"),
    new Option("--team <name>", "the team of new projects, if you are in several"),
  ],
  examples: ["", "add postgres://ada@hub.example/agents --project web", "remove"],

  async run({ args: [action, url], options: { project: projects = [], team = null }, loadStores }) {
    const stores = await loadStores();
    const { addRemote, namesOnHub, remoteOf, removeRemote } = await import("../../hub/remote.ts");
    if (action === undefined) {
      const store = stores.openToRead();
      return shown(remoteOf(store), namesOnHub(store));
    }
    if (action === "add" && url !== undefined) {
      const store = stores.openToWrite();
      const meant = projects.map((typed) => projectMeant(store, typed));
      return shown(addRemote(store, { url, projects: meant, team }), namesOnHub(store));
    }
    if (action === "remove") {
      removeRemote(stores.openToWrite({ mustExist: true }));
      return { value: null, lines: NONE };
    }
    const hint = "coppice remote add <url> --project <name>, or coppice remote remove";
    throw new Failure("USAGE_INVALID", `\`remote\` has no action "${action}" with these words.`, { hint });
  },
};

const NONE = ["This store has no hub."];

function shown(
  remote: { url: string; projects: string[]; team: string | null } | undefined,
  names: ReadonlyMap<string, string>,
) {
  if (remote === undefined) return { value: null, lines: NONE };
  const lines = [`hub\t${oneLine(remote.url)}`];
  for (const project of remote.projects) {
    const name = names.get(project);
    lines.push(`project\t${oneLine(name ?? project)}${name === undefined ? "" : `\t${oneLine(project)}`}`);
  }
  if (remote.team !== null) lines.push(`team\t${oneLine(remote.team)}`);
  return { value: remote, lines };
}
