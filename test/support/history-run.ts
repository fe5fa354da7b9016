import type { AppendResult, MessageInput, RenderResult } from "../../src/index.ts";
import type { Event } from "./history.ts";
import { user } from "./said.ts";
import type { WorkerPool } from "./worker-pool.ts";
import type { Command, Outcome, WorkerProcess } from "./worker-process.ts";

const SETTINGS = { hotSize: 3, overlap: 1, evictBatch: 3, maxThemes: 2, openClustersMax: 3, resolveTokensMin: 40 };
const TOKENS_MAX = 1_500;
const SUBJECTS = ["deploy region bucket lock", "parser template brace token", "invoice currency billing tax"];

/** What a process is to do next, and to which session. */
export interface Move {
  session: string;
  kind:
    | "append"
    | "batch"
    /** Append, unless the session has changed since the process last looked. */
    | "expect"
    /** Pass all that this process has said so far, and something new. */
    | "sync"
    /** Pass the next few of an array that all processes share. */
    | "syncShared"
    | "compact"
    | "resolve"
    | "render";
}

export interface Program {
  moves: Move[];
  /** Moves after whose outcome the process is killed, and goes on as another; not at all if left out. */
  killAfter?: number;
}

/** What was seen of one session, for `historyFaults`, and its renders, for whoever knows what they must show. */
export interface SessionHistory {
  events: Event[];
  renders: RenderResult[];
  /** Codes of the store's refusals. */
  refusals: string[];
}

/**
 * A message that is known by its first word. What a process says on its own has an id, too: who passes an array to `sync`
 * that lacks what others have said, and holds what was refused, cannot be matched by content alone.
 */
export function messageOf(key: string): MessageInput {
  const text = `${key} ${SUBJECTS[key.length % 3]} ${SUBJECTS[(key.charCodeAt(1) + key.length) % 3]}`;
  return key.startsWith("shared") ? user(text) : user(text, { id: key });
}

export function keyOf(text: string): string {
  return text.split(" ")[0]!;
}

/**
 * Run the programs at the same time, each in a process of its own, on one file.
 *
 * @returns what was seen, by session.
 */
export async function runPrograms(
  pool: WorkerPool,
  path: string,
  programs: readonly Program[],
): Promise<Map<string, SessionHistory>> {
  const histories = new Map<string, SessionHistory>();
  const workers = await pool.on(path, programs.length);
  const runs = programs.map(async ({ moves, killAfter }, index) => {
    const name = `p${index}`;
    const planned = planOf(name, moves);
    const outcomes = await runUntilKilled(workers[index]!, planned, killAfter);
    record(histories, name, planned, outcomes);
    if (killAfter === undefined) return;
    // A worker does nothing before it has said what came of the last thing. So only one is in doubt, and the new one goes
    // on behind it. It does not know whether it happened, but passes it to `sync`.
    const rest = planned.slice(outcomes.length + 1);
    const successor = pool.replace(workers[index]!);
    await successor.do({ do: "open", path });
    record(histories, `${name} again`, rest, await successor.run(rest.map(({ command }) => command)));
  });
  await Promise.all(runs);
  return histories;
}

/** A command, and the keys of the messages that it is about. */
interface Planned {
  command: Command & { session: string };
  keys: string[];
}

function planOf(name: string, moves: readonly Move[]): Planned[] {
  const said = new Map<string, string[]>();
  let sharedCount = 0;
  return moves.map(({ session, kind }, index): Planned => {
    const base = { session, settings: SETTINGS };
    const mine = said.get(session) ?? [];
    const fresh = (count: number): string[] => {
      const keys = Array.from({ length: count }, (_, place) => `${name}-${index}-${place}`);
      said.set(session, [...mine, ...keys]);
      return keys;
    };
    const append = (keys: string[], expecting: boolean): Planned => ({
      command: { ...base, do: "append", messages: keys.map(messageOf), expecting },
      keys,
    });
    const sync = (keys: string[]): Planned => ({
      command: { ...base, do: "sync", history: keys.map(messageOf) },
      keys,
    });
    if (kind === "append" || kind === "expect") return append(fresh(1), kind === "expect");
    if (kind === "batch") return append(fresh(4), false);
    if (kind === "sync") return sync([...mine, ...fresh(2)]);
    if (kind === "syncShared") {
      sharedCount += 2;
      return sync(Array.from({ length: sharedCount }, (_, place) => `shared-${place}`));
    }
    if (kind === "render") return { command: { ...base, do: "render", tokensMax: TOKENS_MAX }, keys: [] };
    return { command: { ...base, do: kind }, keys: [] };
  });
}

async function runUntilKilled(
  worker: WorkerProcess,
  planned: readonly Planned[],
  killAfter: number | undefined,
): Promise<Outcome[]> {
  let killing: Promise<void> | undefined;
  const outcomes = await worker.run(
    planned.map(({ command }) => command),
    (index) => {
      if (index === killAfter) killing = worker.kill();
    },
  );
  await killing;
  return outcomes;
}

/** Note what one process has seen. The first thing that it has not told the end of may have happened or not. */
function record(
  histories: Map<string, SessionHistory>,
  process: string,
  planned: readonly Planned[],
  outcomes: readonly Outcome[],
): void {
  planned.slice(0, outcomes.length + 1).forEach(({ command, keys }, index) => {
    const history = histories.get(command.session) ?? { events: [], renders: [], refusals: [] };
    histories.set(command.session, history);
    const { events, renders, refusals } = history;
    const outcome = outcomes[index];
    const from = outcome?.fromNs ?? outcomes[index - 1]?.toNs ?? 0;
    const span = { process, from, to: outcome?.toNs ?? Number.POSITIVE_INFINITY };
    const { error, value } = outcome ?? {};
    if (error !== undefined) {
      refusals.push(error.code);
      if (error.code === "SESSION_CHANGED")
        events.push({ kind: "read", ...span, count: Number(error.details.seqFound) });
    }
    if (command.do === "append" || command.do === "sync") {
      const seqs = (value as AppendResult[] | undefined)?.map(({ seq }) => seq);
      events.push({ kind: command.do, ...span, keys, answer: seqs ?? (error === undefined ? "unknown" : "refused") });
    } else if (command.do === "render" && value !== undefined) {
      const render = value as RenderResult;
      renders.push(render);
      events.push({ kind: "read", ...span, count: shownCount(render) });
    }
  });
}

/** Messages that a render accounts for: all that the session had. */
export function shownCount({ sources, omitted }: RenderResult): number {
  return [...sources, ...omitted].reduce((sum, { messageCount }) => sum + messageCount, 0);
}
