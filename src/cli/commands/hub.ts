import { setTimeout as wait } from "node:timers/promises";
import { InvalidArgumentError, Option } from "commander";
import type { KeepReport } from "../../hub/hub.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { storedRemote, withHub } from "../hub-words.ts";
import { interruptible } from "../interruption.ts";
import { formatCount, oneLine } from "../text.ts";

interface HubFlags {
  url?: string;
  team?: string;
  read?: true;
  days?: number;
  every?: number;
}

const WITHOUT_PGVECTOR = [
  "Searches go by words, because this database has no pgvector 0.7 or later. To compare messages by meaning, too, install it on the",
  "server (Debian's package: postgresql-17-pgvector), run `CREATE EXTENSION vector` in this database as its administrator, and then",
  "`coppice hub upgrade`.",
];

const ACTIONS = ["init", "upgrade", "grant", "retain", "keep"];

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;

export const hubCommand: Command<HubFlags> = {
  usage: "hub <action> [name]",
  summary: "Set up a team's hub in a Postgres database: for its administrator.",
  details:
    "`init` makes the tables and `upgrade` brings them to this version. `grant <role> --team T` lets a role of the database read and " +
    "write the projects of a team. `retain <project> --days N` sets how long the hub keeps sessions of which nothing new is pushed. `keep` deletes what is older, " +
    "merges small parts of the word index, takes forgotten messages out of it, and makes damaged parts again; run it every few minutes.\n" +
    "With --json: {version, versionBefore, hasPgvector} for init and upgrade, {expiredCount, mergedCount, madeCount, damagedCount} for keep, else {ok}.",
  argument: ["init, upgrade, grant, retain or keep", "with grant the role, with retain the project"],
  options: [
    new Option("--url <url>", "the database, without a password; by default the store's hub"),
    new Option("--team <name>", "the team; with retain, if several have the project"),
    new Option("--read", "with grant: the right to read only"),
    new Option("--days <number>", "with retain: the days since something was pushed last").argParser(days),
    new Option("--every <time>", "with keep: again after this time, such as 5m, until it is interrupted").argParser(
      pause,
    ),
  ],
  examples: [
    "init --url postgres://admin@hub.example/agents",
    "upgrade",
    "grant ada --team web",
    "retain web --days 90",
    "keep --every 5m",
  ],

  async run({ args: [action, name], options: { url, team, read = false, days, every }, loadStores }) {
    const { HubConnection } = await import("../../hub/connection.ts");
    const { grantTeam, initHub, retainProject, upgradeHub } = await import("../../hub/administration.ts");
    if (!ACTIONS.includes(action ?? "")) {
      const hint = `Its actions are ${ACTIONS.join(", ")}. \`coppice push\` and \`coppice pull\` move sessions.`;
      throw new Failure("USAGE_INVALID", `\`hub\` has no action "${action}".`, { hint });
    }
    const address = url ?? (await storedRemote((await loadStores()).openToRead())).url;
    if (action === "keep") {
      const value = await interruptible("What was merged stays.", (signal) => keep(address, every, signal));
      const lines = [`Merged ${formatCount(value.mergedCount, "segment")} into ${value.madeCount}.`];
      if (value.damagedCount > 0) lines.push(`Made ${formatCount(value.damagedCount, "damaged segment")} again.`);
      if (value.expiredCount > 0)
        lines.unshift(`Deleted ${formatCount(value.expiredCount, "session")}. The stores keep them.`);
      return { value, lines };
    }
    const hub = await HubConnection.to(address);
    try {
      if (action === "init" || action === "upgrade") {
        const value = await (action === "init" ? initHub(hub) : upgradeHub(hub));
        const was = value.versionBefore === null ? "made" : `of version ${value.versionBefore} before`;
        const made = `The tables of the hub ${oneLine(hub.name)} have version ${value.version} (${was}).`;
        return { value, lines: value.hasPgvector ? [made] : [made, ...WITHOUT_PGVECTOR] };
      }
      if (action === "grant" && name !== undefined && team !== undefined) {
        await grantTeam(hub, name, team, read ? "read" : "write");
        return {
          value: { ok: true },
          lines: [`${oneLine(name)} may ${read ? "read" : "read and write"} what is of ${team}.`],
        };
      }
      if (action === "retain" && name !== undefined && days !== undefined) {
        await retainProject(hub, name, days, team);
        return {
          value: { ok: true },
          lines: [`Sessions of ${oneLine(name)} stay on the hub for ${days} days after something was pushed last.`],
        };
      }
    } finally {
      await hub.close();
    }
    const needed = action === "grant" ? "a role and --team" : "a project and --days";
    throw new Failure("USAGE_INVALID", `\`hub ${action}\` needs ${needed}.`, { hint: "See coppice help hub." });
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
