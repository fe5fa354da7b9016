import { describe, expect, test } from "vitest";
import { randomFrom } from "../../../scripts/bench/messages.ts";
import { backgroundOf, type SampledMessage } from "../../../src/recall/background.ts";
import { byMeaning } from "../../../src/recall/meaning.ts";
import { normalize } from "../../../src/vector/vector.ts";
import { runs } from "../../support/effort.ts";
import { rankedMessage } from "../../support/ranked-message.ts";

const MESSAGES = 400;
const QUESTIONS = runs(1_000);

/** Cosines in the background have this mean and deviation, as those of many encoders. */
const BACKGROUND = { mean: 0.55, deviation: 0.045 };

const random = randomFrom(7);

/** The share of questions whose only answer is among the first ten. */
interface Found {
  words: number;
  vectors: number;
  fused: number;
}

/**
 * Ranks messages for questions with one answer. Its place by words is drawn from those on LoCoMo: first for two questions of
 * five, and beyond the tenth for one of four. Its cosine is drawn around `answer`.
 */
function foundBy(answer: number, neighbor: number): Found {
  const background = backgroundOf(sampleOf(neighbor));
  const found: Found = { words: 0, vectors: 0, fused: 0 };
  for (let question = 0; question < QUESTIONS; question++) {
    const gold = Math.min(MESSAGES - 1, Math.floor(1 / (1 - random()) ** 1.7) - 1);
    const cosines = new Map<number, number>();
    for (let id = 0; id < MESSAGES; id++) {
      cosines.set(id, normal(id === gold ? answer : BACKGROUND.mean, BACKGROUND.deviation));
    }
    const ranking = Array.from({ length: MESSAGES }, (_, id) => rankedMessage(id, 2 - id / MESSAGES));
    const sampled = [...cosines.values()].filter((_, id) => id % 2 === 0);
    const fused = byMeaning(ranking, { cosines, sampled, background, messageCount: MESSAGES });
    const byVectors = [...cosines].sort(([, left], [, right]) => right - left);
    if (gold < 10) found.words += 1 / QUESTIONS;
    if (byVectors.slice(0, 10).some(([id]) => id === gold)) found.vectors += 1 / QUESTIONS;
    if (fused.slice(0, 10).some(({ candidate }) => candidate.messageId === gold)) found.fused += 1 / QUESTIONS;
  }
  return found;
}

describe("a ranking by words and vectors", () => {
  test("is better than either with a strong and with a middling embedder", () => {
    const strong = foundBy(0.76, 0.66);
    expect(strong.fused).toBeGreaterThan(0.95);
    expect(strong.fused).toBeGreaterThan(Math.max(strong.words, strong.vectors) - 0.015);
    const middling = foundBy(0.68, 0.61);
    expect(middling.fused).toBeGreaterThan(0.87);
    expect(middling.fused).toBeGreaterThan(Math.max(middling.words, middling.vectors) + 0.05);
  });

  test("is no worse than words alone with a useless embedder", () => {
    const { words, vectors, fused } = foundBy(BACKGROUND.mean, BACKGROUND.mean);
    expect(vectors).toBeLessThan(0.1);
    expect(fused).toBeGreaterThan(words - 0.01);
  });

  test("is the ranking by words if all vectors are the same", () => {
    const ranking = [rankedMessage(1, 3), rankedMessage(2, 2), rankedMessage(3, 1)];
    const cosines = new Map([1, 2, 3].map((id) => [id, 0.9]));
    const background = backgroundOf([]);
    expect(byMeaning(ranking, { cosines, sampled: [0.9, 0.9, 0.9], background, messageCount: 3 })).toEqual(ranking);
  });

  test("has scores that are the sums of their parts, and worths in (0, 1] in the same order", () => {
    const ranking = Array.from({ length: 200 }, (_, id) => rankedMessage(id, 2 - id / 200));
    const cosines = new Map(ranking.map((_, id) => [id, normal(0.5, 0.1)]));
    const background = backgroundOf(sampleOf(0.6));
    const fused = byMeaning(ranking, { cosines, sampled: [...cosines.values()], background, messageCount: 200 });
    expect(fused).toHaveLength(200);
    expect(fused[0]!.worth).toBe(1);
    let before = 1;
    for (const { score, worth, parts } of fused) {
      expect(worth).toBeGreaterThan(0);
      expect(worth).toBeLessThanOrEqual(before);
      before = worth;
      expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(score, 9);
    }
  });

  test("orders messages without any word of the question by their vectors", () => {
    const ranking = [rankedMessage(1, 0), rankedMessage(2, 0), rankedMessage(3, 0)];
    const cosines = new Map([
      [1, 0.5],
      [2, 0.6],
      [3, 0.55],
    ]);
    const background = backgroundOf([]);
    const fused = byMeaning(ranking, { cosines, sampled: [0.4, 0.5, 0.52, 0.5, 0.45], background, messageCount: 90 });
    expect(fused.map(({ candidate }) => candidate.messageId)).toEqual([2, 3, 1]);
  });
});

describe("a background", () => {
  test("doubts an embedder that places the next message no nearer than others", () => {
    expect(backgroundOf(sampleOf(BACKGROUND.mean)).uselessness).toBeGreaterThan(0.9);
    expect(backgroundOf(sampleOf(0.65)).uselessness).toBeLessThan(0.2);
    expect(backgroundOf([]).uselessness).toBe(0.5);
  });

  test("falls with the distance, and more slowly for an embedder that sees many messages as close", () => {
    const even = backgroundOf(sampleOf(0.6));
    const subjects = backgroundOf(sampleOf(0.6, 0.08));
    let before = 1;
    for (let deviations = -2; deviations <= 6; deviations += 0.25) {
      const share = even.shareAbove(deviations);
      expect(share).toBeLessThanOrEqual(before);
      expect(share).toBeGreaterThan(0);
      before = share;
    }
    expect(even.shareAbove(5)).toBeLessThan(1e-4);
    expect(subjects.shareAbove(5)).toBeGreaterThan(10 * even.shareAbove(5));
  });
});

/** @param close  The share of messages about one subject, which are close to each other. */
function sampleOf(neighbor: number, close = 0): SampledMessage[] {
  const dimension = 200;
  const direction = (): Float32Array => normalize(Float32Array.from({ length: dimension }, () => normal(0, 1)));
  const common = direction();
  const subject = direction();
  const mixed = (cosine: number, base: Float32Array, other: Float32Array): Float32Array =>
    normalize(base.map((value, index) => Math.sqrt(cosine) * value + Math.sqrt(1 - cosine) * other[index]!));
  return Array.from({ length: 256 }, () => {
    const own = random() < close ? mixed(0.6, subject, direction()) : direction();
    const near = (neighbor - BACKGROUND.mean) / (1 - BACKGROUND.mean);
    const nextOwn = normalize(direction().map((value, index) => near * own[index]! + Math.sqrt(1 - near ** 2) * value));
    return { vector: mixed(BACKGROUND.mean, common, own), next: mixed(BACKGROUND.mean, common, nextOwn) };
  });
}

function normal(mean: number, deviation: number): number {
  return mean + deviation * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
