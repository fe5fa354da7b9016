import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { takeCitations } from "../../../src/core/citations.ts";
import { openStore, type Session, type Summarizer } from "../../../src/index.ts";
import { fourCharacters } from "../four-characters.ts";
import { type Corpus, type EntireEntry, entireInput, readEntireSessions, readLocomo } from "../recall-data.ts";
import { BUDGETS, QUERY_BUDGETS } from "./budgets.ts";
import { sharesOf } from "./contents.ts";
import type { Outcome } from "./figures.ts";
import { commonLines, futureGold } from "./gold.ts";
import { contextText } from "./plain-text.ts";
import { answeredShare, questionsOf, stemsOf } from "./talk.ts";
import { newest } from "./verbatim.ts";

export interface RecordedTask {
  dataFolder: string;
  /** The beginning of the file names: `locomo-0`, `entire-97`. */
  name: string;
  /** The questions 0, `every`, … are rendered as queries. */
  every: number;
}

export const RECORDED_MEASURES = ["recordedAnswers", "recordedLines", "recordedSymbols"] as const;
type RecordedOutcome = Outcome<(typeof RECORDED_MEASURES)[number]>;
const NOTHING: RecordedOutcome["shares"] = {
  recordedAnswers: undefined,
  recordedLines: undefined,
  recordedSymbols: undefined,
};

export interface RecordedResult {
  outcomes: RecordedOutcome[];
  /** The tokens of all calls (output counts five times), of overviews among them, and of the messages. */
  modelTokens: number;
  overviewTokens: number;
  sourceTokens: number;
  calls: number;
}

/** A model also writes dates and conclusions, so questions about times and open ones count as well. */
const ANSWERED = new Set(["1", "2", "3", "4"]);
/** Providers ask about five times as much for a token that a model writes. */
const OUTPUT_PRICE = 5;
/** More hits than have room. */
const RECALLED = 1_000;
/** About the tokens of the instructions and the schema of one call. */
const INSTRUCTION_TOKENS = 500;
/** The lengths of the recorded running summaries. */
const RUNNING = [500, 1_000, 2_000];

/** Returns the names of the recordings: those with statements. */
export function recordings(dataFolder: string): string[] {
  const folder = join(dataFolder, "model-summaries");
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((file) => /^(.*)\.statements\.txt$/.exec(file)?.[1] ?? []);
}

/**
 * Renders a conversation at its end, with the summaries that a model wrote of it before any question was read. `levels` has its
 * statements and an overview, `running` half of the newest messages and the longest of its running summaries that fits in half, and
 * `shipped` no model. `recall-query` is the texts that recall finds for the question in as many tokens.
 */
export async function runRecorded({ dataFolder, name, every }: RecordedTask): Promise<RecordedResult> {
  const [kind, number] = name.split("-");
  const recorded = new RecordedSummarizer(dataFolder, name);
  const stores = [undefined, recorded].map((summarizer) =>
    openStore(":memory:", { tokenCounter: fourCharacters, ...(summarizer && { summarizer }) }),
  );
  const sessions = stores.map((store) => store.session(name));
  let outcomes: RecordedOutcome[];
  try {
    if (kind === "locomo") {
      const corpus = readLocomo(dataFolder)[Number(number)]!;
      for (const session of sessions) await growTalk(session, corpus);
      const recall = async (question: string, tokensMax: number): Promise<string> => {
        const hits = await stores[0]!.recall(question, {
          sessionIds: [name],
          tokensMax,
          limit: RECALLED,
          neighbors: 0,
        });
        return hits.map(({ text }) => text).join("\n");
      };
      outcomes = await judgeTalk(corpus, sessions as [Session, Session], recorded, recall, every);
    } else {
      const all = readEntireSessions(dataFolder);
      const entries = all[Number(number)]!.messages;
      outcomes = await judgeCoding(name, entries, commonLines(all), sessions as [Session, Session]);
    }
    const sourceTokens = sessions[1]!.messages().reduce((sum, { text }) => sum + fourCharacters.count(text), 0);
    const { modelTokens, overviewTokens, calls } = recorded;
    return { outcomes, modelTokens, overviewTokens, calls, sourceTokens };
  } finally {
    for (const store of stores) store.close();
  }
}

/** Answers with the recorded statements of the messages that it is asked about, and with a recorded running summary as overview. */
class RecordedSummarizer implements Summarizer {
  readonly id = "recorded";
  readonly promptVersion = 1;
  readonly citesSources = true;
  modelTokens = 0;
  overviewTokens = 0;
  calls = 0;
  readonly #statements: { text: string; seqLast: number }[];
  readonly #running: string[];

  constructor(dataFolder: string, name: string) {
    const read = (file: string): string => {
      const path = join(dataFolder, "model-summaries", `${name}.${file}.txt`);
      return existsSync(path) ? readFileSync(path, "utf8").trim() : "";
    };
    const [, ...lines] = read("statements").split("\n");
    this.#statements = lines.map((text) => ({ text, seqLast: Math.max(...takeCitations(text).seqs) }));
    this.#running = RUNNING.map((length) => read(`flat-${length}`));
  }

  running(tokensMax: number): string {
    return this.#running.findLast((text) => fourCharacters.count(text) <= tokensMax) ?? "";
  }

  readonly summarize: Summarizer["summarize"] = async ({ previous, sources, tokensMax, countTokens }) => {
    const read = new Set(sources.map(({ seq }) => seq));
    const own = this.#statements.filter(({ seqLast }) => read.has(seqLast)).map(({ text }) => text);
    const lines = sources.length > 0 ? own : linesOf(this.#running[0] || previous.map(({ text }) => text).join("\n"));
    while (lines.length > 1 && countTokens(lines.join("\n")) > tokensMax) lines.pop();
    const text = lines.join("\n");
    const sent = [...previous, ...sources].reduce((sum, source) => sum + countTokens(source.text), INSTRUCTION_TOKENS);
    const tokens = sent + OUTPUT_PRICE * countTokens(text);
    this.modelTokens += tokens;
    if (sources.length === 0) this.overviewTokens += tokens;
    this.calls += 1;
    return { title: "recorded", text: text || "Nothing was said. [0]" };
  };
}

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

async function growTalk(session: Session, { sessions }: Corpus): Promise<void> {
  for (const { messages } of sessions) {
    for (const { input } of messages) session.append(input);
    await session.resolveDirty();
  }
  session.compact();
}

async function judgeTalk(
  corpus: Corpus,
  [plain, levels]: [Session, Session],
  recorded: RecordedSummarizer,
  recall: (question: string, tokensMax: number) => Promise<string>,
  every: number,
): Promise<RecordedOutcome[]> {
  const questions = questionsOf(corpus, ANSWERED);
  const messages = plain.messages().map((message) => ({ message, text: message.text }));
  const outcomes: RecordedOutcome[] = [];
  const add = (budget: number, arm: string, text: string, asked: Iterable<[number, (typeof questions)[number]]>) => {
    const found = new Set(stemsOf(text));
    for (const [place, { stems }] of asked) {
      const shares = { ...NOTHING, recordedAnswers: answeredShare(found, stems) };
      outcomes.push({ conversation: corpus.project, place, budget, arm, tokens: Math.ceil(text.length / 4), shares });
    }
  };
  for (const budget of BUDGETS) {
    for (const [arm, session] of [
      ["shipped", plain],
      ["levels", levels],
    ] as const) {
      add(budget, arm, contextText(session.render({ tokensMax: budget })), questions.entries());
    }
  }
  for (const budget of QUERY_BUDGETS) {
    const chars = 4 * budget;
    add(budget, "newest", newest(messages, chars).text, questions.entries());
    const running = recorded.running(budget / 2);
    add(budget, "running", `${running}\n${newest(messages, chars - running.length - 1).text}`, questions.entries());
    for (const [place, question] of questions.entries()) {
      if (place % every !== 0) continue;
      add(budget, "recall-query", await recall(question.text, budget), [[place, question]]);
    }
    for (const [arm, session] of [
      ["shipped-query", plain],
      ["levels-query", levels],
    ] as const) {
      for (const [place, question] of questions.entries()) {
        if (place % every !== 0) continue;
        const text = contextText(session.render({ tokensMax: budget, query: question.text }));
        add(budget, arm, text, [[place, question]]);
      }
    }
  }
  return outcomes;
}

async function judgeCoding(
  conversation: string,
  entries: readonly EntireEntry[],
  common: Set<string>,
  sessions: readonly [Session, Session],
): Promise<RecordedOutcome[]> {
  const outcomes: RecordedOutcome[] = [];
  let appended = 0;
  for (const [place, gold] of futureGold(entries, common).entries()) {
    for (; appended < gold.cut.entryCount; appended++) {
      const entry = entries[appended]!;
      for (const session of sessions) {
        if (entry.role === "user") await session.resolveDirty();
        session.append(entireInput(entry));
      }
    }
    for (const budget of BUDGETS) {
      for (const [arm, session] of [
        ["shipped", sessions[0]],
        ["levels", sessions[1]],
      ] as const) {
        const text = contextText(session.render({ tokensMax: budget }));
        const { lines, symbols } = sharesOf(text, gold);
        const shares = { ...NOTHING, recordedLines: lines, recordedSymbols: symbols };
        outcomes.push({ conversation, place, budget, arm, tokens: Math.ceil(text.length / 4), shares });
      }
    }
  }
  return outcomes;
}
