import { availableParallelism } from "node:os";
import { openStore, type RenderResult, type Session, type Store, type TokenCounter } from "../../src/index.ts";
import { coverageBaseline, type Turn } from "./coverage-baseline.ts";
import { coverageMix } from "./coverage-mix.ts";
import { fourCharacters } from "./four-characters.ts";
import { mean } from "./measures.ts";
import { inParallel } from "./parallel.ts";
import { plainFts5 } from "./recall-baseline.ts";
import { type Corpus, type CorpusMessage, readLocomo } from "./recall-data.ts";

const BUDGETS = [500, 1_000, 2_000, 4_000] as const;

/** The number of turns that a baseline ranks. No budget has room for so many. */
const RANKED = 400;

/** The token counters, by the prefix of their figures' names. */
const COUNTERS: Record<string, TokenCounter | undefined> = { "": undefined, "chars4.": fourCharacters };

/**
 * Measures how much of the evidence for a question a context contains.
 *
 * In LoCoMo, each date is a session and each conversation a project. A new session of the project renders each question with
 * `scope: "project"`. A token is one of the store's counter, or four characters in figures with the prefix `chars4.`.
 *
 * - `coverage@B`: the mean share, in percent, of a question's evidence turns that are word for word in a context of B tokens,
 *   headers included.
 * - `coverage.asked@B`: the same if the host has appended the question before, as most do, so that the context contains it.
 * - `.bm25`, `.recent`: the same for the best turns of a plain FTS5 table and for the newest turns, under the same headers.
 * - `coverage.mix@B`: @see coverageMix. It always counts four characters as a token.
 * - `coverage.overBudget`: contexts that cost more than their budget.
 *
 * @param dataFolder  The folder with `locomo/`. Without it there are no figures, and a note on stderr.
 * @param prefixes  The prefixes of the counters to use.
 */
export async function coverageFigures(
  dataFolder: string,
  prefixes: readonly (keyof typeof COUNTERS)[] = Object.keys(COUNTERS),
): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  if (readLocomo(dataFolder).length === 0) {
    console.error(`No LoCoMo in ${dataFolder}: its figures are left out.`);
    return figures;
  }
  const every = Math.ceil(availableParallelism() / prefixes.length);
  const tasks = prefixes.flatMap((prefix) =>
    Array.from({ length: every }, (_, from): CoverageTask => ({ dataFolder, prefix, from, every })),
  );
  const results = await inParallel<CoverageTask, Coverage>(new URL(import.meta.url), tasks);
  for (const prefix of prefixes) {
    const parts = results.filter((_, index) => tasks[index]!.prefix === prefix);
    for (const name of Object.keys(parts[0]!.shares)) {
      figures[prefix + name] = rounded(100 * mean(parts.flatMap(({ shares }) => shares[name]!)));
    }
    figures[`${prefix}coverage.overBudget`] = parts.reduce((sum, { overBudget }) => sum + overBudget, 0);
  }
  return figures;
}

/** The questions `from`, `from + every`, … with one token counter. */
interface CoverageTask {
  dataFolder: string;
  prefix: string;
  from: number;
  every: number;
}

interface Coverage {
  /** The share of the evidence of each question, by the name of the figure. */
  shares: Record<string, number[]>;
  overBudget: number;
}

/** Measures some of the questions, in a store with all conversations. */
export async function run({ dataFolder, prefix, from, every }: CoverageTask): Promise<Coverage> {
  const tokenCounter = COUNTERS[prefix];
  const shares: Record<string, number[]> = {};
  let overBudget = 0;
  // A store in memory, because `forget` writes all of a file again.
  const store = openStore(":memory:", tokenCounter === undefined ? {} : { tokenCounter });
  const corpora = readLocomo(dataFolder);
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
    const mix = coverageMix(corpus);
    const recent = new Map(BUDGETS.map((tokensMax) => [tokensMax, baseline(undefined, tokensMax)]));
    const fresh = store.session(`${corpus.project}-fresh`, { project: corpus.project });
    for (const [number, { text, gold }] of corpus.questions.entries()) {
      if (number % every !== from) continue;
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
        add(`coverage.mix@${tokensMax}`, mix(text, tokensMax));
      }
      store.forget(asked.id);
    }
  }
  store.close();
  return { shares, overBudget };
}

function fill(store: Store, { project, sessions }: Corpus, turns: Map<number, Turn>): void {
  for (const { id, messages } of sessions) {
    const session = store.session(id, { project });
    const results = session.append(messages.map(({ input }: CorpusMessage) => input));
    results.forEach(({ messageId }, index) => {
      const { id: name, input } = messages[index]!;
      turns.set(messageId, { id: name, project, text: input.content as string });
    });
  }
}

/** Returns the turns that a context reports as verbatim and that its text does contain. */
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
