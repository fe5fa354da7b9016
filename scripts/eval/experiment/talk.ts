import { openStore, type Session } from "../../../src/index.ts";
import { stem } from "../../../src/models/stem.ts";
import { words } from "../../../src/models/words.ts";
import { fourCharacters } from "../four-characters.ts";
import { plainFts5 } from "../recall-baseline.ts";
import { type Corpus, readLocomo } from "../recall-data.ts";
import { Arms } from "./arms.ts";
import { BUDGETS } from "./budgets.ts";
import type { Outcome } from "./figures.ts";
import { contextText } from "./plain-text.ts";
import { ArmSummaries, experimentSummarizer } from "./summarize.ts";
import { filled } from "./verbatim.ts";

export const TALK_MEASURES = ["answers", "evidence"] as const;
export type TalkMeasure = (typeof TALK_MEASURES)[number];

export interface TalkTask {
  dataFolder: string;
  project: string;
  /** The questions 0, `every`, … are rendered as queries. */
  every: number;
}

/** The categories whose answers are words of the conversation: several hops and a single hop. */
const ANSWERED = new Set(["1", "4"]);

const RANKED = 400;

export function talkProjects(dataFolder: string): string[] {
  return readLocomo(dataFolder).map(({ project }) => project);
}

/**
 * Stores a conversation of LoCoMo as one session, and compares the arms at its end.
 *
 * - `answers`: 1 if the context has all words of a question's answer. Only categories 1 and 4 have such answers.
 * - `evidence`: 1 if the context has all turns of a question's evidence.
 */
export async function runTalk({ dataFolder, project, every }: TalkTask): Promise<Outcome<TalkMeasure>[]> {
  const corpus = readLocomo(dataFolder).find((found) => found.project === project)!;
  const summarizer = experimentSummarizer();
  const options = { tokenCounter: fourCharacters, summarizer };
  const store = openStore(":memory:", options);
  try {
    const session = store.session(project);
    await grow(session, corpus);
    return await judge(corpus, session, new Arms(new ArmSummaries(summarizer)), every);
  } finally {
    store.close();
  }
}

async function grow(session: Session, { sessions }: Corpus): Promise<void> {
  for (const { messages } of sessions) {
    await session.resolveDirty();
    for (const { input } of messages) session.append(input);
  }
  await session.resolveDirty();
}

async function judge(corpus: Corpus, session: Session, arms: Arms, every: number): Promise<Outcome<TalkMeasure>[]> {
  const turns = corpus.sessions.flatMap(({ messages }) => messages);
  const textOf = new Map(turns.map(({ id, input }) => [id, input.content as string]));
  const messages = session.messages().map((message, seq) => ({ message, text: turns[seq]!.input.content as string }));
  const messageOf = new Map(turns.map(({ id }, seq) => [id, messages[seq]!]));
  const questions = questionsOf(corpus, ANSWERED);
  const search = plainFts5(corpus);
  const outcomes: Outcome<TalkMeasure>[] = [];
  const add = (budget: number, arm: string, text: string, judged: Iterable<[number, (typeof questions)[number]]>) => {
    const found = new Set(stemsOf(text));
    for (const [question, { gold, stems }] of judged) {
      const shares = {
        answers: answeredShare(found, stems),
        evidence: Number([...gold].every((id) => text.includes(textOf.get(id)!))),
      };
      const tokens = Math.ceil(text.length / 4);
      outcomes.push({ conversation: corpus.project, place: question, budget, arm, tokens, shares });
    }
  };
  for (const budget of BUDGETS) {
    const shipped = session.render({ tokensMax: budget });
    const place = { messages, budget, shipped };
    for (const [arm, text] of Object.entries(await arms.at(place))) add(budget, arm, text, questions.entries());
    for (const [number, question] of questions.entries()) {
      if (number % every !== 0) continue;
      const asked: [number, (typeof questions)[number]][] = [[number, question]];
      const text = contextText(session.render({ tokensMax: budget, query: question.text }));
      const ranked = search(question.text, RANKED).map(({ id }) => messageOf.get(id)!);
      add(budget, "shipped-query", text, asked);
      add(budget, "bm25-query", filled("", ranked.reverse(), text.length), asked);
      add(budget, "published-query", await arms.publishedFor(question.text, place), asked);
    }
  }
  return outcomes;
}

/** The questions of a conversation, and the stems of the answers of some categories. */
export function questionsOf({ questions }: Corpus, answered: ReadonlySet<string>) {
  return questions.map((question) => {
    return { ...question, stems: new Set(answered.has(question.category) ? stemsOf(question.answer!) : []) };
  });
}

/** Returns 1 if all stems of an answer are found, else 0; undefined for an answer without any. */
export function answeredShare(found: ReadonlySet<string>, stems: ReadonlySet<string>): number | undefined {
  return stems.size === 0 ? undefined : Number([...stems].every((word) => found.has(word)));
}

export function stemsOf(text: string): string[] {
  return words(text).map(stem);
}
