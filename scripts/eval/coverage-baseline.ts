import { blockText } from "../../src/context/evidence/evidence-block.ts";
import { inPassageOrder, type ShownStep, showWhole } from "../../src/context/evidence/passages.ts";
import { estimatingTokenCounter, MESSAGE_TOKENS, type TokenCounter } from "../../src/core/tokens.ts";
import type { Store } from "../../src/index.ts";
import type { Corpus } from "./recall-data.ts";

/** A turn of a conversation, as it is stored. */
export interface Turn {
  /** The turn's name in the data set. */
  id: string;
  project: string;
  text: string;
}

/**
 * Makes contexts of turns under the headers of the evidence block: as many as fit, in a given order or newest first.
 */
export function coverageBaseline(
  store: Store,
  { project, sessions }: Corpus,
  turns: ReadonlyMap<number, Turn>,
  tokenCounter: TokenCounter = estimatingTokenCounter,
): (ranked: readonly string[] | undefined, tokensMax: number) => Set<string> {
  const shown = new Map<string, ShownStep>();
  for (const { id } of sessions) {
    for (const message of store.resume(id).messages()) {
      const step = {
        sessionId: id,
        messages: [message],
        snippets: new Map(),
        worth: 1,
        handle: store.expand(message.id, { limit: 0 }).place!.cluster,
        cold: undefined,
      };
      shown.set(turns.get(message.id)!.id, showWhole(step));
    }
  }
  const newestFirst = [...turns.values()]
    .filter((turn) => turn.project === project)
    .map(({ id }) => id)
    .reverse();
  const fits = (ids: readonly string[], tokensMax: number): boolean =>
    MESSAGE_TOKENS + tokenCounter.count(blockText(inPassageOrder(ids.map((id) => shown.get(id)!)))) <= tokensMax;
  return (ranked = newestFirst, tokensMax) => {
    let [count, tooMany] = [0, Math.min(ranked.length, tokensMax) + 1];
    while (tooMany - count > 1) {
      const middle = Math.floor((count + tooMany) / 2);
      if (fits(ranked.slice(0, middle), tokensMax)) count = middle;
      else tooMany = middle;
    }
    return new Set(ranked.slice(0, count));
  };
}
