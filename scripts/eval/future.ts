import { estimatingTokenCounter } from "../../src/core/tokens.ts";
import { openStore, type Session, StoreError, type TokenCounter } from "../../src/index.ts";
import { fourCharacters } from "./four-characters.ts";
import { type Cut, cutsOf } from "./future-cuts.ts";
import { mean } from "./measures.ts";
import { inParallel } from "./parallel.ts";
import { type EntireEntry, entireInput, readEntireSessions } from "./recall-data.ts";
import { signTest } from "./sign-test.ts";

const BUDGETS = [1_000, 2_000, 4_000, 8_000] as const;

/** The token counters, by the prefix of their figures' names. */
const COUNTERS: Record<string, TokenCounter | undefined> = { "": undefined, "chars4.": fourCharacters };

/**
 * Measures the use of a resumed context for the work that follows, without a query and without a model.
 *
 * Each coding session of `entire/` is appended message by message to its own store, with `resolveDirty` before each message of
 * the user, and rendered at its cuts (see `cutsOf`). A token is one of the store's counter, or four characters in figures with
 * the prefix `chars4.`.
 *
 * - `future@B`: the mean share, in percent, of a cut's gold that occurs literally in a context of B tokens.
 * - `.recent`, `.recentWithoutResults`: the same for the newest entries that fit into B tokens, with and without tool results.
 * - `.p`: the sign test, cut by cut, against the better of these two.
 * - `.even`, `.odd`: over every other session, so that choices made on one half can be checked on the other.
 * - `future.cuts`, `future.gold`: the number of cuts, and the mean number of files in the gold of a cut.
 * - `future.refused`: renders that `BUDGET_TOO_SMALL` refused. They count as containing nothing.
 *
 * @param dataFolder  The folder with `entire/`. Without it there are no figures, and a note on stderr.
 */
export async function futureFigures(dataFolder: string): Promise<Record<string, number>> {
  const sessions = sessionsOf(dataFolder);
  if (sessions.length === 0) {
    console.error(`No coding sessions in ${dataFolder}: their figures are left out.`);
    return {};
  }
  const cuts = sessions.flatMap((session) => session.cuts);
  const figures: Record<string, number> = {
    "future.cuts": cuts.length,
    "future.gold": rounded(mean(cuts.map(({ gold }) => gold.size))),
  };
  const tasks = Object.keys(COUNTERS).flatMap((prefix) =>
    sessions.map(({ sid }): FutureTask => ({ dataFolder, prefix, sid })),
  );
  const results = await inParallel<FutureTask, Outcome[]>(new URL(import.meta.url), tasks);
  for (const prefix of Object.keys(COUNTERS)) {
    const outcomes = results
      .filter((_, index) => tasks[index]!.prefix === prefix)
      .flatMap((found, index) => found.map((outcome) => ({ ...outcome, isOdd: index % 2 === 1 })));
    for (const tokensMax of BUDGETS) {
      const name = `${prefix}future@${tokensMax}`;
      const at = outcomes.filter((outcome) => outcome.tokensMax === tokensMax);
      figures[name] = percent(at, "share");
      figures[`${name}.recent`] = percent(at, "recent");
      figures[`${name}.recentWithoutResults`] = percent(at, "recentWithoutResults");
      const more = at.filter((outcome) => outcome.share > bestRecent(outcome)).length;
      const less = at.filter((outcome) => outcome.share < bestRecent(outcome)).length;
      figures[`${name}.p`] = Number(signTest(more, less).toPrecision(2));
      figures[`${name}.even`] = percent(
        at.filter(({ isOdd }) => !isOdd),
        "share",
      );
      figures[`${name}.odd`] = percent(
        at.filter(({ isOdd }) => isOdd),
        "share",
      );
    }
    figures[`${prefix}future.refused`] = outcomes.filter(({ refused }) => refused).length;
  }
  return figures;
}

/** The shares of a cut's gold that the context and the baselines contain, in [0, 1]. */
interface Outcome {
  tokensMax: number;
  share: number;
  recent: number;
  recentWithoutResults: number;
  refused: boolean;
}

interface FutureTask {
  dataFolder: string;
  prefix: string;
  sid: string;
}

interface CutSession {
  sid: string;
  entries: EntireEntry[];
  cuts: Cut[];
}

let read: { dataFolder: string; sessions: CutSession[] } | undefined;

/** Returns the sessions that have cuts. Each process reads them once. */
function sessionsOf(dataFolder: string): CutSession[] {
  if (read?.dataFolder !== dataFolder) {
    const sessions = readEntireSessions(dataFolder)
      .map(({ sid, messages }) => ({ sid, entries: messages, cuts: cutsOf(messages) }))
      .filter(({ cuts }) => cuts.length > 0);
    read = { dataFolder, sessions };
  }
  return read.sessions;
}

export function run({ dataFolder, prefix, sid }: FutureTask): Promise<Outcome[]> {
  return replay(sessionsOf(dataFolder).find((session) => session.sid === sid)!, COUNTERS[prefix]);
}

/** Renders a session at all its cuts from one store, because later messages do not change an earlier context. */
async function replay(
  { entries, cuts }: CutSession,
  tokenCounter: TokenCounter = estimatingTokenCounter,
): Promise<Outcome[]> {
  const store = openStore(":memory:", { tokenCounter });
  const outcomes: Outcome[] = [];
  try {
    const session = store.session("resumed");
    let appended = 0;
    for (const { entryCount, gold } of cuts) {
      for (; appended < entryCount; appended++) {
        const entry = entries[appended]!;
        if (entry.role === "user") await session.resolveDirty();
        session.append(entireInput(entry));
      }
      const before = entries.slice(0, entryCount);
      const withoutResults = before.filter(({ kind }) => kind !== "tool_result");
      const shareIn = (text: string) => [...gold].filter((name) => text.includes(name)).length / gold.size;
      for (const tokensMax of BUDGETS) {
        const text = rendered(session, tokensMax);
        outcomes.push({
          tokensMax,
          share: shareIn(text ?? ""),
          recent: shareIn(newestOf(before, tokensMax, tokenCounter)),
          recentWithoutResults: shareIn(newestOf(withoutResults, tokensMax, tokenCounter)),
          refused: text === undefined,
        });
      }
    }
  } finally {
    store.close();
  }
  return outcomes;
}

/** Returns the text of a context as a model reads it. */
function rendered(session: Session, tokensMax: number): string | undefined {
  try {
    return session
      .render({ tokensMax })
      .messages.map(({ parts }) => JSON.stringify(parts))
      .join("\n");
  } catch (error) {
    if (StoreError.is(error, "BUDGET_TOO_SMALL")) return undefined;
    throw error;
  }
}

/** Returns the newest entries that fit together, up to the first that does not fit. */
function newestOf(entries: readonly EntireEntry[], tokensMax: number, tokenCounter: TokenCounter): string {
  const texts: string[] = [];
  let room = tokensMax;
  for (const { text } of entries.toReversed()) {
    room -= tokenCounter.count(text);
    if (room < 0) break;
    texts.push(text);
  }
  return texts.join("\n");
}

function bestRecent({ recent, recentWithoutResults }: Outcome): number {
  return Math.max(recent, recentWithoutResults);
}

function percent(outcomes: readonly Outcome[], measure: "share" | "recent" | "recentWithoutResults"): number {
  return rounded(100 * mean(outcomes.map((outcome) => outcome[measure])));
}

function rounded(figure: number): number {
  return Number(figure.toFixed(1));
}
