import { Option } from "commander";
import { StoreError } from "../../core/errors.ts";
import type { Remote } from "../../hub/remote.ts";
import { projectMeant } from "../../session/aids/project-meant.ts";
import { sessionIds } from "../../session/aids/session-ids.ts";
import type { Command } from "../command.ts";
import { repeatableOption } from "../options.ts";
import type { Terminal } from "../screen/terminal.ts";
import { oneLine } from "../screen/text.ts";

interface RemoteFlags {
  project?: string[];
  team?: string;
}

export const addCommand: Command<RemoteFlags> = {
  usage: "add <url>",
  summary: "Name the hub of this store, and projects whose sessions may go there.",
  details:
    "Nothing else is ever pushed than sessions of these projects and sessions that `coppice hub push` names. The hub gets the name of " +
    "a project, as `coppice projects` shows it when it is added, and not its folder. The URL has no password: it comes from " +
    "PGPASSWORD or .pgpass. The hub is tried once, and is named also if it does not answer, which takes up to ten seconds.\n" +
    "With --json: {url, projects, team, problem}; `problem` is null if a push would work.",
  argument: "the database of the hub",
  options: [
    repeatableOption("project <name>", "a project whose sessions may go there"),
    new Option("--team <name>", "your team, if you are in several"),
  ],
  examples: ["postgres://ada@hub.example/agents --project web"],

  async run({ args: [url], options: { project: projects = [], team = null }, loadStores, terminal, json }) {
    const { addRemote, namesOnHub } = await import("../../hub/remote.ts");
    const store = (await loadStores()).openToWrite();
    const meant = projects.map((typed) => projectMeant(store, typed));
    for (const project of meant.filter((one) => sessionIds(store, { project: one }).length === 0))
      terminal.hint(
        `This store has no session of ${oneLine(project)} to push: \`coppice projects\` lists its projects, and \`coppice hub pull\` the sessions of the hub.`,
      );
    const remote = addRemote(store, { url: url!, projects: meant, team });
    const shown = remoteShown(remote, namesOnHub(store));
    const problem = await problemOf(remote, terminal);
    if (problem === null) terminal.hint("The hub answers. Next: coppice hub push --dry-run");
    else if (!json) terminal.note(oneLine(`The hub is named, but a push would fail now. ${problem}`));
    return { ...shown, value: { ...remote, problem } };
  },
};

/** Says what a push would meet. The hub stays named, because a network comes back and an administrator grants rights. */
async function problemOf({ url, team }: Remote, terminal: Terminal): Promise<string | null> {
  const { HubConnection } = await import("../../hub/connection.ts");
  terminal.progress("Trying the hub …");
  const hub = await HubConnection.to(url, team ?? undefined);
  try {
    await hub.try();
    return null;
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    // Its hint is for a push.
    return error.code === "HUB_UNREACHABLE" ? error.message : [error.message, error.hint ?? []].flat().join(" ");
  } finally {
    await hub.close();
    terminal.endProgress();
  }
}

export const removeCommand: Command = {
  usage: "remove",
  summary: "Forget the hub of this store. What was pushed stays there.",
  details: "With --json: null.",
  examples: [""],

  async run({ loadStores }) {
    const { removeRemote } = await import("../../hub/remote.ts");
    removeRemote((await loadStores()).openToWrite({ mustExist: true }));
    return remoteShown(undefined, new Map());
  },
};

const NONE = ["This store has no hub."];

export function remoteShown(
  remote: Remote | undefined,
  names: ReadonlyMap<string, string>,
): { value: Remote | null; lines: string[] } {
  if (remote === undefined) return { value: null, lines: NONE };
  const lines = [`hub\t${oneLine(remote.url)}`];
  for (const project of remote.projects) {
    const name = names.get(project);
    lines.push(`project\t${oneLine(name ?? project)}${name === undefined ? "" : `\t${oneLine(project)}`}`);
  }
  if (remote.team !== null) lines.push(`team\t${oneLine(remote.team)}`);
  return { value: remote, lines };
}
