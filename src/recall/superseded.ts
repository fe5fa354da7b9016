import type { Repositories, SearchScope } from "../store/index.ts";
import { holdsPhrases } from "./phrase.ts";
import { isQuotingQuestion, type Query } from "./query.ts";
import { rankTexts } from "./rank-texts.ts";
import type { Placed } from "./ranking.ts";

const NO_SCORES = { words: 0, neighborhood: 0, session: 0, speaker: 0, time: 0, vector: 0 };

/** Ranks the superseded messages of a scope by their words, best first. They are few and in no index, so all texts are read. */
export function rankSuperseded({ evidence, fullText }: Repositories, query: Query, scope: SearchScope): Placed[] {
  const phrases = isQuotingQuestion(query) ? [] : query.phrases;
  const held = evidence.superseded(scope).filter(({ text }) => holdsPhrases(text, phrases));
  const ids = held.map(({ id }) => id);
  const inScope = new Set(fullText.inScope(ids, scope));
  const rows = held.filter(({ id }) => inScope.has(id));
  const ranked = rankTexts(
    query.text,
    rows.map(({ text }) => text),
  );
  return ranked.map(({ index, score }): Placed => {
    const { id: messageId, sessionId, seq, role, name, createdAtMs, tokenCount } = rows[index]!;
    const facts = { messageId, sessionId, seq, createdAtMs, tokenCount };
    const unused = { wordScores: [], isNamed: false, datedness: 0, closeness: 0 };
    const candidate = {
      ...facts,
      name: role === "user" ? name : null,
      speaker: role,
      ...unused,
      superseded: true,
    } as const;
    return { candidate, score, parts: { ...NO_SCORES, words: score }, worth: 0 };
  });
}

/** Yields the first of each ranking, then the second of each, and so on. Their scores cannot be compared. */
export function* alternating(ranking: Iterable<Placed>, others: Iterable<Placed>): Generator<Placed> {
  const left = [ranking[Symbol.iterator](), others[Symbol.iterator]()];
  while (left.length > 0) {
    for (const iterator of [...left]) {
      const { done, value } = iterator.next();
      if (done) left.splice(left.indexOf(iterator), 1);
      else yield value;
    }
  }
}
