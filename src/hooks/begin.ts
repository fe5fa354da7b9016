import { byteLengthOf } from "../core/files.ts";
import type { Firing } from "./firing.ts";
import { HookLog, type LogEntry } from "./hook-log.ts";
import { isOffAt, readSwitch } from "./hook-switch.ts";

/** Two installations of the hooks may fire for one event. The second does so within these milliseconds, even on a busy machine. */
const SAME_FIRING_MS = 10_000;

/** What the log says about a session. */
export interface SessionMemory {
  /** Messages that need not be quoted again. */
  quoted: ReadonlySet<number>;
  /** When the agent last compacted the session. Messages from before are no longer in its context. */
  compactedAtMs: number | undefined;
  /** True if no hook has quoted anything since then. */
  isBare: boolean;
  /** The files and commands that a hook has warned of, by their digests. */
  warned: ReadonlySet<string>;
  /** See `HookLog.digest`. */
  digest(text: string): string;
}

export interface BegunFiring {
  memory: SessionMemory;
  /** Identifies the firing in the log. */
  id: string;
  /** Records the end of the firing in the log. */
  end(outcome: Pick<LogEntry, "failure" | "quoted" | "tokens" | "importing" | "about">): void;
}

/**
 * Records the start of a firing in the log.
 *
 * @returns undefined if hooks are off here, or if another process is answering the same event.
 */
export function begin(storePath: string, firing: Firing, startMs: number): BegunFiring | undefined {
  if (isOffAt(readSwitch(storePath), firing.cwd)) return undefined;
  const log = new HookLog(storePath);
  // There are hundreds of actions in a session, so they are in the log only if something was said.
  const isAction = firing.event === "before-action";
  const own: LogEntry = {
    atMs: startMs,
    agent: firing.agent,
    event: firing.event,
    session: firing.sessionId,
    key: isAction ? "" : log.digest(keyOf(firing)),
    id: `${process.pid}-${Math.random().toString(36).slice(2, 8)}`,
  };
  if (!isAction) log.add(own);
  const entries = log.entries();
  if (!isAction && isRepeated(entries, own)) return undefined;
  const end = (outcome: Partial<LogEntry>): void => {
    if (isAction && outcome.quoted === undefined) return;
    const atMs = Date.now();
    log.add({ ...own, ...outcome, key: "", atMs, ms: atMs - startMs });
  };
  const memory = { ...memoryOf(entries, firing.sessionId), digest: (text: string) => log.digest(text) };
  return { memory, id: own.id, end };
}

/** Returns true if another process logged the same event first. All processes see the lines of the log in the same order. */
function isRepeated(entries: readonly LogEntry[], own: LogEntry): boolean {
  const first = entries.find(
    ({ key, atMs, ms }) => key === own.key && ms === undefined && own.atMs - atMs < SAME_FIRING_MS,
  );
  return first !== undefined && first.id !== own.id;
}

function memoryOf(entries: readonly LogEntry[], session: string): Omit<SessionMemory, "digest"> {
  const quoted = new Set<number>();
  const warned = new Set<string>();
  let compactedAtMs: number | undefined;
  let isBare = false;
  for (const entry of entries) {
    if (entry.session !== session || entry.ms === undefined) continue;
    const isCompaction = entry.event.endsWith("compaction");
    if (isCompaction) compactedAtMs = entry.atMs;
    if (isCompaction || entry.event === "session-start") quoted.clear();
    if (entry.event === "before-compaction") isBare = true;
    else if (entry.quoted !== undefined && entry.about === undefined) isBare = false;
    else if (isCompaction) isBare = true;
    if (entry.about !== undefined) warned.add(entry.about);
    if (entry.event !== "before-compaction") for (const id of entry.quoted ?? []) quoted.add(id);
  }
  return { quoted, compactedAtMs, isBare, warned };
}

/** Identifies an event, by the agent's session and what the user or the agent did. Each turn makes the transcript longer. */
function keyOf({ event, sessionId, source, prompt, transcriptPath }: Firing): string {
  const what = event === "turn-end" ? [byteLengthOf(transcriptPath ?? "")] : [source, prompt];
  return JSON.stringify([event, sessionId, ...what]);
}
