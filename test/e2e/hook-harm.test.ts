import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { writeTranscript } from "../support/claude-lines.ts";
import { CliFolder } from "../support/cli.ts";
import { asNobody, handOver } from "../support/nobody.ts";

const WEB = "/home/mira/web";
const INPUT = {
  session_id: "now",
  cwd: WEB,
  source: "startup",
  prompt: "Which region does the parcel service run in?",
};
const SILENT = { exitCode: 0, stdout: "", stderr: "" };
/** A hook ends in five seconds. A busy machine starts Node slowly. */
const END_MS_MAX = 9_000;

async function webStore(): Promise<CliFolder> {
  const folder = new CliFolder();
  const line = (role: string, content: string) => ({
    session: "monday",
    role,
    content,
    createdAt: "2026-03-01T09:00:00Z",
  });
  const lines = [
    line("user", "Which region should the parcel service run in? Latency to Bergen matters most."),
    line("assistant", "We decided on eu-north-1 for the parcel service, because its latency to Bergen is lowest."),
  ];
  await folder.json("import", folder.jsonl("web.jsonl", lines), "--project", WEB);
  return folder;
}

/** Fires a hook. */
function fire(folder: CliFolder, event: string, input: object = INPUT, env = {}) {
  return folder.run(["hook", event, "--agent", "claude-code"], { stdin: JSON.stringify(input), env });
}

/** Fires a hook in a process of its own, which may be blocked. */
async function fireApart(folder: CliFolder, event: string, input: object = INPUT, env = {}) {
  const startMs = performance.now();
  const { child, stdout, stderr, ended } = folder.start(["hook", event, "--agent", "claude-code"], { env });
  child.stdin.end(JSON.stringify(input));
  const exitCode = await ended;
  expect(performance.now() - startMs).toBeLessThan(END_MS_MAX);
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

function pipeAt(path: string): void {
  rmSync(path, { force: true });
  mkdirSync(dirname(path), { recursive: true });
  execFileSync("mkfifo", [path]);
}

const logAt = (folder: CliFolder) => `${folder.db}-coppice-hooks/log.jsonl`;
const logOf = (folder: CliFolder): string => readFileSync(logAt(folder), "utf8");
const entriesOf = (folder: CliFolder) =>
  logOf(folder)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("what does not answer does not hold the agent", () => {
  test("a pipe in the place of the store or of its log", async () => {
    const folder = await webStore();
    rmSync(folder.db);
    pipeAt(folder.db);
    expect(await fireApart(folder, "session-start")).toEqual(SILENT);
    expect(entriesOf(folder).at(-1).failure).toContain("not a regular file");
  });

  test("pipes in the places of the hooks' own files", async () => {
    const folder = await webStore();
    for (const name of ["log.jsonl", "switch.json", "key"]) pipeAt(join(`${folder.db}-coppice-hooks`, name));
    const { exitCode, stdout, stderr } = await fireApart(folder, "session-start");
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain("eu-north-1");
  });

  test("a log of 300 MB in one line, which becomes one that can be read", async () => {
    const folder = await webStore();
    await fireApart(folder, "session-start");
    writeFileSync(logAt(folder), "x".repeat(1_000));
    truncateSync(logAt(folder), 300 * 1024 * 1024);
    expect((await fireApart(folder, "session-start", { ...INPUT, session_id: "later" })).stdout).toContain(
      "eu-north-1",
    );
    expect(statSync(logAt(folder)).size).toBeLessThan(10_000);
    expect(entriesOf(folder).map(({ session }) => session)).toEqual(["later", "later"]);
  });
});

describe("a store that the command line refuses or can read, a hook does, too", () => {
  test("one of a newer format is refused", async () => {
    const folder = await webStore();
    const database = new Database(folder.db);
    database.exec("INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('abc', 99999999999999)");
    database.close();
    expect(await fire(folder, "session-start")).toEqual(SILENT);
    expect(entriesOf(folder).at(-1).failure).toContain("a newer version has written it");
  });

  test.runIf(process.getuid?.() === 0)("one in a folder that cannot be written is read", async () => {
    const folder = await webStore();
    const frozen = join(folder.path, "frozen");
    mkdirSync(frozen);
    copyFileSync(folder.db, join(frozen, "agent.db"));
    chmodSync(folder.path, 0o755);
    handOver(join(frozen, "agent.db"), 0o600);
    handOver(frozen, 0o500);
    const { stdout } = await asNobody(() =>
      fire(folder, "session-start", INPUT, { COPPICE_DB: join(frozen, "agent.db") }),
    );
    expect(stdout).toContain("eu-north-1");
  });
});

describe("a hook imports only the transcripts of its agent", () => {
  const projects = (folder: CliFolder) => join(folder.path, ".claude", "projects");
  const transcript = (folder: CliFolder, name = "turn") => join(projects(folder), "-home-mira-web", `${name}.jsonl`);

  function written(path: string): string {
    return writeTranscript(path, "turn", [{ number: 0, text: "The buoy is painted red." }], WEB) ?? path;
  }

  /** Ends a turn, and waits for its import. @returns how the import ended, and how many messages there are. */
  async function imported(folder: CliFolder, path: string, env = {}) {
    const input = { ...INPUT, session_id: "turn", transcript_path: path };
    expect(await fire(folder, "turn-end", input, env)).toEqual(SILENT);
    const ends = () => entriesOf(folder).filter(({ event }) => event === "import");
    await expect.poll(ends, { timeout: 30_000 }).toHaveLength(1);
    const count = existsSync(folder.db) ? (await folder.json("sql", "SELECT count(*) AS n FROM messages"))[0].n : 0;
    return { failure: ends()[0].failure, count };
  }

  test("one in its folder, also if that is moved or a link", async () => {
    const folder = new CliFolder();
    written(transcript(folder));
    expect(await imported(folder, transcript(folder))).toEqual({ failure: undefined, count: 1 });
    const moved = new CliFolder();
    const path = written(join(moved.path, "settings", "projects", "web", "turn.jsonl"));
    mkdirSync(join(moved.path, "settings", "projects", "web"), { recursive: true });
    symlinkSync(join(moved.path, "settings"), join(moved.path, "link"));
    const env = { CLAUDE_CONFIG_DIR: join(moved.path, "link") };
    expect(await imported(moved, path ?? "", env)).toEqual({ failure: undefined, count: 1 });
  });

  const FOREIGN: Record<string, (folder: CliFolder) => string> = {
    "/dev/zero": () => "/dev/zero",
    "/proc": () => "/proc",
    "a relative path": () => "turn.jsonl",
    "a file elsewhere": (folder) => {
      written(join(folder.path, "turn.jsonl"));
      return join(folder.path, "turn.jsonl");
    },
    "a file that is reached by ..": (folder) => {
      written(join(folder.path, "turn.jsonl"));
      mkdirSync(projects(folder), { recursive: true });
      return `${projects(folder)}/../../turn.jsonl`;
    },
    "the transcript of another agent": (folder) => {
      const path = join(folder.path, ".codex", "sessions", "turn.jsonl");
      written(path);
      return path;
    },
    "a pipe in the folder": (folder) => {
      pipeAt(transcript(folder));
      return transcript(folder);
    },
    "a link in the folder": (folder) => {
      written(join(folder.path, "turn.jsonl"));
      mkdirSync(dirname(transcript(folder)), { recursive: true });
      symlinkSync(join(folder.path, "turn.jsonl"), transcript(folder));
      return transcript(folder);
    },
    "a file in a linked folder": (folder) => {
      written(join(folder.path, "other", "turn.jsonl"));
      mkdirSync(projects(folder), { recursive: true });
      symlinkSync(join(folder.path, "other"), join(projects(folder), "other"));
      return join(projects(folder), "other", "turn.jsonl");
    },
    "a folder in the folder": (folder) => {
      written(transcript(folder));
      return dirname(transcript(folder));
    },
    "a file of 2 GB": (folder) => {
      written(transcript(folder));
      truncateSync(transcript(folder), 2 * 1024 ** 3);
      return transcript(folder);
    },
  };

  test.each(Object.keys(FOREIGN))("not %s", async (name) => {
    const folder = new CliFolder();
    const path = FOREIGN[name]!(folder);
    if (!existsSync(path)) writeFileSync(join(folder.path, "turn.jsonl"), "");
    const { failure, count } = await imported(folder, path);
    expect(failure).toContain("The transcript");
    expect(count).toBe(0);
  });

  test("not what its subagents' folder leads to", async () => {
    const folder = new CliFolder();
    written(transcript(folder));
    const subagents = join(dirname(transcript(folder)), "turn", "subagents");
    const line = { number: 5, text: "A line of somebody else.", agentId: "scout" };
    writeTranscript(join(folder.path, "other", "agent-scout.jsonl"), "turn", [line], WEB);
    mkdirSync(subagents, { recursive: true });
    symlinkSync(join(folder.path, "other"), join(subagents, "other"));
    symlinkSync(join(folder.path, "other", "agent-scout.jsonl"), join(subagents, "agent-scout.jsonl"));
    symlinkSync("/proc", join(dirname(subagents), "proc"));
    pipeAt(join(subagents, "agent-pipe.jsonl"));
    expect(await imported(folder, transcript(folder))).toEqual({ failure: undefined, count: 1 });
  });
});

describe("the log of the hooks", () => {
  test("does not tell what was typed, to whoever tries all that could be", async () => {
    const [one, other] = [await webStore(), await webStore()];
    for (const folder of [one, other]) await fire(folder, "prompt", { ...INPUT, prompt: "4711" });
    const keyOf = (folder: CliFolder): string => entriesOf(folder)[0].key;
    expect(keyOf(one)).toMatch(/^[\da-f]{16}$/);
    expect(keyOf(one)).not.toBe(keyOf(other)); // the key of the store makes the difference
    expect(logOf(one)).not.toMatch(/4711|\b4 \d/);
    expect(statSync(`${one.db}-coppice-hooks/key`).mode & 0o077).toBe(0);
  });

  test("loses its lines of a session that is forgotten, and keeps the others", async () => {
    const folder = new CliFolder();
    const path = join(folder.path, ".claude", "projects", "web", "turn.jsonl");
    writeTranscript(path, "turn", [{ number: 0, text: "The buoy is painted red." }], WEB);
    await fire(folder, "turn-end", { ...INPUT, session_id: "turn", transcript_path: path });
    await expect.poll(() => logOf(folder), { timeout: 30_000 }).toContain('"event":"import"');
    await fire(folder, "prompt", { ...INPUT, session_id: "other" });
    appendFileSync(logAt(folder), '{"session":"turn","half');
    const [{ id }] = await folder.json("sessions");
    await folder.json("forget", id, "--dry-run");
    expect(logOf(folder)).toContain("turn.jsonl");
    await folder.json("forget", id, "--yes");
    expect(logOf(folder)).not.toContain("turn.jsonl");
    expect(logOf(folder)).not.toContain('"session":"turn"');
    expect(entriesOf(folder).map(({ session }) => session)).toEqual(["other", "other"]);
  });
});
