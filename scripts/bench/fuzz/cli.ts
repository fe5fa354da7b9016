import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { runCommandLine } from "../../../src/cli/command-line.ts";
import { COMMAND_GROUPS } from "../../../src/cli/commands.ts";
import { type OutputStream, Terminal } from "../../../src/cli/screen/terminal.ts";
import { openStore } from "../../../src/index.ts";
import { checkVerified, FIXTURES } from "./importers.ts";
import { oddText } from "./odd-texts.ts";
import type { Random } from "./random.ts";
import { type OpenTarget, type Target, UntypedError } from "./target.ts";

const STORE = "store.db";
const SESSIONS = ["a", "@last", "3f6c", "none", "session"];
const HANDLES = ["1", "theme:1", "cluster:1@9", "subject:1", "span:1@2"];
const PATHS = ["importers", "importers/neutral.jsonl", "**/*.json", "none.jsonl", STORE];
const QUERIES = ["SELECT count(*) FROM messages", "SELECT ?", "SELECT * FROM sessions", "VALUES (1)", "DELETE FROM x"];

/** Arguments of each command. `mcp` is left out, because its first run would end this process's stdin. */
const COMMANDS: Record<string, readonly string[]> = {
  import: PATHS,
  // Without `--once`, `watch` would not end.
  "watch --once": PATHS,
  sessions: [],
  show: SESSIONS,
  recall: ["the deploy", '"the deploy"', "which tests"],
  expand: [...HANDLES, ...SESSIONS],
  resume: SESSIONS,
  forest: SESSIONS,
  subjects: ["subject:1"],
  lost: [],
  recap: [],
  sql: QUERIES,
  export: SESSIONS,
  doctor: [],
  verify: [],
  backup: ["backup.db", STORE],
  reembed: [],
  forget: SESSIONS,
  rewind: SESSIONS,
  "sessions name": SESSIONS,
  "sessions tag": SESSIONS,
  "sessions hide": SESSIONS,
  "sessions fork": SESSIONS,
  projects: [],
  "projects rename": ["web", ""],
  "projects merge": ["web", ""],
  "projects exclude": PATHS,
  hub: ["push", "none"],
  "hub push": SESSIONS,
  completion: ["bash", "fish", "none"],
  help: ["show", "none"],
};
const FLAGS = [
  ...[
    "--json",
    "--json",
    "--explain",
    "--strict",
    "--dry-run",
    "--yes",
    "--quiet",
    "--overwrite",
    "--rebuild",
    "--restore",
    "--secrets",
    "--undo",
    "--remove",
    "--keep-secrets",
    "--help",
  ],
  ...["--version", "--allow-append", "--", "-x", "--none", "--color=always", "--db"],
];
const VALUES: Record<string, readonly string[]> = {
  "--project": ["web", ""],
  "--limit": ["3", "0", "-1", "1e3", "99999999999999999999"],
  "--offset": ["1", "9007199254740991", "9007199254740993", "0x1"],
  "--since": ["2026-01-01", "2026-02-30", "1969-12-31T23:59", "275760-09-13"],
  "--until": ["2026-12-31", "yesterday"],
  "--role": ["user", "nobody"],
  "--format": ["auto", "jsonl", "codex", "x"],
  "--level": ["step", "theme", "x"],
  "--tokens-max": ["500", "1", "0"],
  "--strategy": ["flat", "full", "x"],
  "--query": ["the deploy", ""],
  "--scope": ["project"],
  "--messages": ["1,2", "1,,2", "1,x", "99999999"],
  "--embedder": ["hashing-v1-384", "none"],
  "--model": ["none"],
};

/** Runs commands with odd words in this process. */
export const cli: Target = {
  open: async (folder) => {
    cpSync(join(FIXTURES, "importers"), join(folder, "importers"), { recursive: true });
    for (const name of ["GEMINI_API_KEY", "GOOGLE_API_KEY", "XDG_DATA_HOME", "COPPICE_DEBUG"]) delete process.env[name];
    Object.assign(process.env, { HOME: folder, COPPICE_DB: STORE });
    const target = new OpenCli();
    await target.run(["import", "importers"]);
    return target;
  },
};

class OpenCli implements OpenTarget {
  feed(random: Random): Promise<void> {
    return this.run(oddArguments(random));
  }

  async run(argv: readonly string[]): Promise<void> {
    const [stdout, stderr] = [new Collected(), new Collected()];
    const exitCode = await runCommandLine(argv, {
      groups: COMMAND_GROUPS,
      version: "1.2.3",
      terminal: new Terminal(stdout, stderr, {}),
    });
    const isBug = /This is a bug|"code":"UNEXPECTED"/.test(stderr.text);
    const isUnknown = ![0, 1, 2].includes(exitCode);
    if (isBug || isUnknown)
      throw new UntypedError(`${JSON.stringify(argv)}: ${exitCode}: ${stderr.text.slice(0, 500)}`);
  }

  async close(): Promise<void> {
    if (!existsSync(STORE)) return;
    const store = openStore(STORE);
    checkVerified(store);
    store.close();
  }
}

class Collected implements OutputStream {
  text = "";

  write(text: string): void {
    if (this.text.length < 10_000) this.text += text;
  }
}

function oddArguments(random: Random): string[] {
  const [command, words] = random.pick(Object.entries(COMMANDS));
  const rest =
    random.chance(0.9) && words.length > 0 ? random.some(random.chance(0.8) ? 1 : 4, () => random.pick(words)) : [];
  const flags = random.chance(0.2) ? [] : random.some(3, () => oddFlag(random)).flat();
  const given = [...rest, ...flags].map((word) => (random.chance(0.08) ? withinFolder(oddText(random)) : word));
  const before = random.chance(0.1) ? oddFlag(random) : [];
  // Behind `--`, `--once` would be the name of a file.
  const isFlagsEnd = before.at(-1) === "--";
  return [...(isFlagsEnd ? [] : before), ...command.split(" "), ...given];
}

function oddFlag(random: Random): string[] {
  if (random.chance(0.4)) return [random.pick(FLAGS)];
  const [flag, values] = random.pick(Object.entries(VALUES));
  const value = random.chance(0.15) ? withinFolder(oddText(random)) : random.pick(values);
  return random.chance(0.5) ? [flag, value] : [`${flag}=${value}`];
}

/** Removes separators from a word, because it may become the path of a file that is written. */
function withinFolder(word: string): string {
  return word.replaceAll("/", "").replaceAll("..", "").replaceAll("\0", "");
}
