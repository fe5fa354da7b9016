import { StoreError } from "../../core/errors.ts";
import type { Store } from "../store.ts";
import type { CommandWay, FileSession, Fix, Friction, WorkOptions } from "./past-work.ts";
import { sessionNames } from "./session-name.ts";

/** The most changes and decisions of a session, and steps of a fix, that are named. */
const LINES_MAX = 5;

/** A question about past work. Without any of these, it asks for errors that keep coming back. */
export interface WorkQuestion {
  file?: string | undefined;
  error?: string | undefined;
  command?: string | undefined;
}

/** One answer about past work, in the same shape for all questions. Texts are quoted from messages. */
export interface WorkItem {
  /** The session's title, the error, or the command. */
  about: string;
  sessionId: string;
  atMs: number;
  lines: { kind: string; text: string; messageId: number }[];
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
    return sessions.map((session) => fileItem(session, names.get(session.sessionId) ?? ""));
  }
  if (error !== undefined) return store.work.fixes(error, options).map(fixItem);
  if (command !== undefined) return store.work.ways(command, options).map(wayItem);
  return store.work.friction(options).map(frictionItem);
}

function fileItem(
  { sessionId, lastAtMs, changes, decided, readCount, changeCount }: FileSession,
  title: string,
): WorkItem {
  const lines = [
    ...decided.map(({ text, messageId }) => ({ kind: "decided", text, messageId })),
    ...changes.map(({ text, messageId }) => ({ kind: "changed", text, messageId })),
  ];
  const about = changeCount === 0 ? `${title} (read ${readCount} times)` : title;
  return { about, sessionId, atMs: lastAtMs, lines: lines.slice(0, LINES_MAX) };
}

function fixItem({ error, sessionId, atMs, steps, succeeded, said, curedMessageId }: Fix): WorkItem {
  const lines = [
    ...(said === null ? [] : [{ kind: "said", text: said.text, messageId: said.messageId }]),
    ...steps.slice(-LINES_MAX).map(({ kind, target, text, messageId }) => {
      return { kind, text: text === "" ? target : `${target}: ${text}`, messageId };
    }),
    { kind: "worked", text: succeeded, messageId: curedMessageId },
  ];
  return { about: error, sessionId, atMs, lines };
}

function wayItem({ command, sessionId, lastAtMs, okCount, failedCount, error, messageId }: CommandWay): WorkItem {
  const failed = `${failedCount} times${error === null ? "" : `: ${error}`}`;
  const lines = [
    ...(okCount > 0 ? [{ kind: "worked", text: `${okCount} times`, messageId }] : []),
    ...(failedCount > 0 ? [{ kind: "failed", text: failed, messageId }] : []),
  ];
  return { about: command, sessionId, atMs: lastAtMs, lines };
}

function frictionItem({ error, sessionId, lastAtMs, sessionCount, command, messageId, fix }: Friction): WorkItem {
  const failed = { kind: "failed", text: `${command}, in ${sessionCount} sessions`, messageId };
  return { about: error, sessionId, atMs: lastAtMs, lines: [failed, ...(fix === null ? [] : fixItem(fix).lines)] };
}
