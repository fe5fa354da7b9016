import { describe, expect, test } from "vitest";
import { randomFrom } from "../../../scripts/bench/messages.ts";
import { readingStore } from "../../../scripts/train/reading-store.ts";
import type { LocalEmbedder } from "../../../src/index.ts";
import { byMeaning, meaningWeight } from "../../../src/recall/meaning.ts";
import { normalize } from "../../../src/vector/vector.ts";
import { rankedMessage } from "../../support/ranked-message.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const DIMENSION = 96;
const random = randomFrom(7);

describe("a ranking by words and vectors", () => {
  test("is the ranking by words if all vectors are the same, or if no vector is near", () => {
    const ranking = [rankedMessage(1, 3), rankedMessage(2, 2), rankedMessage(3, 1)];
    const idsBy = (cosines: number[], sampled: number[]): number[] => {
      const meaning = { cosines: new Map(cosines.map((cosine, at) => [at + 1, cosine])), sampled, weight: 2 };
      return byMeaning(ranking, meaning, 1).map(({ candidate }) => candidate.messageId);
    };
    expect(idsBy([0.9, 0.9, 0.9], [0.9, 0.9, 0.9])).toEqual([1, 2, 3]);
    expect(idsBy([0.4, 0.5, 0.5], [0.4, 0.5, 0.6])).toEqual([1, 2, 3]);
    expect(idsBy([0.4, 0.5, 0.9], [0.4, 0.5, 0.6])).toEqual([3, 1, 2]);
  });

  test("has scores that are the sums of their parts", () => {
    const ranking = Array.from({ length: 200 }, (_, id) => rankedMessage(id, 2 - id / 200));
    const cosines = new Map(ranking.map((_, id) => [id, normal(0.5, 0.1)]));
    const fused = byMeaning(ranking, { cosines, sampled: [...cosines.values()], weight: 0.5 }, 4);
    expect(fused).toHaveLength(200);
    expect(fused.some(({ parts }) => parts.vector > 0)).toBe(true);
    for (const { score, parts } of fused) {
      expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(score, 9);
    }
  });

  test("orders messages without any word of the question by their vectors", () => {
    const ranking = [rankedMessage(1, 0), rankedMessage(2, 0), rankedMessage(3, 0)];
    const cosines = new Map([0.6, 0.8, 0.7].map((cosine, at) => [at + 1, cosine]));
    const fused = byMeaning(ranking, { cosines, sampled: [0.4, 0.5, 0.52, 0.5, 0.45], weight: 0.01 }, 4);
    expect(fused.map(({ candidate }) => candidate.messageId)).toEqual([2, 3, 1]);
  });
});

/** Twelve sessions about one matter each. @param shared  How much of its vector a message shares with its session, and with the next message. */
function talkedAbout(shared: { session: number; next: number }): { embedder: LocalEmbedder; sessions: string[][] } {
  const vectors = new Map<string, Float32Array>();
  const common = direction();
  const sessions = Array.from({ length: 12 }, (_, session) => {
    const matter = direction();
    let before = direction();
    return Array.from({ length: 24 }, (_, at) => {
      const text = `${WORDS[(session * 24 + at) % WORDS.length]} ${session} ${at}`;
      const after = direction();
      const own = mixed(
        [shared.session, matter],
        [shared.next / 2, before],
        [shared.next / 2, after],
        [1, direction()],
      );
      vectors.set(text, mixed([1, common], [1, own]));
      before = after;
      return text;
    });
  });
  const embed = (text: string): Float32Array | undefined => vectors.get(text);
  return { embedder: { id: "talk-96", dimension: DIMENSION, similarityMin: 0.9, embed }, sessions };
}

const WORDS = "deploy region budget invoice palette retry upload lock queue mirror harbor lantern ledger".split(" ");

function weightOf({ embedder, sessions }: ReturnType<typeof talkedAbout>): number {
  const path = temporaryPath();
  const store = openedStore(path, { embedder });
  const ids = sessions.flatMap((texts, at) => {
    const messages = texts.map((content) => ({ role: "user" as const, content }));
    return store
      .session(`s${at}`)
      .append(messages)
      .map(({ messageId }) => messageId);
  });
  store.close();
  let weight = 0;
  readingStore(path, ({ evidence }) => {
    weight = meaningWeight(
      evidence,
      ids.filter((_, index) => index % 4 === 1),
      embedder.id,
    );
  });
  return weight;
}

describe("the weight of vectors", () => {
  test("is small if they only know the topic, each turn being its session's direction and noise", () => {
    expect(weightOf(talkedAbout({ session: 1, next: 0 }))).toBeLessThan(0.25);
  });

  test("is small if they know nothing", () => {
    expect(weightOf(talkedAbout({ session: 0, next: 0 }))).toBeLessThan(0.25);
  });

  test("is large if they tell what is said next from what is said soon after, on any topic", () => {
    expect(weightOf(talkedAbout({ session: 0, next: 1 }))).toBeGreaterThan(0.8);
    expect(weightOf(talkedAbout({ session: 1, next: 1 }))).toBeGreaterThan(0.8);
  });

  test("is what real embedders lose nothing with while there are no pairs", () => {
    const { embedder, sessions } = talkedAbout({ session: 0, next: 1 });
    expect(weightOf({ embedder, sessions: sessions.map(([first]) => [first!]) })).toBe(0.2);
  });
});

test("vectors that only know the topic leave the answer where words have placed it", async () => {
  const { embedder, sessions } = talkedAbout({ session: 1, next: 0 });
  const placesOf = async (used: LocalEmbedder): Promise<number[]> => {
    const store = openedStore(temporaryPath(), { embedder: used });
    sessions.forEach(
      (texts, at) => void store.session(`s${at}`).append(texts.map((content) => ({ role: "user", content }))),
    );
    const places: number[] = [];
    for (const [at, texts] of sessions.entries()) {
      // The question has the words of one message, and the direction of another session.
      const embedding = embedder.embed(sessions[(at + 1) % sessions.length]![0]!)!;
      const hits = await store.recall(used === embedder ? { text: texts[5]!, embedding } : texts[5]!, { neighbors: 0 });
      places.push(hits.findIndex(({ text }) => text === texts[5]));
    }
    return places;
  };
  const silent: LocalEmbedder = { ...embedder, id: "silent-96", embed: () => undefined };
  expect(await placesOf(embedder)).toEqual(await placesOf(silent));
});

function direction(): Float32Array {
  return normalize(Float32Array.from({ length: DIMENSION }, () => normal(0, 1)));
}

function mixed(...parts: readonly (readonly [share: number, vector: Float32Array])[]): Float32Array {
  const sum = new Float32Array(DIMENSION);
  for (const [share, vector] of parts)
    for (let at = 0; at < DIMENSION; at++) sum[at]! += Math.sqrt(share) * vector[at]!;
  return normalize(sum);
}

function normal(mean: number, deviation: number): number {
  return mean + deviation * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
