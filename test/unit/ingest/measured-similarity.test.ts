import { describe, expect, test } from "vitest";
import { conversation } from "../../../scripts/bench/conversations.ts";
import { take } from "../../../scripts/bench/messages.ts";
import type { Embedder, MessageInput, RemoteEmbedder, Store } from "../../../src/index.ts";
import { hashingEmbedder } from "../../../src/models/hashing-embedder.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { normalize } from "../../../src/vector/vector.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

function filled(count: number): Store {
  const store = openedStore(temporaryPath());
  store.session("s").append(take(conversation(1), count));
  return store;
}

const same = { ...hashingEmbedder, id: "same-384" };

/** The vectors of the default embedder in a narrow cone: each cosine `c` becomes 0.6 + 0.4·c. */
const cone: RemoteEmbedder = {
  id: "cone-385",
  dimension: 385,
  similarityMin: 0.7,
  textsMax: 64,
  embedAll: async ({ texts }) => texts.map(coneVector),
};

function coneVector(text: string): Float32Array {
  const vector = hashingEmbedder.embed(text)!;
  return normalize(Float32Array.of(Math.sqrt(0.6), ...vector.map((value) => Math.sqrt(0.4) * value)));
}

function grownWith(embedder: Embedder, said: readonly MessageInput[]): Store {
  const store = openedStore(temporaryPath(), { embedder });
  store.session("s").append(said);
  return store;
}

/** Which step joined which cluster. */
function joinedIn(store: Store): unknown {
  return store.query(
    "SELECT kind, node, root FROM unions WHERE generation = (SELECT max(id) FROM generations) ORDER BY id",
  );
}

describe("a threshold measured on a store", () => {
  test("lets as many pairs join as the default embedder's", async () => {
    const store = internalsOf(filled(700));
    expect(await store.measuredSimilarity(hashingEmbedder)).toBeNull();
    const own = await store.measuredSimilarity(same);
    expect(own).toBeGreaterThanOrEqual(hashingEmbedder.similarityMin);
    expect(own).toBeLessThan(hashingEmbedder.similarityMin + 0.02);
    expect(await store.measuredSimilarity(cone)).toBeCloseTo(0.6 + 0.4 * own!, 4);
  });

  test("is that of the only pair that would join, and none where no pair would", async () => {
    const letters = "abcdefghijklmnopqrstuvwxyz";
    // Each word is of a letter and its length, so no two are alike.
    const texts = Array.from({ length: 52 }, (_, at) => letters[at % 26]!.repeat(4 + 4 * Math.floor(at / 26)));
    const measured = (said: readonly string[]) => {
      const store = temporaryStore();
      store.session("s").append(said.map((text) => user(text)));
      return internalsOf(store).measuredSimilarity(same);
    };
    expect(await measured(texts)).toBeNull();
    expect(await measured([texts[0]!, ...texts])).toBeCloseTo(1, 2);
  });

  test("that `reembed` gets holds for every later process, too", async () => {
    const wrong = { id: cone.id, dimension: cone.dimension, similarityMin: 0.99, embed: coneVector };
    const said = take(conversation(1), 800);
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("s").append(said.slice(0, 400));
    const similarityMin = (await internalsOf(store).measuredSimilarity(wrong))!;
    await store.reembed({ embedder: wrong, similarityMin });
    store.session("s").append(said.slice(400, 600));
    store.close();
    const later = openedStore(path, { embedder: wrong });
    later.session("s").append(said.slice(600));
    expect(joinedIn(later)).toEqual(joinedIn(grownWith({ ...wrong, similarityMin }, said)));
    expect(joinedIn(later)).not.toEqual(joinedIn(grownWith(wrong, said)));
  });

  test("is not measured on few messages, by a server that is away, or if texts would leave the machine", async () => {
    expect(await internalsOf(filled(20)).measuredSimilarity(same)).toBeNull();
    const store = internalsOf(filled(200));
    const embedAll = async () => ["nothing"] as never;
    expect(await store.measuredSimilarity({ ...cone, embedAll })).toBeNull();
    const asked = () => Promise.reject(new Error("it was asked"));
    expect(await store.measuredSimilarity({ ...cone, sentTo: "example.com", embedAll: asked })).toBeNull();
  });
});
