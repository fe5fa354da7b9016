import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agentCommand } from "../../../src/cli/agent-command.ts";
import { COMMAND_GROUPS } from "../../../src/cli/commands.ts";
import { AgreedLocations } from "../../../src/cli/stores/agreed-locations.ts";
import { openStore } from "../../../src/index.ts";
import { runOnPipes } from "../../support/every-command.ts";
import { inDatabase } from "../../support/rows.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { temporaryFolder, temporaryPath } from "../../support/temporary-store.ts";

/** A session in which a question is answered after two calls, and another question follows. */
function harbor(): string {
  const path = temporaryPath();
  const store = openStore(path);
  const session = store.session("harbor");
  session.append(user("<task>Which lens</task> did we choose?"));
  session.append(calls(["c1"]));
  session.append(results(["c1"], "lens list"));
  session.append(assistant("The Fresnel ```lens```."));
  session.append(user("Order it."));
  store.close();
  return path;
}

async function run(path: string, ...args: string[]): Promise<string> {
  const [exitCode, stdout, stderr] = await runOnPipes(["--db", path, ...args]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  return stdout;
}

const idsIn = (shown: string): number[] => Array.from(shown.matchAll(/ message:(\d+) /g), ([, id]) => Number(id));

test("show prints the newest messages, and those in which something was said", async () => {
  const path = harbor();
  expect(idsIn(await run(path, "show", "harbor"))).toEqual([1, 2, 3, 4, 5]);
  expect(idsIn(await run(path, "show", "harbor", "--tail", "2"))).toEqual([4, 5]);
  expect(idsIn(await run(path, "show", "harbor", "--said"))).toEqual([1, 4, 5]);
  expect(idsIn(await run(path, "show", "harbor", "--said", "--tail", "2"))).toEqual([4, 5]);
  const page = await run(path, "show", "harbor", "--said", "--limit", "2");
  expect(idsIn(page)).toEqual([1, 4]);
  expect(page).toMatch(/… 1 more; continue with --offset 4\n$/);
  expect(idsIn(await run(path, "show", "harbor", "--said", "--offset", "4"))).toEqual([5]);
});

test("a session without a title is named by its first words, and commands have other names", async () => {
  const path = harbor();
  expect(await run(path, "show", "harbor")).toMatch(/^Which lens did we choose\?\n/);
  expect(await run(path, "ls")).toContain("\tWhich lens did we choose?\t");
  expect(await run(path, "search", "fresnel")).toBe(await run(path, "recall", "fresnel"));
  expect(await run(path, "recall", "lens choose")).toMatch(
    /did we choose\? {2}message:1\n {2}The Fresnel lens\. {2}message:4\n/,
  );
  expect(await run(path, "--help")).not.toContain("search");
});

test("an export as Markdown has everything, and no text ends a block of code", async () => {
  const path = harbor();
  const lines = (await run(path, "export", "harbor", "--format", "markdown")).split("\n");
  expect(lines[0]).toBe("# Which lens did we choose?");
  expect(lines.filter((line) => line.startsWith("## ")).map((line) => line.split(" ")[1])).toEqual([
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
  expect(lines).toEqual(expect.arrayContaining(["```json", "lens list", "The Fresnel ```lens```.", "Order it."]));
});

test("an export of a damaged store as Markdown has the rest", async () => {
  const path = harbor();
  inDatabase(path, (database) =>
    database.exec("UPDATE messages SET parts = replace(parts, 'lens', 'hens') WHERE id = 4"),
  );
  const [exitCode, stdout, stderr] = await runOnPipes(["--db", path, "export", "--format", "markdown"]);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^# Which lens did we choose\?\n[\s\S]*lens list[\s\S]*Order it\.\n$/);
  expect(stderr).toContain("harbor #3");
});

test.each(["bash", "zsh", "fish"])("the completion for %s has all commands and their options", async (shell) => {
  const script = await run(temporaryPath(), "completion", shell);
  for (const { commands } of COMMAND_GROUPS) {
    for (const { usage, isHidden, subcommands = [] } of commands) {
      if (isHidden) expect(script).not.toMatch(new RegExp(`\\b${usage}\\b`));
      else
        for (const one of [usage, ...subcommands.map((nested) => nested.usage)])
          expect(script).toContain(one.split(" ")[0]);
    }
  }
  expect(script).toContain(shell === "fish" ? "-l since" : "--since");
});

/** Shells that complete words in a script: how each is asked what may stand for the last one. */
const COMPLETING: readonly [shell: string, ask: (script: string, words: readonly string[]) => string][] = [
  [
    "bash",
    (script, words) =>
      `${script}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _coppice; printf '%s\\n' "$` +
      `{COMPREPLY[@]}"`,
  ],
  ["fish", (script, words) => `${script}\ncomplete -C '${words.join(" ")}' | string replace -r '\\t.*' ''`],
];

describe.each(COMPLETING)("the completion for %s", (shell, ask) => {
  const isHere = spawnSync(shell, ["--version"]).status === 0;

  test.runIf(isHere)(
    "offers subcommands and the flags of the one that was typed, whatever stands between",
    async () => {
      const script = await run(temporaryPath(), "completion", shell);
      const offered = (...words: string[]): string[] => {
        const asked = ask(script, ["coppice", ...words]);
        return spawnSync(shell, ["-c", asked], { encoding: "utf8" })
          .stdout.split("\n")
          .filter((word) => word !== "");
      };
      const hub = COMMAND_GROUPS.flatMap(({ commands }) => [...commands]).find(({ usage }) => usage.startsWith("hub"));
      const names = hub!.subcommands!.map(({ usage }) => usage.split(" ")[0]!);
      expect(names).toEqual(expect.arrayContaining(["push", "pull"]));
      expect(offered("hub", "").sort()).toEqual([...names].sort());
      expect(offered("hub", "--json", "pu").sort()).toEqual(["pull", "push"]);
      expect(offered("hub", "pull", "--ta")).toEqual(["--take"]);
      expect(offered("hub", "push", "--ta")).toEqual([]);
      expect(offered("recall", "hub", "--sin")).toEqual(["--since"]);
      expect(offered("wat")).toEqual(["watch"]);
      expect(offered("--db", "hub", "wat")).toEqual(["watch"]);
    },
  );
});

test("an imported session is continued in its agent, unless its id could be more than an id", () => {
  const session = { source: "claude-code", externalId: "4fec-7ea0", parentSessionId: null };
  const commandOf = (changes: object) => agentCommand({ ...session, ...changes } as Parameters<typeof agentCommand>[0]);
  expect(commandOf({})).toBe("claude --resume 4fec-7ea0");
  expect(commandOf({ source: "codex" })).toBe("codex resume 4fec-7ea0");
  expect(commandOf({ source: "openclaw" })).toBe('openclaw agent --session-id 4fec-7ea0 --message "Go on."');
  const others = [
    { source: null },
    { source: "antigravity" },
    { source: "constructor" },
    { externalId: null },
    { externalId: "a; rm b" },
    { externalId: "--dangerously-skip-permissions" },
    { parentSessionId: "p" },
  ];
  for (const other of others) expect(commandOf(other)).toBeUndefined();
});

test("an agreement covers the locations that were agreed to, and a damaged one none", () => {
  const path = join(temporaryFolder(), "new", "agent.db");
  const agreed = new AgreedLocations(path);
  expect(agreed.covers(["/a"])).toBe(false);
  agreed.remember(["/a"]);
  agreed.remember(["/b"]);
  expect([agreed.covers(["/a", "/b"]), agreed.covers(["/a", "/c"])]).toEqual([true, false]);
  expect(JSON.parse(readFileSync(`${path}.agreed.json`, "utf8"))).toEqual(["/a", "/b"]);
  writeFileSync(`${path}.agreed.json`, "{");
  expect(agreed.covers(["/a"])).toBe(false);
});
