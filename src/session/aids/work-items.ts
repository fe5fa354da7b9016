import { StoreError } from "../../core/errors.ts";
import type { Role } from "../../core/message.ts";
import { withVerdict } from "../../core/verdicts.ts";
import type { Store } from "../store.ts";
import type { CommandWay, FileSession, Fix, Friction, WorkOptions } from "./past-work.ts";
import { projectNamer } from "./project-meant.ts";
import { sessionNames } from "./session-name.ts";

/** The most changes and decisions of a session, and steps of a fix, that are named. */
const LINES_MAX = 5;

/** A question about past work. Without any of these, it asks for errors that keep coming back. */
export interface WorkQuestion {
  file?: string | undefined;
  error?: string | undefined;
  command?: string | undefined;
}

/** Who said a text: `coppice` for a title or a count that Coppice made. */
type Speaker = Role | "coppice";

interface WorkItemLine {
  kind: string;
  by: Speaker;
  text: string;
  messageId: number;
}

/** One answer about past work, in the same shape for all questions. Texts are quoted from messages. */
export interface WorkItem {
  /** The session's title, the error, or the command. */
  about: string;
  by: Speaker;
  sessionId: string;
  atMs: number;
  lines: WorkItemLine[];
}

/** @throws {StoreError} `OPTION_INVALID` for two questions at once. */
export function workItems(store: Store, asked: WorkQuestion, options: WorkOptions): WorkItem[] {
  const { file, error, command } = asked;
  const given = Object.entries(asked).flatMap(([name, value]) => (value === undefined ? [] : name));
  if (given.length > 1) {
    throw new StoreError("OPTION_INVALID", { option: given.join(" and "), expected: "one of them", actual: given });
  }
  if (file !== undefined) {
    const sessions = store.work.file(file, options);
    const names = sessionNames(
      store,
      sessions.map(({ sessionId }) => sessionId),
    );
    return sessions.map((session) => {
      const changed = store.work.changedSince(session.sessionId);
      const isChanged = changed.some((one) => one === session.path || one.endsWith(`/${session.path}`));
      return fileItem(session, names.get(session.sessionId) ?? "", isChanged);
    });
  }
  if (error !== undefined) return store.work.fixes(error, options).map(fixItem);
  if (command !== undefined) {
    const ways = store.work.ways(command, options);
    const projectOf = new Set(ways.map(({ project }) => project)).size > 1 ? projectNamer(store) : () => "";
    return ways.map((way) => wayItem(way, projectOf(way.project)));
  }
  return store.work.friction(options).map(frictionItem);
}

function fileItem(
  { sessionId, path, lastAtMs, changes, decided, readCount, changeCount }: FileSession,
  title: string,
  isChanged: boolean,
): WorkItem {
  const lines = [
    ...decided.map((line) => ({ kind: "decided", by: line.by, text: withVerdict(line), messageId: line.messageId })),
    ...changes.map((line) => ({ kind: "changed", by: line.by, text: withVerdict(line), messageId: line.messageId })),
  ];
  const only = changeCount === 0 ? ` (only read, ${readCount} ×)` : "";
  const about = `${title} · ${path}${only}${isChanged ? " · changed since" : ""}`;
  return { about, by: "coppice", sessionId, atMs: lastAtMs, lines: lines.slice(0, LINES_MAX) };
}

function fixItem({ error, similar, sessionId, atMs, steps, succeeded, said, curedMessageId }: Fix): WorkItem {
  const lines: WorkItemLine[] = [
    ...(said === null ? [] : [{ kind: "said", by: said.by, text: said.text, messageId: said.messageId }]),
    ...steps.slice(-LINES_MAX).map(({ kind, target, text, messageId }): WorkItemLine => {
      return { kind, by: "assistant", text: text === "" ? target : `${target}: ${text}`, messageId };
    }),
    { kind: "worked", by: "assistant", text: succeeded, messageId: curedMessageId },
  ];
  return { about: similar ? `similar: ${error}` : error, by: "tool", sessionId, atMs, lines };
}

/** @param project  Its name, if there are ways of several projects. */
function wayItem(way: CommandWay, project: string): WorkItem {
  const { command, sessionId, lastAtMs, okCount, failedCount, error, messageId, failedMessageId } = way;
  const counted = (kind: string, count: number, printed: string | null, at: number): WorkItemLine[] => {
    if (count === 0) return [];
    const text = `${count} times${project === "" ? "" : ` in ${project}`}${printed === null ? "" : `: ${printed}`}`;
    return [{ kind, by: printed === null ? "coppice" : "tool", text, messageId: at }];
  };
  const failed = counted("failed", failedCount, error, failedMessageId ?? messageId);
  const lines = [...counted("worked", okCount, null, messageId), ...failed];
  return { about: command, by: "assistant", sessionId, atMs: lastAtMs, lines };
}

function frictionItem({ error, sessionId, lastAtMs, sessionCount, command, messageId, fix }: Friction): WorkItem {
  const text = `${command}, in ${sessionCount} sessions`;
  const lines: WorkItemLine[] = [{ kind: "failed", by: "assistant", text, messageId }];
  if (fix !== null) lines.push(...fixItem(fix).lines);
  return { about: error, by: "tool", sessionId, atMs: lastAtMs, lines };
}
