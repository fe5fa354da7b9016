import { join } from "node:path";
import { openStore, type RenderResult, type Session, type Store, type TokenCounter } from "../../src/index.ts";
import { coverageBaseline, type Turn } from "./coverage-baseline.ts";
import { inFolder } from "./folder.ts";
import { mean } from "./measures.ts";
import { plainFts5 } from "./recall-baseline.ts";
import { type Corpus, type CorpusMessage, readLocomo } from "./recall-data.ts";

const BUDGETS = [500, 1_000, 2_000, 4_000] as const;

/** Turns of a baseline's ranking: more than any of the budgets holds. */
const RANKED = 400;

/** What the figures in data sets' papers mean by a token: four characters. */
const fourCharacters: TokenCounter = { name: "four-characters", count: (text) => Math.ceil(text.length / 4) };

/** By the prefix of their figures' names. */
const COUNTERS: Record<string, TokenCounter | undefined> = { "": undefined, "chars4.": fourCharacters };

/**
 * What a context holds of the evidence that a question needs.
 *
 * LoCoMo: a session for each date, a project for each conversation. A fresh session of the project renders each question
 * with `scope: "project"`. `coverage@B`: the mean share, in percent, of a question's evidence turns that stand word for
 * word in a context of B tokens, its headers included; `coverage.asked@B` the same where the host has appended the question
 * before, as most do, so that it stands in the context, too; `.bm25` and `.recent` the same for the first turns of a plain FTS5
 * table and the newest ones, under the same headers. Tokens are the store's; of `chars4.` figures, 4 characters each.
 *
 * `coverage.overBudget`: contexts that cost more than their budget.
 *
 * @param dataFolder  With `locomo/`; without it there are no figures, and a word on stderr.
 */
export async function coverageFigures(dataFolder: string): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  const corpora = readLocomo(dataFolder);
  if (corpora.length === 0) console.error(`No LoCoMo in ${dataFolder}: its figures are left out.`);
  else for (const [prefix, counter] of Object.entries(COUNTERS)) await coverage(corpora, counter, prefix, figures);
  return figures;
}

async function coverage(
  corpora: readonly Corpus[],
  tokenCounter: TokenCounter | undefined,
  prefix: string,
  figures: Record<string, number>,
): Promise<void> {
  const shares: Record<string, number[]> = {};
  let overBudget = 0;
  await inFolder(async (folder) => {
    const store = openStore(join(folder, "coverage.db"), tokenCounter === undefined ? {} : { tokenCounter });
    const turns = new Map<number, Turn>();
    for (const corpus of corpora) fill(store, corpus, turns);
    await store.upkeep();
    const held = (session: Session, query: string, tokensMax: number): Set<string> => {
      const context = session.render({ tokensMax, query, scope: "project" });
      if (context.tokenCount > tokensMax) overBudget += 1;
      return heldBy(context, turns);
    };
    for (const corpus of corpora) {
      const baseline = coverageBaseline(store, corpus, turns, tokenCounter);
      const plain = plainFts5(corpus);
      const recent = new Map(BUDGETS.map((tokensMax) => [tokensMax, baseline(undefined, tokensMax)]));
      const fresh = store.session(`${corpus.project}-fresh`, { project: corpus.project });
      for (const { text, gold } of corpus.questions) {
        const add = (name: string, held: ReadonlySet<string>) => {
          shares[name] ??= [];
          shares[name].push([...gold].filter((id) => held.has(id)).length / gold.size);
        };
        const asked = store.session("asked", { project: corpus.project });
        asked.append({ role: "user", content: text });
        const ranked = plain(text, RANKED).map(({ id }) => id);
        for (const tokensMax of BUDGETS) {
          add(`coverage@${tokensMax}`, held(fresh, text, tokensMax));
          add(`coverage.asked@${tokensMax}`, held(asked, text, tokensMax));
          add(`coverage@${tokensMax}.bm25`, baseline(ranked, tokensMax));
          add(`coverage@${tokensMax}.recent`, recent.get(tokensMax)!);
        }
        store.forget(asked.id);
      }
    }
    store.close();
  });
  for (const [name, values] of Object.entries(shares)) figures[prefix + name] = rounded(100 * mean(values));
  figures[`${prefix}coverage.overBudget`] = overBudget;
}

function fill(store: Store, { project, sessions }: Corpus, turns: Map<number, Turn>): void {
  for (const { id, messages } of sessions) {
    const session = store.session(id, { project });
    const results = session.appendAll(messages.map(({ input }: CorpusMessage) => input));
    results.forEach(({ messageId }, index) => {
      const { id: name, input } = messages[index]!;
      turns.set(messageId, { id: name, project, text: input.content as string });
    });
  }
}

/** Turns that a context holds: those it says it has word for word, if a reader finds them in it. */
function heldBy({ messages, recalled }: RenderResult, turns: ReadonlyMap<number, Turn>): Set<string> {
  const held = new Set<string>();
  for (const { messageId, messageIndex, how } of recalled) {
    const turn = turns.get(messageId);
    const text = messages[messageIndex]!.parts.map((part) => part.text as string).join("\n");
    if (how === "verbatim" && turn !== undefined && unescaped(text).includes(turn.text)) held.add(turn.id);
  }
  return held;
}

function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function rounded(figure: number): number {
  return Number(figure.toFixed(1));
}
