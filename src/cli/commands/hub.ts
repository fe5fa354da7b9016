import { Option } from "commander";
import type * as Administration from "../../hub/administration.ts";
import type { HubConnection } from "../../hub/connection.ts";
import type { Call, Command } from "../command.ts";
import { storedRemote } from "../hub-words.ts";
import { oneLine } from "../screen/text.ts";
import { followCommand, syncCommand, unfollowCommand } from "./follow.ts";
import { pullCommand } from "./pull.ts";
import { pushCommand } from "./push.ts";
import { addCommand, remoteShown, removeCommand } from "./remote.ts";

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
