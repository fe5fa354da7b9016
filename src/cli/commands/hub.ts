import { Option } from "commander";
import { StoreError } from "../../core/errors.ts";
import type * as Administration from "../../hub/administration.ts";
import type { HubConnection } from "../../hub/connection.ts";
import type { Remote } from "../../hub/remote.ts";
import { projectMeant } from "../../session/aids/project-meant.ts";
import { sessionIds } from "../../session/aids/session-ids.ts";
import type { Call, Command } from "../command.ts";
import { storedRemote } from "../hub-words.ts";
import { repeatableOption } from "../options.ts";
import type { Terminal } from "../screen/terminal.ts";
import { oneLine } from "../screen/text.ts";
import { followCommand, syncCommand, unfollowCommand } from "./follow.ts";
import { pullCommand } from "./pull.ts";
import { pushCommand } from "./push.ts";

interface RemoteFlags {
  project?: string[];
  team?: string;
}

const addCommand: Command<RemoteFlags> = {
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

const removeCommand: Command = {
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

function remoteShown(
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

interface AdminFlags {
  url?: string;
  team: string;
}

const URL_OPTION = new Option("--url <url>", "the database, without a password; by default the store's hub");
const TEAM_OPTION = new Option("--team <name>", "the team").makeOptionMandatory();

/** Connects as the administrator, and closes the connection however the work ends. */
async function administering<T>(
  { options: { url, team }, loadStores }: Call<AdminFlags>,
  work: (hub: HubConnection, to: typeof Administration) => Promise<T>,
): Promise<T> {
  const { HubConnection } = await import("../../hub/connection.ts");
  const administration = await import("../../hub/administration.ts");
  const address = url ?? (await storedRemote((await loadStores()).openToRead())).url;
  const hub = await HubConnection.to(address, team);
  try {
    return await work(hub, administration);
  } finally {
    await hub.close();
  }
}

const initCommand: Command<AdminFlags & { words?: true }> = {
  usage: "init",
  summary: "Make the tables of a team in a Postgres database, as its administrator.",
  details:
    "Each team has a schema of its own. With --words it also gets a word index, by which `coppice recall --everywhere` searches what " +
    "nobody here follows: it takes as much room again. With --json: {tables, words}: what was made.",
  options: [URL_OPTION, TEAM_OPTION, new Option("--words", "make the word index, too")],
  examples: ["--team web --url postgres://admin@hub.example/agents", "--team web --words"],

  run(call) {
    const { team, words = false } = call.options;
    return administering(call, async (hub, { initHub }) => {
      const value = await initHub(hub, team, words);
      const where = `of ${oneLine(team)} on the hub ${oneLine(hub.name)}`;
      const lines = [value.tables ? `Made the tables ${where}.` : `The tables ${where} are there already.`];
      if (value.words) lines.push("Made the word index.");
      return { value, lines };
    });
  },
};

const grantCommand: Command<AdminFlags & { read?: true }> = {
  usage: "grant <role>",
  summary: "Let a role of the database read and write the sessions of a team.",
  details: "With --json: {ok}.",
  argument: "a role that the database has",
  options: [URL_OPTION, TEAM_OPTION, new Option("--read", "the right to read only")],
  examples: ["ada --team web", "grace --team web --read"],

  run(call) {
    const { args, options } = call;
    const { team, read = false } = options;
    return administering(call, async (hub, { grantTeam }) => {
      await grantTeam(hub, args[0]!, team, read ? "read" : "write");
      const rights = read ? "read" : "read and write";
      return { value: { ok: true }, lines: [`${oneLine(args[0]!)} may ${rights} what is of ${team}.`] };
    });
  },
};

export const hubCommand: Command = {
  usage: "hub",
  summary: "Share sessions with a team, through a Postgres database; or set one up.",
  details:
    "Without a command, it shows the hub of this store, what it follows there, and sessions of this store that the hub has " +
    "forgotten: see `coppice hub push`. With --json: {url, projects, team, follows, forgotten}.",
  subcommands: [
    ...[addCommand, removeCommand, pushCommand, pullCommand, followCommand, unfollowCommand, syncCommand],
    ...[initCommand, grantCommand],
  ],
  examples: [""],

  async run({ loadStores }) {
    const { followedOf, forgottenOnHub, namesOnHub, remoteOf } = await import("../../hub/remote.ts");
    const store = (await loadStores()).openToRead();
    const { value, lines } = remoteShown(remoteOf(store), namesOnHub(store));
    const { projects, all } = followedOf(store);
    const follows = all === null ? projects.map(({ name }) => name) : "all";
    const forgotten = forgottenOnHub(store);
    const shown = [
      ...(follows === "all" ? ["follows\tevery project"] : follows.map((name) => `follows\t${oneLine(name)}`)),
      ...forgotten.map((id) => `forgotten there, kept here\t${oneLine(id)}`),
    ];
    return { value: value && { ...value, follows, forgotten }, lines: [...lines, ...(value === null ? [] : shown)] };
  },
};
