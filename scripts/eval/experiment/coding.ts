import { messageTokens } from "../../../src/core/tokens.ts";
import { openStore, type RenderResult, type Session, type Store } from "../../../src/index.ts";
import { unaccountedCount } from "../context-checks.ts";
import { fourCharacters } from "../four-characters.ts";
import { cutsOf } from "../future-cuts.ts";
import { breachesOf, withOpenCallsAnswered } from "../provider-rules.ts";
import { type EntireEntry, entireInput, readEntireSessions } from "../recall-data.ts";
import { Arms } from "./arms.ts";
import { BUDGETS } from "./budgets.ts";
import { type Measure, sharesOf } from "./contents.ts";
import type { Outcome } from "./figures.ts";
import { commonLines, futureGold } from "./gold.ts";
import { contextText, entryText } from "./plain-text.ts";
import { ArmSummaries, experimentSummarizer } from "./summarize.ts";

/** A render at one cut. */
export interface RenderOutcome {
  budget: number;
  /** Processor time, because other processes compete for the processor. */
  ms: number;
  /** The share of the budget that is unused although the context only names some messages, in [0, 1]. */
  unused: number;
  isLegal: boolean;
  overBudget: boolean;
  /** The number of messages that `sources` and `omitted` do not name exactly once. */
  unaccounted: number;
}

export interface CodingResult {
  outcomes: Outcome<Measure>[];
  renders: RenderOutcome[];
}

export interface CodingTask {
  dataFolder: string;
  sid: string;
  /** The cuts 0, `every`, … are measured. */
  every: number;
}

let read: { dataFolder: string; sessions: { sid: string; messages: EntireEntry[] }[]; common: Set<string> } | undefined;

/** Reads all sessions once for each process. */
function sessionsOf(dataFolder: string) {
  if (read?.dataFolder !== dataFolder) {
    const sessions = readEntireSessions(dataFolder);
    read = { dataFolder, sessions, common: commonLines(sessions) };
  }
  return read;
}

/** Returns the ids of the sessions that have cuts, the longest first. */
export function codingSessions(dataFolder: string): string[] {
  return sessionsOf(dataFolder)
    .sessions.toSorted((left, right) => right.messages.length - left.messages.length)
    .filter(({ messages }) => cutsOf(messages).length > 0)
    .map(({ sid }) => sid);
}

/** Grows a coding session as a host does, and compares the arms at its cuts. */
export async function runCoding({ dataFolder, sid, every }: CodingTask): Promise<CodingResult> {
  const { sessions, common } = sessionsOf(dataFolder);
  const entries = sessions.find((session) => session.sid === sid)!.messages;
  const texts = entries.map(entryText);
  const summarizer = experimentSummarizer();
  const arms = new Arms(new ArmSummaries(summarizer));
  const store = openStore(":memory:", { tokenCounter: fourCharacters, summarizer });
  const session = store.session("resumed");
  const result: CodingResult = { outcomes: [], renders: [] };
  let appended = 0;
  try {
    for (const [number, gold] of futureGold(entries, common).entries()) {
      if (number % every !== 0) continue;
      for (; appended < gold.cut.entryCount; appended++) {
        const entry = entries[appended]!;
        if (entry.role === "user") await session.resolveDirty();
        session.append(entireInput(entry));
      }
      const messages = session.messages().map((message, index) => ({ message, text: texts[index]! }));
      const query = entries
        .slice(0, gold.cut.entryCount)
        .findLast(({ role }) => role === "user")
        ?.text.slice(0, 1_000);
      for (const budget of BUDGETS) {
        const started = process.cpuUsage();
        const shipped = session.render({ tokensMax: budget });
        const { user, system } = process.cpuUsage(started);
        result.renders.push(checked(store, session, shipped, budget, (user + system) / 1_000));
        const place = { messages, budget, shipped };
        const contexts = await arms.at(place);
        if (query !== undefined && query.trim() !== "") {
          contexts["shipped-query"] = contextText(session.render({ tokensMax: budget, query }));
          contexts["published-query"] = await arms.publishedFor(query, place);
        }
        for (const [arm, text] of Object.entries(contexts)) {
          const tokens = Math.ceil(text.length / 4);
          const shares = sharesOf(text, gold);
          if (arm === "full") assertNoLeak(shares, `${sid}, cut ${number}`);
          result.outcomes.push({ conversation: sid, place: number, budget, arm, tokens, shares });
        }
      }
    }
  } finally {
    store.close();
  }
  return result;
}

function checked(store: Store, session: Session, context: RenderResult, budget: number, ms: number): RenderOutcome {
  const isOmitting = context.omitted.some(({ messageCount }) => messageCount > 0);
  return {
    budget,
    ms,
    unused: isOmitting ? 1 - context.tokenCount / budget : 0,
    isLegal: breachesOf(withOpenCallsAnswered(context.messages)).length === 0,
    overBudget: context.messages.reduce((sum, message) => sum + messageTokens(message, fourCharacters), 0) > budget,
    unaccounted: unaccountedCount(store, session, context),
  };
}

/** Everything before a cut contains all of its gold. Otherwise some of the gold would be known only from what follows. */
function assertNoLeak(shares: Record<Measure, number | undefined>, place: string): void {
  for (const [measure, share] of Object.entries(shares)) {
    if (share !== undefined && share < 1)
      throw new Error(`${place}: some of the gold ${measure} do not stand before the cut.`);
  }
}
