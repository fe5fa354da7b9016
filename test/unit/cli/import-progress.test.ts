import { homedir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AGENT_COLUMNS, agentRows, readingProgress, shortPath } from "../../../src/cli/screen/progress.ts";
import { tableLines } from "../../../src/cli/screen/table.ts";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import { FakeStream, plainTerminal } from "../../support/fake-terminal.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const LOCATIONS = [
  { agent: "Claude Code", path: "/home/ada/.claude/projects", fileCount: 2 },
  { agent: "Codex", path: "/home/ada/.codex/sessions", fileCount: 3 },
  { agent: "Codex", path: "/home/ada/.codex/archived_sessions", fileCount: 1 },
  { agent: null, path: "/home/ada/notes", fileCount: 4 },
];
const CLAUDE = "/home/ada/.claude/projects/web/a.jsonl";
const CODEX = ["/home/ada/.codex/sessions/b.jsonl", "/home/ada/.codex/archived_sessions/c.jsonl"];

/** Returns what was shown after each step: a file, and how many of ten equal files were read before it. */
function told(steps: readonly [path: string, doneCount: number][], isTTY: boolean, isLogged = true): string[] {
  const stderr = new FakeStream({ isTTY });
  const progress = readingProgress(new Terminal(new FakeStream(), stderr, {}), { locations: LOCATIONS, isLogged });
  return steps.map(([path, doneCount]) => {
    stderr.text = "";
    vi.advanceTimersByTime(4_000);
    const counts = { messageCount: doneCount * 1_000 + 1, doneCount, totalCount: 10 };
    progress({ phase: "read", path, ...counts, doneBytes: doneCount, totalBytes: 10 });
    return stderr.text.split("\u001b[K").at(-1)!;
  });
}

test("shows the agent's files, all messages and the time left in one line", () => {
  const steps = [
    [CLAUDE, 0],
    [CODEX[0], 1],
    [CODEX[1], 2],
    ["/home/ada/notes/d.jsonl", 8],
  ] as [string, number][];
  expect(told(steps, true)).toEqual([
    "Claude Code 0/2 · 1 message",
    "Codex 0/4 · 1,001 messages · 72 s left",
    "Codex 1/4 · 2,001 messages · 48 s left",
    "8/10 files · 8,001 messages · 4 s left",
  ]);
});

test("a log gets a line now and then, unless the output is for programs", () => {
  const steps = [0, 1, 2, 3, 4, 5].map((count): [string, number] => [CLAUDE, count]);
  const line = (count: number, left: number) => `Claude Code 0/2 · ${count},001 messages · ${left} s left\n`;
  expect(told(steps, false)).toEqual(["", "", line(2, 48), "", "", line(5, 24)]);
  expect(told(steps, false, false)).toEqual(["", "", "", "", "", ""]);
});

test("a table adds up what came from each agent, and from other files by format", () => {
  const file = (path: string, format: string, sessionIds: string[], newCount: number) => ({
    ...{ path, format, sessionIds, newCount },
  });
  const reports = [
    file(CLAUDE, "claude-code", ["a"], 5),
    file(CODEX[0]!, "codex", ["b", "c"], 1_000),
    file(CODEX[1]!, "codex", ["c"], 200),
    file("/home/ada/notes/d.jsonl", "jsonl", ["d"], 1),
    file("/home/ada/notes/d.jsonl", "jsonl", ["d"], 1),
  ];
  expect([...tableLines(AGENT_COLUMNS, agentRows(reports, LOCATIONS), plainTerminal(80))]).toEqual([
    "Agent        Files  Sessions  New messages",
    "Codex            2         2         1,200",
    "Claude Code      1         1             5",
    "jsonl            1         1             2",
  ]);
});

test("a person sees ~ for the home folder, and a pipe gets the whole path", () => {
  const path = join(homedir(), ".codex", "a.jsonl");
  expect(shortPath(path, { width: 80 })).toBe(join("~", ".codex", "a.jsonl"));
  expect(shortPath(path, { width: undefined })).toBe(path);
  expect(shortPath(`${homedir()}-old/a.jsonl`, { width: 80 })).toBe(`${homedir()}-old/a.jsonl`);
});
