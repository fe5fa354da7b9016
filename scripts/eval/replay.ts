import { estimatingTokenCounter, messageTokens } from "../../src/core/tokens.ts";
import {
  type ContextMessage,
  openStore,
  type RenderResult,
  type Session,
  type Store,
  StoreError,
  type Strategy,
} from "../../src/index.ts";
import { idsOf, sharedPrefix, unaccountedCount } from "./context-checks.ts";
import type { Conversation } from "./conversations.ts";
import { mean } from "./measures.ts";
import { breachesOf, withOpenCallsAnswered } from "./provider-rules.ts";

/** The number of cuts of a session, evenly spread, the last at its end. A shorter session has one for each message. */
const CUTS = 12;
const BUDGETS = [2_000, 4_000, 8_000, 16_000];
/** The token budget of the renders after each message. */
const REPLAY_BUDGET = 16_000;

/** The results of the replays with one strategy. */
export interface Tally {
  strategy: Strategy;
  sessions: number;
  renders: number;
  legal: number;
  legalAsRendered: number;
  overBudget: number;
  unaccounted: number;
  refused: number;
  /** For each context but the first: the share of the one before that it keeps, and the number of its new tokens. */
  kept: number[];
  resent: number[];
}

export function emptyTally(strategy: Strategy): Tally {
  return {
    strategy,
    sessions: 0,
    renders: 0,
    legal: 0,
    legalAsRendered: 0,
    overBudget: 0,
    unaccounted: 0,
    refused: 0,
    kept: [],
    resent: [],
  };
}

/** Adds up tallies of one strategy. */
export function sumOf(tallies: readonly Tally[]): Tally {
  const [first, ...others] = tallies;
  const sum = { ...emptyTally(first!.strategy), ...first };
  for (const tally of others) {
    for (const name of [
      "sessions",
      "renders",
      "legal",
      "legalAsRendered",
      "overBudget",
      "unaccounted",
      "refused",
    ] as const) {
      sum[name] += tally[name];
    }
    sum.kept = [...sum.kept, ...tally.kept];
    sum.resent = [...sum.resent, ...tally.resent];
  }
  return sum;
}

/** Returns the figures of a tally, which legality.ts explains. */
export function figuresOf(tally: Tally): Record<string, number> {
  const { renders, legal, legalAsRendered, overBudget, unaccounted, refused, kept, resent } = tally;
  const percent = (count: number) => Number(((100 * count) / renders).toFixed(2));
  return {
    renders,
    refused,
    legal: percent(legal),
    legalAsRendered: percent(legalAsRendered),
    overBudget,
    unaccounted,
    prefixKept: Number(mean(kept).toFixed(4)),
    tokensResent: Math.round(mean(resent)),
  };
}

/**
 * Appends a conversation message by message to its own store, and renders after each. `resolveDirty` runs before each
 * message of the user, as a host would do.
 */
export async function replay({ id, messages }: Conversation, tally: Tally): Promise<void> {
  const store = openStore(":memory:");
  tally.sessions++;
  try {
    const session = store.session(id, { strategy: tally.strategy, contextTokensMax: REPLAY_BUDGET });
    const cuts = new Set(Array.from({ length: CUTS }, (_, cut) => Math.ceil((messages.length * (cut + 1)) / CUTS)));
    let before: ContextMessage[] | undefined;
    for (const [index, message] of messages.entries()) {
      if (message.role === "user") await session.resolveDirty();
      session.append(message);
      const rendered = tryRender(session, REPLAY_BUDGET)?.messages;
      if (before !== undefined && rendered !== undefined) {
        const { share, messageCount } = sharedPrefix(before, rendered);
        tally.kept.push(share);
        tally.resent.push(tokensOf(rendered.slice(messageCount)));
      }
      before = rendered;
      if (!cuts.has(index + 1)) continue;
      const ids = idsOf(session);
      for (const tokensMax of BUDGETS) judge(store, session, ids, tokensMax, tally);
    }
  } finally {
    store.close();
  }
}

function judge(store: Store, session: Session, ids: readonly number[], tokensMax: number, tally: Tally): void {
  const result = tryRender(session, tokensMax);
  if (result === undefined) {
    tally.refused++;
    return;
  }
  tally.renders++;
  if (breachesOf(result.messages).length === 0) tally.legalAsRendered++;
  const [breach] = breachesOf(withOpenCallsAnswered(result.messages));
  if (breach === undefined) tally.legal++;
  else console.error(`${session.id} in ${tokensMax} tokens, ${breach.provider}: ${breach.reason}`);
  if (tokensOf(result.messages) > tokensMax) tally.overBudget++;
  tally.unaccounted += unaccountedCount(store, session, result, ids);
}

function tryRender(session: Session, tokensMax: number): RenderResult | undefined {
  try {
    return session.render({ tokensMax });
  } catch (error) {
    if (StoreError.is(error, "BUDGET_TOO_SMALL")) return undefined;
    throw error;
  }
}

function tokensOf(messages: readonly ContextMessage[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message, estimatingTokenCounter), 0);
}
