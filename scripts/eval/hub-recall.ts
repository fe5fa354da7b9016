import { join } from "node:path";
import { type Hub, openHub } from "../../src/hub/index.ts";
import { type LocalEmbedder, openStore, type RecallHit, type RecallOptions, type Store } from "../../src/index.ts";
import { withProgress } from "../progress.ts";
import { inFolder } from "./folder.ts";
import { type Corpus, readBeam, readLocomo } from "./recall-data.ts";

const LIMIT = 20;
/** A push sends this many messages, so that the index has many segments to merge. */
const PUSHED = 4;
/** This many questions are asked while something is forgotten. */
const ASKED = 8;

/** One in so many questions is asked by meaning. */
const MEANING_EVERY = 10;

type RecallFilter = Pick<RecallOptions, "roles" | "sinceMs" | "untilMs" | "by">;

interface Figures {
  questions: number;
  sameOrder: number;
  sameScores: number;
  duringMerges: number;
  duringForgetting: number;
}

/**
 * Pushes the conversations of LoCoMo and BEAM to a hub, one project each, and asks their questions of the hub and of a store with the
 * same messages: before the keeper has merged the index, while it merges, afterwards, while messages or sessions are forgotten and the
 * keeper runs, and at the end. The store also has another conversation as another project, which the hub does not have at all or has
 * from another store. Each question is asked again with a filter of roles or times, or for sessions.
 *
 * @returns `questions` counts the comparisons, `sameOrder` those with the same hits in the same order, and `sameScores` those with equal
 *   scores. While something is forgotten, an answer must be the store's from before or from after it, and after the push that
 *   brought it, from after. `duringMerges` and `duringForgetting` count the comparisons whose answer came while the keeper or that push ran.
 */
export async function compareSearches(url: string, dataFolder: string): Promise<Record<string, number>> {
  const figures: Figures = { questions: 0, sameOrder: 0, sameScores: 0, duringMerges: 0, duringForgetting: 0 };
  const [hub, keeper] = [await openHub(url), await openHub(url)];
  const corpora = [...readLocomo(dataFolder), ...readBeam(dataFolder)];
  for (const [index, corpus] of withProgress("conversations", [...corpora.entries()])) {
    await inFolder(async (folder) => {
      const store = openStore(join(folder, "local.db"));
      const { project, sessions } = corpora[(index + 1) % corpora.length]!;
      for (const { id, messages } of sessions) {
        store.session(id, { project }).append(messages.map(({ input }) => input));
      }
      await new Comparison(store, hub, keeper, corpus, figures).run();
      store.close();
    });
  }
  await hub.close();
  await keeper.close();
  return { ...figures };
}

/**
 * Asks the questions of a hub and of a store by meaning, too, before and after some of what answers them was forgotten: first each
 * conversation as a project of its own, then all of them in one project, of which the hub compares only the nearest clusters.
 *
 * @returns `meaning.questions`, `….sameOrder`, `….sameScores`: as of `compareSearches`. `meaning.byMeaning` counts the questions to which
 *   a search by words gives other hits. `meaning.large.shared`: of the first ten hits in the large project, the share that both have.
 */
export async function compareByMeaning(
  url: string,
  dataFolder: string,
  embedder: LocalEmbedder,
): Promise<Record<string, number>> {
  const figures = { questions: 0, sameOrder: 0, sameScores: 0, byMeaning: 0, large: 0, shared: 0 };
  const hub = await openHub(url);
  const corpora = [...readLocomo(dataFolder), ...readBeam(dataFolder)].map(({ questions, ...corpus }) => {
    return { ...corpus, questions: questions.filter((_, index) => index % MEANING_EVERY === 0) };
  });
  const both = async (store: Store, text: string, project: string, limit: number) => ({
    own: await store.recall(text, { project, limit }),
    found: await hub.recall(text, { project, limit, store }),
  });
  const fill = async (store: Store, { sessions }: Corpus, project: string): Promise<void> => {
    for (const { id, messages } of sessions) {
      store.session(id, { project }).append(messages.map(({ input }) => input));
    }
    await store.upkeep();
    await hub.push(store, { projects: [project] });
  };
  for (const corpus of withProgress("conversations, by meaning", corpora)) {
    await inFolder(async (folder) => {
      const store = openStore(join(folder, "local.db"), { embedder });
      const project = `${corpus.project} by meaning`;
      await fill(store, corpus, project);
      const ask = async (text: string): Promise<void> => {
        const { own, found } = await both(store, text, project, LIMIT);
        const byWords = await hub.recall(text, { project, limit: LIMIT });
        figures.questions += 1;
        if (isSame(own, found, ({ messageId }) => messageId)) figures.sameOrder += 1;
        if (isSame(own, found, ({ score }) => score)) figures.sameScores += 1;
        if (!isSame(byWords, found, ({ messageId }) => messageId)) figures.byMeaning += 1;
      };
      for (const { text } of corpus.questions) await ask(text);
      const [best] = await store.recall(corpus.questions[0]!.text, { project, limit: 1 });
      store.forget(best!.sessionId, { messageIds: [best!.messageId] });
      await hub.push(store, { projects: [project] });
      for (const { text } of corpus.questions.slice(0, ASKED)) await ask(text);
      store.close();
    });
  }
  await inFolder(async (folder) => {
    const store = openStore(join(folder, "local.db"), { embedder });
    for (const corpus of corpora) await fill(store, corpus, "all by meaning");
    for (const { text } of corpora.flatMap(({ questions }) => questions.slice(0, ASKED))) {
      const { own, found } = await both(store, text, "all by meaning", 10);
      const ids = new Set(found.map(({ messageId }) => messageId));
      figures.large += own.length;
      figures.shared += own.filter(({ messageId }) => ids.has(messageId)).length;
    }
    store.close();
  });
  await hub.close();
  const { large, shared, ...counts } = figures;
  return Object.fromEntries(
    [...Object.entries(counts), ["large.shared", shared / large] as const].map(([name, figure]) => [
      `meaning.${name}`,
      figure,
    ]),
  );
}

class Comparison {
  readonly #store: Store;
  readonly #hub: Hub;
  readonly #keeper: Hub;
  readonly #corpus: Corpus;
  readonly #texts: string[];
  readonly #figures: Figures;
  /** The store's answers in the state in which it is. */
  readonly #answers = new Map<string, Promise<RecallHit[]>>();

  constructor(store: Store, hub: Hub, keeper: Hub, corpus: Corpus, figures: Figures) {
    this.#store = store;
    this.#hub = hub;
    this.#keeper = keeper;
    this.#corpus = corpus;
    this.#texts = corpus.questions.map(({ text }) => text);
    this.#figures = figures;
  }

  async run(): Promise<void> {
    for (const { id, messages } of this.#corpus.sessions) {
      const session = this.#store.session(id, { project: this.#corpus.project });
      for (let from = 0; from < messages.length; from += PUSHED) {
        session.append(messages.slice(from, from + PUSHED).map(({ input }) => input));
        await this.#hub.push(this.#store, { sessions: [id] });
      }
    }
    await this.#store.upkeep();
    await this.#askAll();
    await this.#askWhileMerging();
    await this.#askAll();
    for (let from = 0, round = 0; from < this.#texts.length; from += ASKED, round++) {
      await this.#askWhileForgetting(this.#texts.slice(from, from + ASKED), round % 4 === 3);
    }
    await this.#keeper.keep();
    await this.#askAll();
  }

  async #askAll(): Promise<void> {
    const [mean] = this.#store.query(
      `SELECT CAST(avg(m.created_at_ms) AS INTEGER) AS "middleMs"
       FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.project = '${this.#corpus.project}'`,
    ) as [{ middleMs: number }];
    const { middleMs } = mean;
    const filters: RecallFilter[] = [
      { roles: ["user"], sinceMs: middleMs },
      { roles: ["assistant", "user"] },
      { untilMs: middleMs },
      { by: "session" },
    ];
    for (const [index, text] of this.#texts.entries()) {
      for (const filter of [{}, filters[index % filters.length]!]) {
        this.#compare(await this.#onHub(text, filter), [await this.#here(text, filter)]);
      }
    }
  }

  async #askWhileMerging(): Promise<void> {
    let isMerging = true;
    const keeping = this.#keeper.keep().finally(() => {
      isMerging = false;
    });
    for (const text of this.#texts) {
      this.#compare(await this.#onHub(text), [await this.#here(text)]);
      if (isMerging) this.#figures.duringMerges += 1;
    }
    await keeping;
  }

  /** Forgets what answers the first question: the best messages, or the session of the best one. */
  async #askWhileForgetting(texts: readonly string[], isSession: boolean): Promise<void> {
    const own = await Promise.all(texts.map((text) => this.#here(text)));
    const [best] = own[0]!;
    if (best === undefined) return;
    const isOnlySession = this.#store.sessions({ project: this.#corpus.project }).length === 1;
    if (isSession && !isOnlySession) this.#store.forget(best.sessionId);
    else {
      const beside = own[0]!.filter(({ sessionId }) => sessionId === best.sessionId).slice(0, 3);
      this.#store.forget(best.sessionId, { messageIds: beside.map(({ messageId }) => messageId) });
    }
    this.#answers.clear();
    const after = await Promise.all(texts.map((text) => this.#here(text)));
    let isPushed = false;
    let isKept = false;
    const pushing = this.#keeper.push(this.#store, { projects: [this.#corpus.project] }).then(async () => {
      isPushed = true;
      await this.#keeper.keep();
      isKept = true;
    });
    do {
      for (const [index, text] of texts.entries()) {
        const wasPushed = isPushed;
        const found = await this.#onHub(text);
        this.#compare(found, wasPushed ? [after[index]!] : [own[index]!, after[index]!]);
        if (!isKept) this.#figures.duringForgetting += 1;
      }
    } while (!isKept);
    await pushing;
  }

  #here(text: string, filter: RecallFilter = {}): Promise<RecallHit[]> {
    const key = JSON.stringify([text, filter]);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = this.#store.recall(text, { project: this.#corpus.project, limit: LIMIT, ...filter });
    this.#answers.set(key, answer);
    return answer;
  }

  #onHub(text: string, filter: RecallFilter = {}): Promise<RecallHit[]> {
    return this.#hub.recall(text, { project: this.#corpus.project, limit: LIMIT, ...filter });
  }

  /** @param allowed  The answers of the states in which the hub may be. */
  #compare(found: readonly RecallHit[], allowed: readonly (readonly RecallHit[])[]): void {
    const inOrder = allowed.filter((own) => isSame(own, found, ({ messageId }) => messageId));
    this.#figures.questions += 1;
    if (inOrder.length > 0) this.#figures.sameOrder += 1;
    if (inOrder.some((own) => isSame(own, found, ({ score }) => score))) this.#figures.sameScores += 1;
  }
}

function isSame(left: readonly RecallHit[], right: readonly RecallHit[], of: (hit: RecallHit) => number): boolean {
  return left.map(of).join() === right.map(of).join();
}
