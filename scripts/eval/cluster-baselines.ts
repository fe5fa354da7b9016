import { stem } from "../../src/models/stem.ts";
import { words } from "../../src/models/words.ts";

/** The number of earlier messages that a message may link to, and the least cosine of a link. */
const LOOK_BACK = 100;
const COSINE_MIN = 0.2;

/** Labels runs of the mean size of the given clusters. Shows what the order of messages alone is worth. */
export function fixedRuns(labels: readonly number[]): number[] {
  const length = Math.max(1, Math.round(labels.length / new Set(labels).size));
  return labels.map((_, index) => Math.floor(index / length));
}

/** Unites each message with the most similar one before it, by TF-IDF over the whole conversation. */
export function nearestByTfIdf(texts: readonly string[]): number[] {
  const documents = texts.map((text) => words(text).map(stem));
  const documentCounts = new Map<string, number>();
  for (const terms of documents) {
    for (const term of new Set(terms)) documentCounts.set(term, (documentCounts.get(term) ?? 0) + 1);
  }
  const vectors = documents.map((terms) => {
    const vector = new Map<string, number>();
    for (const term of terms) {
      vector.set(term, (vector.get(term) ?? 0) + Math.log(documents.length / documentCounts.get(term)!));
    }
    const length = Math.sqrt([...vector.values()].reduce((sum, weight) => sum + weight * weight, 0));
    return new Map([...vector].map(([term, weight]) => [term, length > 0 ? weight / length : 0]));
  });

  const labels: number[] = [];
  for (const [index, vector] of vectors.entries()) {
    let nearest = index;
    let cosineMax = 0;
    for (let other = Math.max(0, index - LOOK_BACK); other < index; other++) {
      let cosine = 0;
      for (const [term, weight] of vector) cosine += weight * (vectors[other]!.get(term) ?? 0);
      if (cosine > cosineMax) [cosineMax, nearest] = [cosine, other];
    }
    // A message has one link, to an earlier message, and gets its label.
    labels.push(cosineMax >= COSINE_MIN ? labels[nearest]! : index);
  }
  return labels;
}
