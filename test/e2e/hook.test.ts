import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { writeTranscript } from "../support/claude-lines.ts";
import { CliFolder, type CliResult } from "../support/cli.ts";

const DAY = "2026-03-01";

/** A store with a session of the project `web`, in which a region and a fix were decided. */
function webStore(): CliFolder {
  const folder = new CliFolder();
  const lines = [
    ["user", "Which region should the parcel service run in? Latency to Bergen matters most."],
    ["assistant", "We decided on eu-north-1 for the parcel service, because its latency to Bergen is lowest."],
    ["user", "Then fix the customs label printer, it prints the barcode upside down."],
    ["assistant", "The root cause was the rotation flag of the barcode. I fixed it in src/labels/rotate.ts."],
  ].map(([role, content], index) => ({
    session: "monday",
    id: `m${index}`,
    role,
    content,
    createdAt: `${DAY}T09:0${index}:00Z`,
  }));
  folder.jsonl("web.jsonl", lines);
  return folder;
}

/** @param input  What the agent writes: an object as JSON, or a text. */
function fire(folder: CliFolder, words: string[], input: object | string): Promise<CliResult> {
  return folder.run(["hook", ...words], { stdin: typeof input === "string" ? input : JSON.stringify(input) });
}

const SILENT = { exitCode: 0, stdout: "", stderr: "" };
const START = { session_id: "tuesday", cwd: "/home/mira/web", hook_event_name: "SessionStart", source: "startup" };
const PROMPT = {
  ...START,
  hook_event_name: "UserPromptSubmit",
  prompt: "Which region does the parcel service run in?",
};

/** Where Claude Code keeps the transcript of the session `turn`. */
function transcriptIn(folder: CliFolder): string {
  return join(folder.path, ".claude", "projects", "-home-mira-web", "turn.jsonl");
}

function logOf(folder: CliFolder): string {
  return readFileSync(`${folder.db}-coppice-hooks/log.jsonl`, "utf8");
}

describe("what an agent is told", () => {
  let folder: CliFolder;
  beforeAll(async () => {
    folder = webStore();
    await folder.json("import", join(folder.path, "web.jsonl"), "--project", "/home/mira/web");
  });

  test("at the start of a session: where the project's work stood, dated and quoted", async () => {
    const { stdout, stderr, exitCode } = await fire(folder, ["session-start", "--agent", "claude-code"], START);
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    const { hookSpecificOutput, systemMessage } = JSON.parse(stdout);
    expect(hookSpecificOutput.hookEventName).toBe("SessionStart");
    const { additionalContext: text } = hookSpecificOutput;
    expect(text).toMatch(/^<coppice-memory>\n.*never instructions[\s\S]*<\/coppice-memory>$/);
    expect(text).toContain(`until="${DAY}"`);
    expect(text).toContain("agent: We decided on eu-north-1 for the parcel service");
    expect(text).toContain("fix the customs label printer");
    expect(systemMessage).toMatch(/^Coppice: .* \d+ lines/);
    expect(systemMessage).not.toContain("\n");
  });

  test("each agent in its own schema", async () => {
    const said = async (words: string[], input: object) => JSON.parse((await fire(folder, words, input)).stdout);
    const gemini = await said(["prompt", "--agent", "gemini-cli"], { ...PROMPT, session_id: "g1" });
    expect(gemini.hookSpecificOutput.hookEventName).toBe("BeforeAgent");
    expect(gemini.hookSpecificOutput.additionalContext).toContain("eu-north-1");
    const codex = await said(["prompt", "--agent", "codex"], { ...PROMPT, session_id: "c1" });
    expect(codex.hookSpecificOutput.hookEventName).toBe("UserPromptSubmit");
    const pi = await said(["prompt", "--agent", "pi"], { ...PROMPT, session_id: "p1" });
    expect(Object.keys(pi)).toEqual(["text"]);
    const nothing = { ...PROMPT, prompt: "Write a haiku about autumn leaves.", session_id: "p2" };
    expect(await said(["prompt", "--agent", "opencode"], nothing)).toEqual({});
  });

  test("nothing of the asking session", async () => {
    const own = { ...PROMPT, session_id: "monday" };
    expect(await fire(folder, ["prompt", "--agent", "claude-code"], own)).toEqual(SILENT);
  });

  test("nothing twice: neither by two installations, nor at the next prompt", async () => {
    const words = ["prompt", "--agent", "claude-code"];
    const twice = { ...PROMPT, session_id: "both" };
    const answers = await Promise.all([fire(folder, words, twice), fire(folder, words, twice)]);
    expect(answers.map(({ stdout }) => stdout === "").toSorted()).toEqual([false, true]);
    expect(answers.map(({ stdout }) => stdout).join("")).toContain("We decided on eu-north-1");
    const again = { ...twice, prompt: "And the parcel service: was its region chosen for the latency to Bergen?" };
    expect(await fire(folder, words, again)).toEqual(SILENT);
  });

  test("after a compaction, what the session itself decided", async () => {
    const own = { ...START, session_id: "monday" };
    const before = await fire(folder, ["before-compaction", "--agent", "claude-code"], own);
    expect(before.stdout).toMatch(/^<coppice-memory>/); // plain text: the agent adds it to its request for a summary
    expect(before.stdout).toContain("We decided on eu-north-1");
    const after = await fire(folder, ["session-start", "--agent", "claude-code"], { ...own, source: "compact" });
    expect(JSON.parse(after.stdout).hookSpecificOutput.additionalContext).toContain("We decided on eu-north-1");
    // Gemini CLI takes no text around a compaction, so the next prompt brings it back.
    const gemini = { ...own, prompt: "go on" };
    expect(await fire(folder, ["before-compaction", "--agent", "gemini-cli"], gemini)).toEqual(SILENT);
    expect((await fire(folder, ["prompt", "--agent", "gemini-cli"], gemini)).stdout).toContain(
      "We decided on eu-north-1",
    );
  });

  test("nothing while hooks are off, everywhere or in a folder", async () => {
    const words = ["session-start", "--agent", "claude-code"];
    await folder.json("hook", "off", "--project", "/home/mira/web");
    expect(await fire(folder, words, { ...START, session_id: "off1" })).toEqual(SILENT);
    const elsewhere = { ...START, session_id: "off2", cwd: "/srv/web" };
    expect((await fire(folder, words, elsewhere)).stdout).toBe("");
    await folder.json("projects", "merge", "/srv/web", "/home/mira/web");
    expect((await fire(folder, words, { ...elsewhere, session_id: "off2b" })).stdout).not.toBe("");
    await folder.json("hook", "on", "--project", "/home/mira/web");
    expect((await fire(folder, words, { ...START, session_id: "off3" })).stdout).not.toBe("");
    await folder.json("hook", "off");
    expect(await fire(folder, words, { ...START, session_id: "off4" })).toEqual(SILENT);
    await folder.json("hook", "on");
    expect((await fire(folder, words, { ...START, session_id: "off5" })).stdout).not.toBe("");
  });

  test("people see when it fired, and only they can read the log, which has nobody's words", async () => {
    const { findings } = await folder.json("doctor");
    const own = findings.filter(({ check }: { check: string }) => check === "hooks");
    expect(own.map(({ text }: { text: string }) => text).join("\n")).toMatch(
      /hook of claude-code last fired at .* ms\)/,
    );
    expect(statSync(`${folder.db}-coppice-hooks/log.jsonl`).mode & 0o077).toBe(0);
    expect(logOf(folder)).not.toContain("parcel");
  });
});

test("at the end of a turn the transcript is stored, with its subagents, and the agent is told nothing", async () => {
  const folder = new CliFolder();
  const transcript = transcriptIn(folder);
  const said = (...texts: string[]) => {
    const lines = texts.map((text, number) => ({ number, text, isReply: false }));
    writeTranscript(transcript, "turn", lines, START.cwd);
  };
  const subagent = join(dirname(transcript), "turn", "subagents", "agent-scout.jsonl");
  const task = { number: 9, text: "Find the paint of the buoy.", agentId: "scout" };
  said("The buoy is painted red.");
  writeTranscript(subagent, "turn", [task], START.cwd);
  const input = { ...START, session_id: "turn", hook_event_name: "Stop", transcript_path: transcript };
  const fired = () => fire(folder, ["turn-end", "--agent", "claude-code"], input);
  const texts = async () => {
    if (!existsSync(folder.db)) return [];
    return (await folder.json("sql", "SELECT text FROM messages ORDER BY id")).map(
      ({ text }: { text: string }) => text,
    );
  };

  expect(await fired()).toEqual(SILENT);
  await expect.poll(texts, { timeout: 30_000 }).toEqual(["The buoy is painted red.", ""]); // what an agent asks another is no word of the user
  said("The buoy is painted red.", "And the lamp is green.");
  expect(await fired()).toEqual(SILENT); // soon after the first
  await expect.poll(texts, { timeout: 30_000 }).toHaveLength(3);
  // An import notes its end after its messages are there.
  const endedCount = (): number => logOf(folder).split('"event":"import"').length - 1;
  await expect.poll(endedCount, { timeout: 30_000 }).toBe(2);
  await folder.json("hook", "off");
  said("The buoy is painted red.", "And the lamp is green.", "This is said in private.");
  const before = logOf(folder);
  expect(await fired()).toEqual(SILENT);
  expect(logOf(folder)).toBe(before);
});

test("people see that the import after a turn failed and what to do, until one succeeds", async () => {
  const folder = new CliFolder();
  const transcript = transcriptIn(folder);
  const input = { ...START, session_id: "turn", hook_event_name: "Stop", transcript_path: transcript };
  const endTurn = () => fire(folder, ["turn-end", "--agent", "claude-code"], input);
  const importFailure = async () => (await folder.json("hook", "status")).agents[0].importFailure;
  writeTranscript(transcript, "turn", [{ number: 0, text: "The buoy is red." }]);
  writeFileSync(folder.db, "not a store, but some text that is long enough to be one".repeat(50));
  expect(await endTurn()).toEqual(SILENT);
  await expect.poll(importFailure, { timeout: 30_000 }).toMatchObject({ path: transcript });
  expect((await importFailure()).reason).toContain("not a Coppice store");
  const shown = (await folder.run(["hook", "status"])).stdout;
  expect(shown).toMatch(/coppice import \S.*turn\.jsonl/);
  const doctor = JSON.parse((await folder.run(["doctor", "--json"])).stdout).findings;
  expect(doctor.find(({ text }: { text: string }) => text.startsWith("The import"))).toMatchObject({ level: "advice" });

  rmSync(folder.db);
  appendFileSync(transcript, "{}\n"); // another turn
  expect(await endTurn()).toEqual(SILENT);
  await expect.poll(importFailure, { timeout: 30_000 }).toBe(undefined);
  expect(await folder.json("sessions")).toHaveLength(1);
});

describe("whatever is wrong, an agent gets nothing and does not wait", () => {
  const words = ["prompt", "--agent", "claude-code"];
  const QUICK_MS = 5_000; // a busy machine starts Node slowly; the hook's own limit is three seconds

  async function expectSilence(folder: CliFolder, typed: string[], input: object | string): Promise<void> {
    const startMs = performance.now();
    expect(await fire(folder, typed, input)).toEqual(SILENT);
    expect(performance.now() - startMs).toBeLessThan(QUICK_MS);
  }

  async function stored(): Promise<CliFolder> {
    const folder = webStore();
    await folder.json("import", join(folder.path, "web.jsonl"), "--project", "/home/mira/web");
    return folder;
  }

  test("no store, and nothing is made", async () => {
    const folder = new CliFolder();
    await expectSilence(folder, [...words, "--db", join(folder.path, "none", "agent.db")], PROMPT);
    expect(existsSync(join(folder.path, "none"))).toBe(false);
    await expectSilence(folder, words, PROMPT);
    expect(existsSync(folder.db)).toBe(false);
    expect(logOf(folder)).toContain("failure");
  });

  test("a locked store", async () => {
    const folder = await stored();
    const other = new Database(folder.db);
    other.pragma("locking_mode = EXCLUSIVE");
    other.exec("BEGIN EXCLUSIVE");
    await expectSilence(folder, words, PROMPT);
    other.close();
    expect(logOf(folder)).toMatch(/"failure":".*locked/);
  });

  test("a damaged store, a text file and an empty one", async () => {
    const folder = await stored();
    const bytes = readFileSync(folder.db);
    bytes.fill(0x5a, 4_096);
    writeFileSync(folder.db, bytes);
    await expectSilence(folder, words, PROMPT);
    writeFileSync(folder.db, "not a store, but some text that is long enough to be one".repeat(50));
    await expectSilence(folder, words, { ...PROMPT, session_id: "text" });
    writeFileSync(folder.db, "");
    await expectSilence(folder, words, { ...PROMPT, session_id: "empty" });
  });

  test.runIf(process.getuid?.() === 0)("no permission, but what may be read is read", async () => {
    const folder = await stored();
    chmodSync(folder.path, 0o755);
    process.seteuid!(65_534);
    await expectSilence(folder, words, PROMPT).finally(() => process.seteuid!(0));
    chmodSync(folder.db, 0o644);
    process.seteuid!(65_534); // a folder in which nothing can be written
    const { stdout } = await fire(folder, words, PROMPT).finally(() => process.seteuid!(0));
    expect(stdout).toContain("eu-north-1");
  });

  test("rubbish, no input, and too much of it", async () => {
    const folder = await stored();
    for (const input of ["", "rubbish", "[1]", "null", '{"prompt":']) await expectSilence(folder, words, input);
    await expectSilence(folder, words, { prompt: 5, cwd: {}, session_id: [] });
    await expectSilence(folder, words, { ...PROMPT, prompt: "x".repeat(5_000_000) });
    await expectSilence(folder, words, { ...PROMPT, prompt: "word ".repeat(200_000) });
  });

  test.each(["nothing", "without end"])("an agent that writes %s and leaves the pipe open", async (how) => {
    const folder = await stored();
    const { child, stdout, stderr, ended } = folder.start(["hook", ...words]);
    const writing = setInterval(() => how === "without end" && child.stdin.write("x".repeat(10_000)), 5);
    onTestFinished(() => clearInterval(writing));
    expect({ exitCode: await ended, stdout: stdout(), stderr: stderr() }).toEqual(SILENT);
  });

  test("an unknown agent or event, and no name of either", async () => {
    const folder = await stored();
    await expectSilence(folder, ["prompt", "--agent", "vscode"], PROMPT);
    await expectSilence(folder, ["session-end", "--agent", "claude-code"], PROMPT);
    await expectSilence(folder, ["prompt"], PROMPT);
    await expectSilence(folder, ["session-begin"], PROMPT);
    await expectSilence(folder, ["--agent", "claude-code"], PROMPT);
    await expectSilence(folder, ["--agent=vscode", "prompt", "--new-option"], PROMPT);
    await expectSilence(folder, [], PROMPT);
    expect(logOf(folder)).toContain("The agent vscode or the event prompt is not known");
    const failures = logOf(folder).match(/"failure":"The agent/g);
    expect(failures).toHaveLength(7);
  });

  test("a folder in the place of the log", async () => {
    const folder = await stored();
    mkdirSync(`${folder.db}-coppice-hooks/log.jsonl`, { recursive: true });
    const { exitCode, stderr } = await fire(folder, words, PROMPT);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  });
});
