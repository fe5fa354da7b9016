import { InvalidArgumentError, Option } from "commander";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { storedRemote } from "../hub-words.ts";
import { oneLine } from "../text.ts";

interface HubFlags {
  url?: string;
  team?: string;
  read?: true;
  days?: number;
}

export const hubCommand: Command<HubFlags> = {
  usage: "hub <action> [name]",
  summary: "Set up a team's hub in a Postgres database: for its administrator.",
  details:
    "`init` makes the tables and `upgrade` brings them to this version. `grant <role> --team T` lets a role of the database read and " +
    "write the projects of a team. `retain <project> --days N` says how long the hub keeps sessions that nobody pushes; local copies stay.\n" +
    "With --json: {version, versionBefore} for init and upgrade, else {ok}.",
  argument: "init, upgrade, grant or retain; and the role or the project",
  options: [
    new Option("--url <url>", "the database; by default the store's hub"),
    new Option("--team <name>", "the team"),
    new Option("--read", "with grant: the right to read only"),
    new Option("--days <number>", "with retain: the days since the last push").argParser(days),
  ],
  examples: [
    "init --url postgres://admin@hub.example/agents",
    "upgrade",
    "grant ada --team web",
    "retain web --days 90",
  ],

  async run({ args: [action, name], options: { url, team, read = false, days }, loadStores }) {
    const { HubConnection } = await import("../../hub/connection.ts");
    const { grantTeam, initHub, retainProject, upgradeHub } = await import("../../hub/administration.ts");
    const hub = await HubConnection.to(url ?? (await storedRemote((await loadStores()).openToRead())).url);
    try {
      if (action === "init" || action === "upgrade") {
        const value = await (action === "init" ? initHub(hub) : upgradeHub(hub));
        const was = value.versionBefore === null ? "made" : `of version ${value.versionBefore} before`;
        return { value, lines: [`The tables of the hub ${oneLine(hub.name)} have version ${value.version} (${was}).`] };
      }
      if (action === "grant" && name !== undefined && team !== undefined) {
        await grantTeam(hub, name, team, read ? "read" : "write");
        return {
          value: { ok: true },
          lines: [`${oneLine(name)} may ${read ? "read" : "read and write"} what is of ${team}.`],
        };
      }
      if (action === "retain" && name !== undefined && days !== undefined) {
        await retainProject(hub, name, days);
        return {
          value: { ok: true },
          lines: [`Sessions of ${oneLine(name)} stay ${days} days after their last push.`],
        };
      }
    } finally {
      await hub.close();
    }
    throw new Failure("USAGE_INVALID", "These words are no action of `hub`.", { hint: "See coppice help hub." });
  },
};

function days(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0 && number < 100_000) return number;
  throw new InvalidArgumentError("Expected a whole number of days.");
}
