import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LocalEmbedder, openStore, type Store } from "../../../src/index.ts";
import { normalize } from "../../../src/vector/vector.ts";
import { slow } from "../../support/effort.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

/** Above this many messages, recall searches through the clusters. */
const MANY = 5_100;

/** Sees the two letters of a text's last word as an angle, and nothing else. */
const angles: LocalEmbedder = {
  id: "angles-2",
  dimension: 2,
  similarityMin: 0.99,
  embed: (text) => {
    const degrees = Number(/(\d+)$/.exec(text)?.[1]);
    if (Number.isNaN(degrees)) return undefined;
    const radians = (degrees / 180) * Math.PI;
    return normalize(Float32Array.of(Math.cos(radians), Math.sin(radians)));
  },
};

/** Adds messages at angles up to 90 degrees to a store, in two projects. */
function grow(store: Store): void {
  for (const [index, project] of ["web", "app"].entries()) {
    const session = store.session(project, { project });
    session.append(Array.from({ length: MANY / 2 }, (_, at) => user(`note${index}x${at} ${at % 90}`)));
    session.compact();
  }
}

const texts = async (store: Store, embedding: Float32Array, options = {}) => {
  const hits = await store.recall({ text: "nothing", embedding }, { limit: 3, neighbors: 0, ...options });
  return hits.map(({ text }) => text);
};

describe("the messages nearest to a query in a large store", () => {
  let shared: Store;
  beforeAll(() => {
    shared = openStore(":memory:", { embedder: angles });
    grow(shared);
  });
  afterAll(() => shared.close());

  test("are found through the clusters and in the windows, and are followed", async () => {
    shared.session("web").append(user("turned 170"));
    for (const degrees of [0, 41, 89]) {
      const [first] = await texts(shared, angles.embed(`${degrees}`)!);
      expect(Number(first!.split(" ")[1])).toBe(degrees);
    }
    expect((await texts(shared, angles.embed("171")!))[0]).toBe("turned 170");
    shared.session("web").append(Array.from({ length: 60 }, (_, at) => user(`later${at} 135`)));
    shared.session("web").compact();
    const later = await texts(shared, angles.embed("136")!);
    expect(later.every((text) => text.endsWith(" 135"))).toBe(true);
  });

  test("are found in a large project, although another one has more that are nearer", async () => {
    const store = openedStore(temporaryPath(), { embedder: angles });
    const large = store.session("large", { project: "large" });
    large.append([...Array.from({ length: MANY }, (_, at) => user(`note${at} 170`)), user("sought 50")]);
    for (let other = 0; other < 100; other++) {
      const session = store.session(`other${other}`, { project: "other" });
      session.append(Array.from({ length: 5 }, (_, at) => user(`other${other}x${at} 40`)));
    }
    expect((await texts(store, angles.embed("40")!, { project: "large" }))[0]).toBe("sought 50");
  });

  slow(test)("count after most messages were forgotten", async () => {
    const store = openedStore(temporaryPath(), { embedder: angles });
    store.session("old").append(Array.from({ length: 4_200 }, (_, at) => user(`old${at} ${at % 90}`)));
    store.session("new").append(Array.from({ length: 1_000 }, (_, at) => user(`new${at} ${at % 90}`)));
    store.forget("old");
    const query = { text: "nothing", embedding: angles.embed("120")! };
    const [hit] = await store.recall(query, { limit: 1, neighbors: 0, explain: true });
    expect(hit!.text).toMatch(/ 89$/);
    expect(hit!.parts!.vector).not.toBe(0);
  });

  test("are of the scope, and go with a session that is forgotten", async () => {
    const near = angles.embed("41")!;
    for (const text of await texts(shared, near, { project: "app" })) expect(text).toMatch(/^note1x\d+ 41$/);
    shared.forget("app");
    const left = await texts(shared, near);
    expect(left).toHaveLength(3);
    for (const text of left) expect(text).toMatch(/^note0x\d+ 41$/);
  });
});
