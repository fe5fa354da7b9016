import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import { withVerdict } from "../../core/verdicts.ts";
import type { CommandWay, FileSession, Fix, Friction, Replaced } from "../../session/aids/past-work.ts";
import { projectNamer } from "../../session/aids/project-meant.ts";
import { sessionNames } from "../../session/aids/session-name.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { wholeNumberOption } from "../options.ts";
import { cutToWidth, displayWidth } from "../screen/display-width.ts";
import { messageHandle } from "../screen/message-lines.ts";
import { idsShown } from "../screen/short-ids.ts";
import type { Terminal } from "../screen/terminal.ts";
import { changedNote, formatCount, oneLine } from "../screen/text.ts";
import { sectionLines, timeFor, titleLine } from "../screen/topic-lines.ts";
import { findProject, projectHere } from "../stores/find-project.ts";
import { PROJECT_OPTION } from "../stores/scope.ts";

interface Flags {
  project?: string;
  limit: number;
}

const LIMIT_DEFAULT = 10;
/** The most lines of each kind below a session. */
const LINES_MAX = 3;
const PATH_WIDTH_MIN = 20;
/** The most steps that are shown of what made an error go. */
const STEPS_MAX = 6;

const OPTIONS = [PROJECT_OPTION, wholeNumberOption("limit", "most rows", 0, PAGE_LIMIT_MAX).default(LIMIT_DEFAULT)];

function scoped(store: Store, { project, limit }: Flags): { project?: string; limit: number } {
  return { limit, ...(project !== undefined && { project: findProject(store, project) }) };
}

export const fileCommand: Command<Flags & { restore?: boolean }> = {
  usage: "file <path>",
  summary: "Show which sessions read or changed a file, why, and what was decided about it.",
  details:
    "The last session is first. Each change shows what was said about it, and ends with the message that `expand` accepts. " +
    "With --restore: what the newest change replaced, word for word, as far as the call says it. Nothing is written.",
  argument: "a path, or its end: store/open.ts",
  options: [...OPTIONS, new Option("--restore", "print what the newest change of the file replaced")],
  paged: true,
  examples: ["src/store/open.ts", "open.ts --project web --json", "src/store/open.ts --restore"],

  async run({ args: [path], options, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    // A file that is here is meant, and not one of another project with the same path.
    const wanted = existsSync(path!) ? resolve(path!) : path!;
    if (options.restore === true) {
      const [newest] = store.work.replaced(wanted, { ...scoped(store, options), limit: 1 });
      return { value: { path, replaced: newest ?? null }, lines: restoredLines(newest, path!) };
    }
    const asked = scoped(store, options);
    const here = store.work.file(wanted, asked);
    const sessions = hereFirst(store, here.length === 0 && wanted !== path ? store.work.file(path!, asked) : here);
    return { value: { path, sessions }, lines: fileLines(sessions, path!, store, terminal) };
  },
};

/** Puts what is of the project in this folder first. */
function hereFirst<T extends { project: string | null }>(store: Store, found: readonly T[]): T[] {
  const here = projectHere(store);
  return [...found].sort((left, right) => Number(right.project === here) - Number(left.project === here));
}

function restoredLines(newest: Replaced | undefined, path: string): string[] {
  if (newest !== undefined) return newest.texts;
  throw new Failure("NOTHING_REPLACED", `No stored change of ${path} says what it replaced.`, {
    hint: `\`coppice file ${path}\` lists the sessions that changed it.`,
  });
}

function* fileLines(
  sessions: readonly FileSession[],
  path: string,
  store: Store,
  terminal: Terminal,
): Generator<string> {
  if (sessions.length === 0) {
    terminal.note(`No stored session has read or changed ${path}.`);
    terminal.hint(`Next: coppice recall ${path}, for messages that name it`);
    return;
  }
  const names = sessionNames(
    store,
    sessions.map(({ sessionId }) => sessionId),
  );
  const idOf = idsShown(store, terminal);
  const nameOf = projectNamer(store);
  for (const { sessionId, project, path, lastAtMs, readCount, changeCount, changes, decided } of sessions) {
    yield titleLine(names.get(sessionId) ?? "", `session ${idOf(sessionId)}`, terminal);
    const counts = [
      timeFor(terminal, lastAtMs),
      ...(changeCount > 0 ? [formatCount(changeCount, "change")] : []),
      ...(readCount > 0 ? [formatCount(readCount, "read")] : []),
    ];
    const facts = `${[oneLine(nameOf(project)), ...counts].filter(Boolean).join(" · ")} · `;
    const room = terminal.columns - displayWidth(facts);
    yield terminal.style("dim", facts + cutToWidth(oneLine(path), Math.max(PATH_WIDTH_MIN, room), "start"));
    const rows = (lines: FileSession["changes"]): { text: string; source: string }[] =>
      lines
        .slice(0, LINES_MAX)
        .map((line) => ({ text: withVerdict(line) || "(nothing was said)", source: messageHandle(line.messageId) }));
    const changed = store.work.changedSince(sessionId);
    if (changed.length > 0) {
      const isThis = changed.some((one) => one === path || one.endsWith(`/${path}`));
      yield terminal.style("dim", `${changedNote(changed.length)}${isThis ? ", this one too" : ""}`);
    }
    yield* sectionLines("changed", rows(changes), terminal);
    yield* sectionLines("decided", rows(decided), terminal);
    yield "";
  }
}

export const fixCommand: Command<Flags> = {
  usage: "fix [error...]",
  aliases: ["friction"],
  summary: "Show what made an error go when it came up before, or which errors keep coming back.",
  details:
    "Quotes, paths, numbers and addresses in the error do not count. A fix is what was changed and run between the failure and the first " +
    "success of the same call. If the error is not known, similar ones are shown. Without an error: those that came back in three sessions or more. " +
    "If a word begins with a dash, put `--` before the error. With --json: {fixes}; without an error {errors}.",
  argument: "the error's line, or all of the output in quotes",
  options: OPTIONS,
  paged: true,
  examples: ["undefined: errors", "'undefined: errors (typecheck)'", '"$(npm test 2>&1)" --project web', ""],

  async run({ args, options, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    if (args.length === 0) {
      const errors = store.work.friction(scoped(store, options));
      return { value: { errors }, lines: frictionLines(errors, terminal) };
    }
    const fixes = store.work.fixes(args.join(" "), scoped(store, options));
    return { value: { fixes }, lines: fixLines(fixes, store, terminal) };
  },
};

function* fixLines(fixes: readonly Fix[], store: Store, terminal: Terminal): Generator<string> {
  if (fixes.length === 0) {
    terminal.note("No stored session had this error and got rid of it.");
    terminal.hint("Next: coppice recall '<words of the error>', for messages that speak of it");
    return;
  }
  const idOf = idsShown(store, terminal);
  for (const fix of fixes) yield* linesOfFix(fix, idOf(fix.sessionId), terminal);
}

function* linesOfFix(fix: Fix, shownId: string, terminal: Terminal): Generator<string> {
  const { error, similar, atMs, failedMessageId, curedMessageId, succeeded, steps, said } = fix;
  yield titleLine(similar ? `similar: ${error}` : error, `session ${shownId}`, terminal);
  yield terminal.style("dim", `${timeFor(terminal, atMs)} · failed at ${messageHandle(failedMessageId)}`);
  if (said !== null)
    yield* sectionLines("said", [{ text: said.text, source: messageHandle(said.messageId) }], terminal);
  const shown = steps.slice(-STEPS_MAX).map(({ kind, target, text, messageId }) => {
    const did = kind === "run" ? target : `${kind} ${target}`;
    return { text: text === "" ? did : `${did}: ${text}`, source: messageHandle(messageId) };
  });
  yield* sectionLines("did", shown, terminal);
  yield* sectionLines("worked", [{ text: succeeded, source: messageHandle(curedMessageId) }], terminal);
  yield "";
}

export const howCommand: Command<Flags> = {
  usage: "how <command...>",
  summary: "Show how a command is really called here, what worked and what failed.",
  details:
    "What was called in the project of this folder is first, then the ways that worked most often. The error of a way that failed is " +
    "shown without paths and numbers.",
  argument: "a program or tool, or the beginning of its command line: go test",
  options: OPTIONS,
  paged: true,
  examples: ["go test", "npm run --project web", "docker compose --json"],

  async run({ args, options, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const command = args.join(" ");
    const ways = waysHereFirst(store, command, scoped(store, options));
    return { value: { command, ways }, lines: wayLines(ways, command, store, terminal) };
  },
};

/** Returns the ways of the project in this folder, and then those of others, as far as the limit leaves room. */
function waysHereFirst(store: Store, command: string, asked: ReturnType<typeof scoped>): CommandWay[] {
  const all = store.work.ways(command, asked);
  const here = projectHere(store);
  if (asked.project !== undefined || here === undefined) return all;
  const own = store.work.ways(command, { ...asked, project: here });
  return [...own, ...all.filter(({ project }) => project !== here)].slice(0, asked.limit);
}

function* wayLines(ways: readonly CommandWay[], command: string, store: Store, terminal: Terminal): Generator<string> {
  if (ways.length === 0) {
    terminal.note(`No stored session has run ${command}.`);
    return;
  }
  const isOfOne = new Set(ways.map(({ project }) => project)).size === 1;
  const nameOf = projectNamer(store);
  const rowOf = (count: number, way: CommandWay, messageId: number): { text: string; source: string } => {
    const place = isOfOne || way.project === null ? "" : `  · ${nameOf(way.project)}`;
    return { text: `${count} ×  ${way.command}${place}`, source: messageHandle(messageId) };
  };
  const worked = ways.filter(({ okCount }) => okCount > 0);
  yield* sectionLines(
    "worked",
    worked.map((way) => rowOf(way.okCount, way, way.messageId)),
    terminal,
  );
  for (const way of ways) {
    if (way.failedMessageId === null) continue;
    yield* sectionLines("failed", [rowOf(way.failedCount, way, way.failedMessageId)], terminal);
    if (way.error !== null) yield `${" ".repeat(12)}${terminal.style("dim", way.error)}`;
  }
}

function* frictionLines(friction: readonly Friction[], terminal: Terminal): Generator<string> {
  if (friction.length === 0) {
    terminal.note("No error came back in three sessions.");
    terminal.hint("Next: coppice fix '<an error>', for what made it go before");
  }
  for (const { error, sessionCount, count, lastAtMs, command, messageId, fix } of friction) {
    yield titleLine(error, messageHandle(messageId), terminal);
    const counts = `${formatCount(count, "time")} in ${formatCount(sessionCount, "session")}, last ${timeFor(terminal, lastAtMs)}`;
    yield terminal.style("dim", counts);
    yield* sectionLines("failed", [{ text: command, source: messageHandle(messageId) }], terminal);
    if (fix !== null) {
      const did = [...fix.steps.map(({ target }) => target).slice(-2), fix.succeeded].join(", then ");
      yield* sectionLines("worked", [{ text: did, source: messageHandle(fix.curedMessageId) }], terminal);
    }
    yield "";
  }
}
