import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CliFolder } from "../support/cli.ts";

const CONFIG = 'model = "x" # mine\n';

/** A home in which Codex and Gemini CLI are used. */
function home(): CliFolder {
  const folder = new CliFolder({ isHere: true });
  for (const name of [".codex", ".gemini"]) mkdirSync(join(folder.path, name));
  writeFileSync(join(folder.path, ".codex", "config.toml"), CONFIG);
  return folder;
}

const configOf = ({ path }: CliFolder): string => readFileSync(join(path, ".codex", "config.toml"), "utf8");

describe("coppice setup", () => {
  test("writes nothing without consent", async () => {
    const folder = home();
    const refusal = await folder.refusal(2, "setup");
    expect(refusal).toMatch(
      /^Codex\n {2}change .+config\.toml \(\+17 lines\)\n {2}create .+SKILL\.md \(\+17 lines\)\nGemini CLI\n {2}create /,
    );
    expect(refusal).not.toContain("[mcp_servers.coppice]");
    expect(refusal).toContain("Add --yes to agree");
    const shown = await folder.run(["setup", "--dry-run"]);
    expect([shown.exitCode, shown.stdout]).toEqual([0, "5 files would change.\n"]);
    expect(shown.stderr).toContain("+ [mcp_servers.coppice]");
    expect(configOf(folder)).toBe(CONFIG);
    expect(readdirSync(folder.path).sort()).toEqual([".codex", ".gemini"]);
  });

  test("connects the agents that are used, says what is left to do, and undoes it", async () => {
    const folder = home();
    const { changes, next } = await folder.json("setup", "--yes");
    expect(changes.map(({ agent, change }: Record<string, string>) => `${agent} ${change}`)).toEqual([
      "codex change",
      "codex create",
      "gemini-cli create",
      "gemini-cli create",
      "gemini-cli create",
    ]);
    expect(next).toEqual([expect.stringContaining("/hooks")]);
    // The store is not the default one.
    expect(configOf(folder)).toContain(`"--db","${folder.db}"`);
    expect(await folder.json("setup", "--yes")).toEqual({ changes: [], next });
    expect((await folder.run(["setup"])).stdout).toBe("Nothing to do: Codex, Gemini CLI are connected.\n");
    await folder.json("setup", "--undo", "--yes", "codex");
    expect(configOf(folder)).toBe(CONFIG);
    expect(existsSync(join(folder.path, ".gemini", "extensions"))).toBe(true);
    await folder.json("setup", "--undo", "--yes");
    expect(readdirSync(join(folder.path, ".gemini"))).toEqual([]);
    expect((await folder.run(["setup", "--undo"])).stdout).toContain("nothing that could be taken out");
  });

  test("names the agents that there are", async () => {
    const named = "claude-code, codex, gemini-cli, opencode, pi, vscode";
    expect(await home().refusal(2, "setup", "claude")).toContain(named);
  });

  test("is checked by doctor before there is a store", async () => {
    const folder = home();
    await folder.json("setup", "gemini-cli", "--yes");
    const { exitCode, stdout } = await folder.run(["doctor"]);
    expect([exitCode, existsSync(folder.db)]).toEqual([1, false]);
    expect(stdout.split("\n")).toEqual([
      `✗ There is no file ${folder.db}.`,
      expect.stringContaining("→ `coppice watch --once` creates a store"),
      "! Codex is not connected. It has no transcripts.",
      "  → coppice setup codex",
      "✓ Gemini CLI is connected, and its hooks have not fired yet. It has no transcripts.",
      "",
    ]);
  });

  test.each([
    ["{}", 30],
    ["{ not JSON", 30],
    ['{"cleanupPeriodDays":1}', 1],
    ['{"cleanupPeriodDays":99999}', undefined],
  ])("doctor says when an agent deletes its transcripts: %s", async (settings, days) => {
    const folder = new CliFolder({ isHere: true });
    const agent = join(folder.path, ".claude");
    mkdirSync(join(agent, "projects", "p"), { recursive: true });
    writeFileSync(join(agent, "settings.json"), settings);
    const deletions = async () => {
      const { stdout } = await folder.run(["doctor", "--json"]);
      const { findings } = JSON.parse(stdout).value ?? JSON.parse(stdout);
      return findings.filter(({ check }: { check: string }) => check === "transcripts");
    };
    // It has none yet.
    expect(await deletions()).toEqual([]);
    writeFileSync(join(agent, "projects", "p", "s.jsonl"), "");
    const text = `Claude Code deletes its transcripts after ${days} day${days === 1 ? "" : "s"}.`;
    const fix = expect.stringContaining(`"cleanupPeriodDays": 3650 in ${join(agent, "settings.json")}`);
    const advice = { check: "transcripts", level: "advice", text, fix };
    expect(await deletions()).toEqual(days === undefined ? [] : [advice]);
  });

  test("is checked by doctor", async () => {
    const folder = home();
    await folder.json("import", folder.jsonl("a.jsonl", [{ session: "a", role: "user", content: "hello" }]));
    const agentLines = async (): Promise<string[]> => {
      const { findings } = await folder.json("doctor");
      const ours = findings.filter(({ check }: { check: string }) => check === "agents");
      return ours.map(({ level, text, fix }: Record<string, string>) => `${level}: ${text} ${fix}`);
    };
    expect(await agentLines()).toEqual([
      "advice: Codex is not connected. It has no transcripts. coppice setup codex",
      "advice: Gemini CLI is not connected. It has no transcripts. coppice setup gemini-cli",
    ]);
    await folder.json("setup", "--yes");
    expect(await agentLines()).toEqual([
      expect.stringMatching(/^advice: Codex is connected, but its hooks are not trusted, so it skips them\. .*\/hooks/),
      "ok: Gemini CLI is connected, and its hooks have not fired yet. It has no transcripts. null",
    ]);
    // What Codex writes when a person trusts the hooks.
    const { trustOf } = await import("../../src/setup/agents/codex.ts");
    const lines = [...configOf(folder).matchAll(/hooks\.(\w+)\]\]\nhooks = .*?command = (".*"), timeout/g)];
    const trusts = lines.map(([, moment, line]) => `trusted_hash = "${trustOf(moment!, JSON.parse(line!))}"`);
    expect(trusts).toHaveLength(4);
    writeFileSync(
      join(folder.path, ".codex", "config.toml"),
      `${configOf(folder)}\n[hooks.state.x]\n${trusts.join("\n")}\n`,
    );
    expect((await agentLines())[0]).toBe(
      "ok: Codex is connected, and its hooks have not fired yet. It has no transcripts. null",
    );
    writeFileSync(join(folder.path, ".local", "share", "coppice", "setup.json"), "");
    expect(await agentLines()).toEqual([expect.stringMatching(/^advice: Cannot use .*setup\.json: .* Move it away/)]);
  });
});
