import { expect, test } from "vitest";
import type { Embedder } from "../../../src/index.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

/** Knows that a car is an automobile, and nothing else but colors. */
const MEANINGS: Readonly<Record<string, number>> = { car: 0, automobile: 0, sedan: 0, red: 1, crimson: 1 };

function embedderOfMeanings(isLexical: boolean): Embedder {
  return {
    id: "meanings-3",
    dimension: 3,
    similarityMin: 0.5,
    isLexical,
    embed(text) {
      const vector = new Float32Array(3);
      for (const word of text.toLowerCase().match(/\w+/g) ?? []) {
        const axis = MEANINGS[word] ?? 2;
        vector[axis] = vector[axis]! + 1;
      }
      const length = Math.hypot(...vector);
      return length === 0 ? undefined : vector.map((value) => value / length);
    },
  };
}

async function found(isLexical: boolean, query: string, project?: string): Promise<string[]> {
  const store = openedStore(temporaryPath(), { embedder: embedderOfMeanings(isLexical) });
  const settings = { hotSize: 1, evictBatch: 1, overlap: 0 };
  for (const project of ["web", "app"]) {
    const session = store.session(project, { ...settings, project });
    session.append(["automobile sedan", "crimson crimson", "lunch at noon", "lunch again"].map((text) => user(text)));
    session.compact();
  }
  const hits = await store.recall(query, { limit: 2, neighbors: 0, ...(project !== undefined && { project }) });
  return hits.map(({ sessionId, text }) => `${sessionId}: ${text}`);
}

test("a message without any word of the query is found by what its vector means", async () => {
  expect((await found(false, "car")).sort()).toEqual(["app: automobile sedan", "web: automobile sedan"]);
  expect((await found(false, "car", "app"))[0]).toBe("app: automobile sedan");
  expect((await found(false, "red", "web"))[0]).toBe("web: crimson crimson");
});

test("vectors that know no more than words nominate nobody", async () => {
  expect(await found(true, "car")).toEqual([]);
});
