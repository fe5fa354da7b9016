import { rememberedTold, withVerdict } from "../../core/verdicts.ts";
import type { NearTheme } from "../../session/aids/near-themes.ts";
import type { Remembered } from "../../session/aids/remembered.ts";
import { isSame } from "../../session/aids/session-name.ts";
import type { Store } from "../../session/store.ts";
import { cutToWidth, displayWidth } from "./display-width.ts";
import { messageHandle, speaker } from "./message-lines.ts";
import type { Terminal } from "./terminal.ts";
import { formatCount, formatMoment, formatTime, oneLine } from "./text.ts";
import { wrapped } from "./wrap.ts";

type Topic = ReturnType<Store["recap"]>["topics"][number];
type SubjectDetails = ReturnType<Store["subject"]>;

/** A line of a section, with the message or handle to type after `coppice expand`. */
export interface Row {
  text: string;
  source: string;
}

const NAME_WIDTH = 10;
const GAP = "  ";
/** A text is not cut below this width, in columns. In a very narrow terminal, its line wraps instead. */
const TEXT_WIDTH_MIN = 20;

/** Yields the rows of a section, the first with the section's name, if it has one. A terminal shows what fits; a pipe gets all of it. */
export function* sectionLines(
  name: string,
  rows: readonly Row[],
  terminal: Terminal,
  cut: "end" | "start" = "end",
): Generator<string> {
  for (const [index, { text, source }] of rows.entries()) {
    const start = GAP + (index === 0 ? name : "").padEnd(name === "" ? 0 : NAME_WIDTH);
    const line = oneLine(text);
    if (terminal.width === undefined) {
      yield `${start}${line}\t${source}`;
      continue;
    }
    const room = terminal.width - displayWidth(start) - GAP.length - source.length;
    const shown = cutToWidth(line, Math.max(TEXT_WIDTH_MIN, room), cut);
    yield `${terminal.style("bold", start)}${shown}${GAP}${terminal.style("dim", source)}`;
  }
}

/** Yields what was said, each message with its number. A terminal wraps it. The words of a user are marked. */
export function* toldRows(told: Topic["told"], terminal: Terminal): Generator<string> {
  for (const { messageId, by, ...said } of told) {
    const who = by === "user" ? `${speaker({ role: by }, terminal)}: ` : "";
    const line = `${who}${oneLine(withVerdict(said))}${GAP}${messageHandle(messageId)}`;
    yield wrapped(line, terminal.columns - GAP.length).replace(/^/gm, GAP);
  }
}

export function workedRows(worked: SubjectDetails["timeline"], terminal: Terminal): Row[] {
  return worked.map(({ cluster, title, lastAtMs }) => ({
    text: `${timeFor(terminal, lastAtMs)}${GAP}${title || "(no words)"}`,
    source: cluster,
  }));
}

/** The most lines of what is remembered. */
export const REMEMBERED_MAX = 5;

/** Yields a section with what people asked to remember, and did not take back. */
export function rememberedLines(remembered: readonly Remembered[], terminal: Terminal): Generator<string> {
  const held = remembered.filter(({ verdict }) => verdict === undefined);
  const rows = held.slice(0, REMEMBERED_MAX).map((one) => {
    return { text: rememberedTold(one), source: messageHandle(one.messageId) };
  });
  return sectionLines("remember", rows, terminal);
}

/** Yields the sections on decisions, open ends and files. */
export function* outcomeLines(
  { decided, open, files }: Pick<SubjectDetails, "decided" | "open" | "files">,
  terminal: Terminal,
): Generator<string> {
  yield* sectionLines("decided", decidedRows(decided), terminal);
  yield* sectionLines("open", openRows(open), terminal);
  yield* sectionLines("files", fileRows(files), terminal, "start"); // the end of a path tells files apart
}

function decidedRows(decided: SubjectDetails["decided"]): Row[] {
  return decided.flatMap(({ messageId, replaces, ...said }) => [
    { text: withVerdict(said), source: messageHandle(messageId) },
    ...replaces.map((older) => ({ text: `  before: ${older.text}`, source: messageHandle(older.messageId) })),
  ]);
}

function fileRows(files: SubjectDetails["files"]): Row[] {
  return files.map(({ text, messageId }) => ({ text, source: messageHandle(messageId) }));
}

function openRows(open: SubjectDetails["open"]): Row[] {
  return open.map(({ kind, messageId, by, ...said }) => {
    // A request of the user is not an item of a task list, so it is not shown as one.
    const name = kind === "task" && by === "user" ? "asked" : kind;
    return { text: `${name}: ${withVerdict(said)}`, source: messageHandle(messageId) };
  });
}

export function timeFor({ width }: Terminal, unixMs: number): string {
  return width === undefined ? formatTime(unixMs) : formatMoment(unixMs, Date.now());
}

/** Returns when something began and ended, or one time if both are the same to the minute. */
export function timesFor(
  terminal: Terminal,
  { firstAtMs, lastAtMs }: Pick<SubjectDetails, "firstAtMs" | "lastAtMs">,
): string {
  const [first, last] = [timeFor(terminal, firstAtMs), timeFor(terminal, lastAtMs)];
  return first === last ? first : `${first} – ${last}`;
}

/** Returns a title and the handle of what it names. */
export function titleLine(title: string, source: string, terminal: Terminal): string {
  const line = oneLine(title || "(no words)");
  const room = terminal.columns - GAP.length - source.length;
  const shown = displayWidth(line) <= room ? line : cutToWidth(line, Math.max(TEXT_WIDTH_MIN, room));
  return `${terminal.style("bold", shown)}${GAP}${terminal.style("cyan", source)}`;
}

/** Returns a line with the times of the first and the last message, the project, and the counts. */
export function extentLine(
  extent: Pick<SubjectDetails, "project" | "firstAtMs" | "lastAtMs">,
  counts: readonly string[],
  terminal: Terminal,
): string {
  return factsLine([timesFor(terminal, extent), extent.project && oneLine(extent.project), ...counts]);
}

export function factsLine(facts: readonly (string | null)[]): string {
  return facts.filter((fact) => fact !== null && fact !== "").join(" · ");
}

export function countsOf({ sessionCount, messageCount }: { sessionCount: number; messageCount: number }): string[] {
  return [formatCount(sessionCount, "session"), formatCount(messageCount, "message")];
}

/** Yields two lines for each theme: what it is about with its handle, and where it was said. */
export function* themeLines(
  themes: readonly NearTheme[],
  terminal: Terminal,
  idOf: (sessionId: string) => string,
): Generator<string> {
  for (const { theme, label, title, project, agent, author, atMs, sessionId, messageCount } of themes) {
    const room = terminal.columns - displayWidth(theme) - GAP.length;
    const about = cutToWidth(oneLine(label || title || sessionId), room);
    yield `${terminal.style("bold", about)}${GAP}${terminal.style("dim", theme)}`;
    const facts = [
      project,
      agent,
      author && `by ${author}`,
      formatTime(atMs).split(" ")[0],
      `session ${idOf(sessionId)}`,
      formatCount(messageCount, "message"),
      isSame(label, title) ? null : title,
    ];
    const line = GAP + facts.flatMap((fact) => (fact ? [oneLine(fact)] : [])).join(" · ");
    yield terminal.style("dim", cutToWidth(line, terminal.columns));
  }
}

/** Returns the name of a session as the first line about it. */
export function headline(name: string, terminal: Terminal): string {
  return terminal.style("bold", cutToWidth(oneLine(name), terminal.columns));
}
