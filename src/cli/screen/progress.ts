import { homedir } from "node:os";
import { sep } from "node:path";
import type { ImportProgress, ReadingProgress } from "../../imports/import-files.ts";
import type { FileReport } from "../../imports/import-run.ts";
import type { SurveyedLocation } from "../../imports/survey.ts";
import type { Column } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { formatCount, formatNumber, oneLine } from "./text.ts";

/** A rate is shown after this time, in milliseconds. An earlier rate is misleading. */
const RATE_AFTER_MS = 1_000;

/** Shows an amount, in pieces or bytes. */
export type ShowProgress = (done: number, total?: number) => void;

/** Shows the progress of one stage, such as `embedding`, with its rate and, if the total is known, the time left. */
export function progressOf(
  terminal: Terminal,
  label: string,
  format: (amount: number) => string = formatNumber,
): ShowProgress {
  let start: { atMs: number; done: number } | undefined;
  return (done, total) => {
    if (!terminal.showsProgress) return;
    start ??= { atMs: performance.now(), done };
    const elapsedMs = performance.now() - start.atMs;
    const facts = [`${label}: ${format(done)}${total === undefined ? "" : ` of ${format(total)}`}`];
    const perSecond = ((done - start.done) / elapsedMs) * 1_000;
    if (elapsedMs >= RATE_AFTER_MS && perSecond > 0) {
      facts.push(`${format(Math.round(perSecond))}/s`);
      if (total !== undefined) facts.push(`${duration((total - done) / perSecond)} left`);
    }
    terminal.progress(facts.join(" · "));
  };
}

/** Writes a duration as `42 s`, `3 min` or `2 h`, rounded up. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.max(0, Math.ceil(seconds))} s`;
  return seconds < 90 * 60 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3_600)} h`;
}

// Commands that read transcripts print this while they read, and at the end.

/** The time between two lines in a log, in milliseconds. */
const LOG_EVERY_MS = 10_000;

/** The time left is shown after this time, in milliseconds, and after this share of the bytes. An earlier guess is misleading. */
const LEFT_AFTER_MS = 1_000;
const LEFT_AFTER_SHARE = 0.02;

type Location = Pick<SurveyedLocation, "agent" | "path"> & { fileCount?: number | null };

/** The agent that keeps its transcripts where a file is. */
function agentAt(path: string, locations: readonly Location[]): string | undefined {
  const found = locations.find((location) => path === location.path || path.startsWith(`${location.path}${sep}`));
  return found?.agent ?? undefined;
}

/** Returns the path as a person at a terminal would write it, with `~` for the home folder. A pipe gets all of it. */
export function shortPath(path: string, { width }: Pick<Terminal, "width">): string {
  const home = homedir();
  const isBelow = width !== undefined && (path === home || path.startsWith(`${home}${sep}`));
  return oneLine(isBelow ? `~${path.slice(home.length)}` : path);
}

/**
 * Returns a function that shows how far the reading of files has come: on a terminal in one line, `Codex 42/60 · 8,310 messages ·
 * 20 s left`, and in a log in a line now and then.
 *
 * @param options.isLogged  False if only a terminal gets it.
 */
export function readingProgress(
  terminal: Terminal,
  { locations = [], isLogged }: { locations?: readonly Location[]; isLogged: boolean },
): (progress: ImportProgress) => void {
  const summarizing = progressOf(terminal, "summarizing sessions");
  const countOf = agentCounter(locations);
  const begunMs = performance.now();
  let loggedMs = begunMs;
  return (progress) => {
    if (progress.phase === "summarize") return summarizing(progress.doneCount, progress.totalCount);
    if (progress.phase === "embed")
      return terminal.progress(`embedding: ${formatCount(progress.waitingCount, "message")} to go`);
    const count = countOf(progress);
    const nowMs = performance.now();
    const isDue = isLogged && nowMs - loggedMs >= LOG_EVERY_MS;
    if (!terminal.showsProgress && !isDue) return;
    const facts = [count, formatCount(progress.messageCount, "message")];
    const { doneBytes, totalBytes } = progress;
    const leftMs = ((nowMs - begunMs) / doneBytes) * (totalBytes - doneBytes);
    const isTelling = doneBytes > LEFT_AFTER_SHARE * totalBytes && nowMs - begunMs >= LEFT_AFTER_MS;
    if (isTelling) facts.push(`${duration(leftMs / 1_000)} left`);
    const line = facts.join(" · ");
    if (terminal.showsProgress) return terminal.progress(line);
    loggedMs = nowMs;
    terminal.note(line);
  };
}

/** Returns a function that counts the files of each agent: `Codex 42/60`, or `42/60 files` if nobody knows whose the file is. */
function agentCounter(locations: readonly Location[]): (progress: ReadingProgress) => string {
  const doneCounts = new Map<string, number>();
  let pathBefore: string | undefined;
  return ({ path, doneCount, totalCount }) => {
    const done = pathBefore === undefined || pathBefore === path ? undefined : agentAt(pathBefore, locations);
    if (done !== undefined) doneCounts.set(done, (doneCounts.get(done) ?? 0) + 1);
    pathBefore = path;
    const agent = agentAt(path, locations);
    if (agent === undefined) return `${doneCount}/${formatCount(totalCount, "file")}`;
    const total = locations.reduce((sum, one) => sum + (one.agent === agent ? (one.fileCount ?? 0) : 0), 0);
    return `${agent} ${Math.min(doneCounts.get(agent) ?? 0, total)}/${total}`;
  };
}

interface AgentRow {
  agent: string;
  fileCount: number;
  sessionCount: number;
  newCount: number;
}

export const AGENT_COLUMNS: readonly Column<AgentRow>[] = [
  { header: "Agent", value: ({ agent }) => agent },
  { header: "Files", value: ({ fileCount }) => fileCount },
  { header: "Sessions", value: ({ sessionCount }) => sessionCount },
  { header: "New messages", value: ({ newCount }) => newCount },
];

/** Adds up what came from each agent. A file elsewhere counts for its format. */
export function agentRows(
  reports: Iterable<Pick<FileReport, "path" | "format" | "newCount"> & { sessionIds: readonly string[] }>,
  locations: readonly Location[],
): AgentRow[] {
  const rows = new Map<string, { paths: Set<string>; sessionIds: Set<string>; newCount: number }>();
  for (const { path, format, sessionIds, newCount } of reports) {
    const agent = agentAt(path, locations) ?? format ?? "";
    const row = rows.get(agent) ?? { paths: new Set(), sessionIds: new Set(), newCount: 0 };
    rows.set(agent, row);
    row.paths.add(path);
    for (const id of sessionIds) row.sessionIds.add(id);
    row.newCount += newCount;
  }
  const counted = [...rows].map(([agent, { paths, sessionIds, newCount }]) => {
    return { agent, fileCount: paths.size, sessionCount: sessionIds.size, newCount };
  });
  return counted.sort((left, right) => right.newCount - left.newCount);
}
