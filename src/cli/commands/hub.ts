import { setTimeout as wait } from "node:timers/promises";
import { InvalidArgumentError, Option } from "commander";
import type * as Administration from "../../hub/administration.ts";
import type { HubConnection } from "../../hub/connection.ts";
import type { KeepReport } from "../../hub/hub.ts";
import type { Call, Command, Output } from "../command.ts";
import { storedRemote, withHub } from "../hub-words.ts";
import { interruptible } from "../interruption.ts";
import { formatCount, oneLine } from "../screen/text.ts";
import { pullCommand } from "./pull.ts";
import { pushCommand } from "./push.ts";
import { addCommand, remoteShown, removeCommand } from "./remote.ts";

const WITHOUT_PGVECTOR = [
  "Searches go by words, because this database has no pgvector 0.7 or later. To compare messages by meaning, too, install it on the",
  "server (Debian's package: postgresql-17-pgvector), run `CREATE EXTENSION vector` in this database as its administrator, and then",
  "`coppice hub upgrade`.",
];

const WITH_TEMP = [
  "Everybody may make temporary objects in this database. The hub needs none, so its owner should run",
  "`REVOKE TEMPORARY ON DATABASE … FROM PUBLIC`, unless other programs in it need them.",
];

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;

const URL_OPTION = new Option("--url <url>", "the database, without a password; by default the store's hub");

async function urlOf({ options: { url }, loadStores }: Call<{ url?: string }>): Promise<string> {
  return url ?? (await storedRemote((await loadStores()).openToRead())).url;
}

/** Connects as the administrator, and closes the connection however the work ends. */
async function administering<T>(
  call: Call<{ url?: string }>,
  work: (hub: HubConnection, to: typeof Administration) => Promise<T>,
): Promise<T> {
  const { HubConnection } = await import("../../hub/connection.ts");
  const administration = await import("../../hub/administration.ts");
  const hub = await HubConnection.to(await urlOf(call));
  try {
    return await work(hub, administration);
  } finally {
    await hub.close();
  }
}

async function tablesMade(call: Call<{ url?: string }>, action: "initHub" | "upgradeHub"): Promise<Output> {
  return administering(call, async (hub, to) => {
    const value = await to[action](hub);
    const { version, versionBefore: before } = value;
    const tables = `the tables of the hub ${oneLine(hub.name)}`;
    let made = `Made ${tables}, in version ${version}.`;
    if (before === version) made = `Renewed the functions: ${tables} have version ${version} already.`;
    else if (before !== null) made = `Upgraded ${tables} from version ${before} to ${version}.`;
    const temp = value.hasTemp
      ? WITH_TEMP
      : ["Only its owner may make temporary objects in the database: the hub needs none."];
    return { value, lines: [made, ...temp, ...(value.hasPgvector ? [] : WITHOUT_PGVECTOR)] };
  });
}

const initCommand: Command<{ url?: string }> = {
  usage: "init",
  summary: "Make a hub's tables in a Postgres database, as its administrator.",
  details: "With --json: {version, versionBefore, hasPgvector, hasTemp}.",
  options: [URL_OPTION],
  examples: ["--url postgres://admin@hub.example/agents"],
  run: (call) => tablesMade(call, "initHub"),
};

const upgradeCommand: Command<{ url?: string }> = {
  usage: "upgrade",
  summary: "Bring a hub's tables to this version, as its administrator.",
  details: "With --json: {version, versionBefore, hasPgvector, hasTemp}.",
  options: [URL_OPTION],
  examples: ["", "--url postgres://admin@hub.example/agents"],
  run: (call) => tablesMade(call, "upgradeHub"),
};

const grantCommand: Command<{ url?: string; team: string; read?: true }> = {
  usage: "grant <role>",
  summary: "Let a role of the database read and write the projects of a team.",
  details: "With --json: {ok}.",
  argument: "a role that the database has",
  options: [
    URL_OPTION,
    new Option("--team <name>", "the team").makeOptionMandatory(),
    new Option("--read", "the right to read only"),
  ],
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

const retainCommand: Command<{ url?: string; team?: string; days: number }> = {
  usage: "retain <project>",
  summary: "Set how long a hub keeps sessions of which nothing new is pushed.",
  details: "`coppice hub keep` deletes what is older. The stores keep it. With --json: {ok}.",
  argument: "the name that the project has on the hub",
  options: [
    URL_OPTION,
    new Option("--days <number>", "the days since something was pushed last").argParser(days).makeOptionMandatory(),
    new Option("--team <name>", "its team, if several have the project"),
  ],
  examples: ["web --days 90"],

  run(call) {
    const { args, options } = call;
    return administering(call, async (hub, { retainProject }) => {
      await retainProject(hub, args[0]!, options.days, options.team);
      const kept = `stay on the hub for ${options.days} days after something was pushed last`;
      return { value: { ok: true }, lines: [`Sessions of ${oneLine(args[0]!)} ${kept}.`] };
    });
  },
};

const keepCommand: Command<{ url?: string; every?: number }> = {
  usage: "keep",
  summary: "Delete what a hub keeps no longer, and tidy its word index; run it every few minutes.",
  details:
    "It merges small parts of the word index, takes forgotten messages out of it, and makes damaged parts again.\n" +
    "With --json: {expiredCount, mergedCount, madeCount, damagedCount}.",
  options: [
    URL_OPTION,
    new Option("--every <time>", "again after this time, such as 5m, until it is interrupted").argParser(pause),
  ],
  examples: ["", "--every 5m"],

  async run(call) {
    const url = await urlOf(call);
    const value = await interruptible("What was merged stays.", (signal) => keep(url, call.options.every, signal));
    const lines = [`Merged ${formatCount(value.mergedCount, "segment")} into ${value.madeCount}.`];
    if (value.damagedCount > 0) lines.push(`Made ${formatCount(value.damagedCount, "damaged segment")} again.`);
    if (value.expiredCount > 0)
      lines.unshift(`Deleted ${formatCount(value.expiredCount, "session")}. The stores keep them.`);
    return { value, lines };
  },
};

export const hubCommand: Command = {
  usage: "hub",
  summary: "Share sessions with a team, through a Postgres database; or set one up.",
  details:
    "Without a command, it shows the hub of this store, and sessions that began here and that the hub has forgotten: see `coppice hub push`. " +
    "With --json: {url, projects, team, forgotten}.",
  subcommands: [
    ...[addCommand, removeCommand, pushCommand, pullCommand],
    ...[initCommand, upgradeCommand, grantCommand, retainCommand, keepCommand],
  ],
  examples: [""],

  async run({ loadStores }) {
    const { forgottenOnHub, namesOnHub, remoteOf } = await import("../../hub/remote.ts");
    const store = (await loadStores()).openToRead();
    const { value, lines } = remoteShown(remoteOf(store), namesOnHub(store));
    const forgotten = forgottenOnHub(store);
    const shown = forgotten.map((id) => `forgotten there, kept here\t${oneLine(id)}`);
    return { value: value && { ...value, forgotten }, lines: [...lines, ...shown] };
  },
};

async function keep(url: string, everyMs: number | undefined, signal: AbortSignal): Promise<KeepReport> {
  return withHub(url, async (hub) => {
    for (;;) {
      const report = await hub.keep({ signal });
      if (everyMs === undefined) return report;
      await wait(everyMs, undefined, { signal });
    }
  });
}

function pause(text: string): number {
  const [, number, unit] = /^([1-9]\d{0,5})([smh])$/.exec(text) ?? [];
  if (number !== undefined) return Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS];
  throw new InvalidArgumentError("Expected a time such as 30s, 5m or 1h.");
}

function days(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0 && number < 100_000) return number;
  throw new InvalidArgumentError("Expected a whole number of days.");
}
