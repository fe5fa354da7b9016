import { chmodSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Machine } from "../../../src/core/data-folder.ts";
import { dataFolder } from "../../../src/core/data-folder.ts";
import { trustOf } from "../../../src/setup/agents/codex.ts";
import { WrittenFiles } from "../../../src/setup/changes.ts";
import type { OwnCommand } from "../../../src/setup/own-command.ts";
import type { Target } from "../../../src/setup/target.ts";
import { AGENTS } from "../../../src/setup/targets.ts";
import { watchService } from "../../../src/setup/watch-service.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { put } from "../importers/read.ts";

const COMMAND: OwnCommand = { program: ["coppice"], store: [] };
const TARGETS = [...AGENTS, watchService("linux")!, watchService("darwin")!];

/** What people have in the files that setup adds to. */
const OWN: Readonly<Record<string, string>> = {
  ".codex/config.toml":
    'model = "x" # mine\n\n[[hooks.SessionStart]]\nhooks = [{ type = "command", command = "mine" }]',
  ".config/Code/User/mcp.json":
    '{\n  // mine\n  "servers": {\n    "other": { "command": "x" }, // "coppice": {\n  },\n}\n',
  ".claude/settings.json": "{}",
  ".gemini/settings.json": "{ /* mine */ }",
  ".config/opencode/opencode.jsonc": "{}",
  ".pi/agent/models.json": "{}",
};

function machineWith(files: Readonly<Record<string, string | Uint8Array>> = {}): Machine {
  const home = temporaryFolder();
  for (const [path, text] of Object.entries(files)) put(join(home, path), text);
  return { env: {}, platform: "linux", home };
}

/** Every file, folder and link below a folder. */
function treeOf({ home }: Machine): string[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const content = entry.isFile() ? readFileSync(path, "latin1") : entry.isSymbolicLink() ? readlinkSync(path) : "";
      return `${path} ${statSync(path).mode} ${content}`;
    })
    .sort();
}

const setUp = (machine: Machine, target: Target, command = COMMAND) => run(machine, target, command);
const undo = (machine: Machine, target: Target) => run(machine, target, undefined);

/** Fails unless a machine is as it was before setup. The folder where Coppice keeps its store stays. */
function expectAsBefore(machine: Machine, before: readonly string[]): void {
  const isDataFolder = (entry: string) => / \d+ $/.test(entry) && /\.local(\/share(\/coppice)?)? /.test(entry);
  expect(treeOf(machine).filter((entry) => !isDataFolder(entry))).toEqual(before);
}

/** Each call is a run of its own. Returns how many files changed. */
function run(machine: Machine, target: Target, command: OwnCommand | undefined): number {
  const files = new WrittenFiles(dataFolder(machine));
  const edits = command === undefined ? [] : target.edits(machine, command);
  const changes = files.changesFor(target.name, edits);
  files.apply(changes);
  return changes.filter(({ before, after }) => before !== after).length;
}

const notUsable = (named = "") =>
  expect.objectContaining({ code: "FILE_NOT_USABLE", message: expect.stringContaining(named) });
const agent = (name: string): Target => AGENTS.find((one) => one.name === name)!;
const textOf = (machine: Machine, path: string): string => readFileSync(join(machine.home, path), "utf8");

describe.each(TARGETS.map((target, index) => [`${target.name} ${index}`, target] as const))("%s", (_, target) => {
  test.each([
    ["nothing", {}],
    ["files of the person", OWN],
  ])("writes once, and undoes it byte for byte, with %s", (_name, own) => {
    const machine = machineWith(own);
    const before = treeOf(machine);
    expect(setUp(machine, target)).toBeGreaterThan(0);
    const written = treeOf(machine);
    expect(written).not.toEqual(before);
    expect(setUp(machine, target)).toBe(0);
    expect(treeOf(machine)).toEqual(written);
    expect(new WrittenFiles(dataFolder(machine)).hasAllOf(target.name)).toBe(true);
    undo(machine, target);
    expectAsBefore(machine, before);
  });

  test("replaces what an earlier setup wrote", () => {
    const machine = machineWith(OWN);
    const before = treeOf(machine);
    setUp(machine, target, { program: ["npx", "coppice"], store: ["--db", "/a b/x.db"] });
    expect(setUp(machine, target)).toBeGreaterThan(0);
    const fresh = machineWith(OWN);
    setUp(fresh, target);
    const named = (one: Machine): string[] => treeOf(one).map((entry) => entry.replaceAll(one.home, "~"));
    const withoutRecord = (entries: string[]): string[] => entries.filter((entry) => !entry.includes("setup.json"));
    expect(withoutRecord(named(machine))).toEqual(withoutRecord(named(fresh)));
    undo(machine, target);
    expectAsBefore(machine, before);
  });

  test("names the command and no version", () => {
    const machine = machineWith();
    const written = target.edits(machine, COMMAND).map((edit) => edit.insertionInto("")!.text);
    expect(written.join()).toContain("coppice");
    expect(written.join()).not.toMatch(/coppice@|node_modules|v\d+\.\d+\.\d+/);
  });
});

test("Gemini CLI fires the hook for compressions when the user asks for one, and not before every request", () => {
  const machine = machineWith();
  setUp(machine, agent("gemini-cli"));
  const { hooks } = JSON.parse(textOf(machine, ".gemini/extensions/coppice/hooks/hooks.json"));
  const hook = expect.objectContaining({ command: "coppice hook before-compaction --agent gemini-cli" });
  expect(hooks.PreCompress).toEqual([{ matcher: "manual", hooks: [hook] }]);
});

describe("files that others write too", () => {
  test("keep what came later, before and after what setup wrote", () => {
    const machine = machineWith(OWN);
    setUp(machine, agent("codex"));
    const path = join(machine.home, ".codex", "config.toml");
    writeFileSync(path, `# first\n${readFileSync(path, "utf8")}\n[projects."/srv"]\ntrust_level = "trusted"\n`);
    undo(machine, agent("codex"));
    const own = OWN[".codex/config.toml"];
    expect(readFileSync(path, "utf8")).toBe(`# first\n${own}\n[projects."/srv"]\ntrust_level = "trusted"\n`);
  });

  test("that setup made stay if somebody else put something into them", () => {
    const machine = machineWith();
    setUp(machine, agent("vscode"));
    const path = ".config/Code/User/mcp.json";
    const text = textOf(machine, path).replace(/("coppice": .*)\n/, '$1,\n\t\t"other": {}\n');
    writeFileSync(join(machine.home, path), text);
    undo(machine, agent("vscode"));
    expect(textOf(machine, path)).toContain('"other": {}');
    expect(textOf(machine, path)).not.toContain("coppice");
  });

  test("are not touched if what setup wrote was changed", () => {
    const machine = machineWith();
    setUp(machine, agent("pi"));
    const path = join(machine.home, ".pi", "agent", "extensions", "coppice.ts");
    writeFileSync(path, `${readFileSync(path, "utf8").slice(0, -3)}// mine`);
    const before = treeOf(machine);
    for (const act of [undo, setUp]) expect(() => act(machine, agent("pi"))).toThrow(notUsable(path));
    expect(treeOf(machine)).toEqual(before);
  });

  test("of the same name are not replaced", () => {
    const machine = machineWith({ ".config/opencode/plugin/coppice.js": "// mine" });
    expect(() => setUp(machine, agent("opencode"))).toThrow(notUsable());
  });

  test("are recognized after the list of what was written was lost", () => {
    const machine = machineWith({ ".codex/config.toml": "a = 1\n" });
    const before = treeOf(machine).filter((entry) => !/ \d+ $/.test(entry));
    for (const target of AGENTS) setUp(machine, target);
    writeFileSync(join(dataFolder(machine), "setup.json"), '{"files":[]}');
    const own = AGENTS.filter(({ name }) => name !== "vscode");
    expect(own.map((target) => setUp(machine, target))).toEqual([0, 0, 0, 0, 0]);
    for (const target of own) undo(machine, target);
    const left = treeOf(machine).filter((entry) => !/ \d+ $/.test(entry) && !entry.includes("mcp.json"));
    expect(left).toEqual(before);
  });

  test("stay links, with their permissions", () => {
    const machine = machineWith({ "dotfiles/config.toml": "a = 1\n", ".codex/x": "" });
    symlinkSync(join(machine.home, "dotfiles", "config.toml"), join(machine.home, ".codex", "config.toml"));
    const before = treeOf(machine);
    setUp(machine, agent("codex"));
    expect(textOf(machine, "dotfiles/config.toml")).toContain("coppice");
    undo(machine, agent("codex"));
    expectAsBefore(machine, before);
  });

  test("keep permissions that a new file would not get", () => {
    const machine = machineWith({ ".codex/config.toml": "a = 1\n" });
    chmodSync(join(machine.home, ".codex", "config.toml"), 0o666);
    const before = treeOf(machine);
    setUp(machine, agent("codex"));
    expect(statSync(join(machine.home, ".codex", "config.toml")).mode & 0o777).toBe(0o666);
    undo(machine, agent("codex"));
    expectAsBefore(machine, before);
  });

  test("keep what was written while setup asked", () => {
    const machine = machineWith({ ".codex/config.toml": "a = 1\n" });
    const files = new WrittenFiles(dataFolder(machine));
    const changes = files.changesFor("codex", agent("codex").edits(machine, COMMAND));
    writeFileSync(join(machine.home, ".codex", "config.toml"), "a = 2\n");
    expect(() => files.apply(changes)).toThrow(/was changed while setup waited/);
    expect(textOf(machine, ".codex/config.toml")).toBe("a = 2\n");
  });

  test.each([".codex/config.toml", ".pi/agent/extensions"])("are refused behind a link to nothing: %s", (path) => {
    const machine = machineWith({ ".codex/x": "", ".pi/agent/x": "" });
    symlinkSync(join(machine.home, "none", "none"), join(machine.home, path));
    const name = path.startsWith(".codex") ? "codex" : "pi";
    expect(() => setUp(machine, agent(name))).toThrow(notUsable());
    expect(readlinkSync(join(machine.home, path))).toBe(join(machine.home, "none", "none"));
  });

  test.each(["", "{}", '{"files": 1'])("are not touched if the list of what was written is damaged: %j", (list) => {
    const machine = machineWith();
    put(join(dataFolder(machine), "setup.json"), list);
    expect(() => setUp(machine, agent("pi"))).toThrow(notUsable("setup.json"));
  });

  test("that are no UTF-8 are refused", () => {
    const machine = machineWith({ ".codex/config.toml": Buffer.from([0x23, 0xff, 0x0a]) });
    expect(() => setUp(machine, agent("codex"))).toThrow(notUsable());
  });
});

describe("codex", () => {
  test.each([
    "hooks = {}\n",
    '"hooks" = {}\n',
    "['hooks']\r\nSessionStart = []\r\n",
    '[hooks]\n"PreCompact" = []\n',
    '["mcp_servers"]\n"coppice" = {}\n',
    'mcp_servers.other.command = "x"\n',
    "a = 1\n[hooks]\nSessionStart = []\n",
    "[mcp_servers]\ncoppice = { command = 'x' }\n",
  ])("refuses to add tables to values: %j", (text) => {
    const machine = machineWith({ ".codex/config.toml": text });
    expect(() => setUp(machine, agent("codex"))).toThrow(/written as values/);
  });

  test.each(["mcp_servers.coppice", "'mcp_servers'.'coppice'"])("leaves out the server of the person: %s", (name) => {
    const machine = machineWith({ ".codex/config.toml": `[${name}]\ncommand = "mine"\n` });
    setUp(machine, agent("codex"));
    expect(textOf(machine, ".codex/config.toml").match(/^\[.?mcp_servers/gm)).toHaveLength(1);
    expect(setUp(machine, agent("codex"))).toBe(0);
  });
});

test("Claude Code gets no second server", () => {
  const machine = machineWith({ ".claude.json": '{"mcpServers":{"coppice":{"command":"mine"}}}' });
  setUp(machine, agent("claude-code"));
  const written = readdirSync(join(machine.home, ".claude", "skills", "coppice"));
  expect(written.sort()).toEqual([".claude-plugin", "hooks", "skills"]);
});

describe("mcp.json of VS Code", () => {
  test.each([
    ["", '{\n\t"servers": {\n\t\t"coppice": X\n\t}\n}\n'],
    ["// mine", '// mine\n{\n\t"servers": {\n\t\t"coppice": X\n\t}\n}\n'],
    ["{}", '{\n\t"servers": {\n\t\t"coppice": X\n\t}\n}'],
    ['{ "inputs": [{ "servers": {} }] }', '{\n\t"servers": {\n\t\t"coppice": X\n\t}, "inputs": [{ "servers": {} }] }'],
    ['{"servers":{}}', '{"servers":{\n\t\t"coppice": X\n\t}}'],
    [
      '{\n  "servers": { // "x": {\n    "a}": { "b": "\\"{" }\n  }\n}',
      '{\n  "servers": {\n    "coppice": X, // "x": {\n    "a}": { "b": "\\"{" }\n  }\n}',
    ],
  ])("is extended in its place: %j", (text, expected) => {
    const machine = machineWith(text === "" ? {} : { ".config/Code/User/mcp.json": text });
    setUp(machine, agent("vscode"));
    const server = '{"type":"stdio","command":"coppice","args":["mcp"]}';
    expect(textOf(machine, ".config/Code/User/mcp.json")).toBe(expected.replace("X", server));
    undo(machine, agent("vscode"));
    if (text !== "") expect(textOf(machine, ".config/Code/User/mcp.json")).toBe(text);
  });

  test.each(["[]", '{"servers": []}', "nonsense"])("is refused if there is no place: %j", (text) => {
    const machine = machineWith({ ".config/Code/User/mcp.json": text });
    expect(() => setUp(machine, agent("vscode"))).toThrow(notUsable());
  });

  test("keeps a server that the person added", () => {
    const machine = machineWith({ ".config/Code/User/mcp.json": '{"servers": {"coppice": {"command": "mine"}}}' });
    expect(setUp(machine, agent("vscode"))).toBe(0);
  });
});

test("Codex notes this of a hook that was trusted", () => {
  // Codex 0.169 said so of a hook with a timeout of 15 s.
  expect(trustOf("SessionStart", "true")).toBe(
    "sha256:0366bd3621738b6e2e42c41f8d8b69fd9b6d6734a3798b9bfb39ff339f60c1bf",
  );
});
