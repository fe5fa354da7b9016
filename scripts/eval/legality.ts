import { estimatingTokenCounter, tokenCountOf } from "../../src/core/tokens.ts";
import {
  type ContextMessage,
  openStore,
  type RenderResult,
  type Session,
  type Store,
  StoreError,
} from "../../src/index.ts";
import { sharedPrefix, unaccountedCount } from "./context-checks.ts";
import { type Conversation, readConversations } from "./legality-data.ts";
import { mean } from "./measures.ts";
import { breachesOf, withOpenCallsAnswered } from "./provider-rules.ts";

/** Places in each session, evenly spread, the last at its end; a shorter session has as many as it has messages. */
const CUTS = 12;
const BUDGETS = [2_000, 4_000, 8_000, 16_000];
/** At which sessions are replayed message by message. */
const REPLAY_BUDGET = 16_000;

/**
 * Whether providers accept what is rendered, whether it keeps budget and promises, and what of it a prompt cache holds.
 * Each session is appended message by message to a store of its own; `resolveDirty` runs before each message of the user,
 * as a host would let it. At 12 cuts a context is rendered in 4 budgets.
 *
 * - `legal`: percent of these contexts that `breachesOf` finds nothing in. Calls that are open at the very end, as they are
 *   where a cut falls between a call and its result, count as the host will send them: answered.
 * - `legalAsRendered`: the same with these left open, which no provider accepts.
 * - `overBudget`: contexts that cost more than their budget, counted again from the messages.
 * - `unaccounted`: messages that `sources` and `omitted` name not once, over all contexts.
 * - `refused`: renders that `BUDGET_TOO_SMALL` refused. They are in no other figure.
 * - `prefixKept`: rendered after each message at 16,000 tokens, the mean share of a context's bytes that the next one
 *   begins with; `tokensResent`: mean tokens of a context that the one before did not begin with.
 *
 * @param dataFolder  With `entire/` and `transcripts/`.
 */
export async function evaluateLegality(
  dataFolder: string,
): Promise<{ name: "legality"; figures: Record<string, number> }> {
  const tally: Tally = {
    renders: 0,
    legal: 0,
    legalAsRendered: 0,
    overBudget: 0,
    unaccounted: 0,
    refused: 0,
    kept: [],
    resent: [],
  };
  const conversations = await readConversations(dataFolder);
  for (const conversation of conversations) await replay(conversation, tally);
  const { renders, legal, legalAsRendered, overBudget, unaccounted, refused, kept, resent } = tally;
  const percent = (count: number) => Number(((100 * count) / renders).toFixed(2));
  return {
    name: "legality",
    figures: {
      sessions: conversations.length,
      renders,
      refused,
      legal: percent(legal),
      legalAsRendered: percent(legalAsRendered),
      overBudget,
      unaccounted,
      prefixKept: Number(mean(kept).toFixed(4)),
      tokensResent: Math.round(mean(resent)),
    },
  };
}

interface Tally {
  renders: number;
  legal: number;
  legalAsRendered: number;
  overBudget: number;
  unaccounted: number;
  refused: number;
  /** For each context of a replay but the first: the share that it keeps of the one before, and its tokens that are new. */
  kept: number[];
  resent: number[];
}

async function replay({ id, messages }: Conversation, tally: Tally): Promise<void> {
  const store = openStore(":memory:");
  try {
    const session = store.session(id);
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
      if (cuts.has(index + 1)) for (const tokensMax of BUDGETS) judge(store, session, tokensMax, tally);
    }
  } finally {
    store.close();
  }
}

function judge(store: Store, session: Session, tokensMax: number, tally: Tally): void {
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
  tally.unaccounted += unaccountedCount(store, session, result);
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
  return messages.reduce((sum, { parts }) => sum + tokenCountOf(parts, estimatingTokenCounter), 0);
}
