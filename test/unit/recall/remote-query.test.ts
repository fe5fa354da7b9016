import { describe, expect, test } from "vitest";
import { user } from "../../support/said.ts";
import { away, hang, type ScriptedEmbedder, scriptedEmbedder, vectorOf } from "../../support/scripted-embedder.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

/** A store of two subjects in its forest, each message with its vector, and one that waits for its own. */
async function remoteStore() {
  const embedder: ScriptedEmbedder = scriptedEmbedder();
  const path = temporaryPath();
  const store = openedStore(path, { embedder });
  const session = store.session("s", { hotSize: 2, overlap: 0 });
  session.append([user("the harbor lens is cracked"), user("bread wants an hour"), user("the oven is hot")]);
  await store.upkeep({ only: "vectors" });
  session.append([user("a keel of oak"), user("an anchor of iron")]);
  session.compact();
  embedder.requests.length = 0;
  return { store, session, embedder, path };
}

describe("recall with a remote embedder", () => {
  test("asks it once for the query's vector, as that of a query", async () => {
    const { store, embedder } = await remoteStore();
    const [best] = await store.recall("harbor lens", { explain: true });
    expect(best).toMatchObject({ text: "the harbor lens is cracked" });
    expect(embedder.requests).toMatchObject([{ texts: ["harbor lens"], task: "query" }]);
  });

  test("finds by meaning what shares no word with the query", async () => {
    const { store, embedder } = await remoteStore();
    expect(await store.recall("zxqv", { vectorMsMax: 0 })).toEqual([]);
    // As if the model knew that the word means the same.
    embedder.embedAll = async () => [vectorOf("the harbor lens is cracked")];
    const hits = await store.recall("zxqv");
    expect(hits[0]).toMatchObject({ text: "the harbor lens is cracked" });
  });

  test("always finds by words what waits for its vector", async () => {
    const { store } = await remoteStore();
    const hits = await store.recall("anchor iron", { limit: 1 });
    expect(hits).toMatchObject([{ text: "an anchor of iron", root: null }]);
  });

  test.each<[string, (embedder: ScriptedEmbedder) => void]>([
    [
      "fails",
      (embedder) =>
        (embedder.before = () => {
          throw away();
        }),
    ],
    ["hangs", (embedder) => (embedder.before = hang)],
    ["answers nonsense", (embedder) => (embedder.embedAll = async () => [])],
  ])("finds by words where it %s", async (_, spoil) => {
    const { store, embedder } = await remoteStore();
    spoil(embedder);
    const hits = await store.recall("harbor lens", { vectorMsMax: 50, explain: true });
    expect(hits[0]).toMatchObject({ text: "the harbor lens is cracked" });
  });

  test("waits for a vector as long as vectorMsMax says", async () => {
    const { store, embedder } = await remoteStore();
    embedder.before = hang;
    const controller = new AbortController();
    const settled: string[] = [];
    const patient = store.recall("harbor", { vectorMsMax: 60_000, signal: controller.signal }).finally(() => {
      settled.push("patient");
    });
    patient.catch(() => {}); // it rejects when it is aborted
    await store.recall("harbor", { vectorMsMax: 50 });
    expect(settled).toEqual([]);
    controller.abort(new Error("enough"));
    await expect(patient).rejects.toThrow("enough");
  });

  test("asks nobody where the caller has a vector, a wrong option, or no words", async () => {
    const { store, embedder } = await remoteStore();
    await store.recall({ text: "harbor", embedding: vectorOf("harbor") });
    await expect(store.recall("harbor", { limit: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(store.recall("harbor", { vectorMsMax: -1 })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(store.recall(" ")).rejects.toMatchObject({ code: "QUERY_EMPTY" });
    expect(embedder.requests).toEqual([]);
  });

  test("can be aborted, and ends when the store closes", async () => {
    const { store, embedder } = await remoteStore();
    embedder.before = hang;
    const controller = new AbortController();
    const aborted = store.recall("harbor", { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    const closed = store.recall("harbor");
    store.close();
    await expect(closed).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });

  test("reads by words with another embedder than the store's, and asks neither", async () => {
    const { path, embedder } = await remoteStore();
    const other = scriptedEmbedder({ id: "another-384" });
    expect(() => openedStore(path, { embedder: other })).toThrow(/scripted-384.*another-384/);
    const reader = openedStore(path, { embedder: other, readonly: true });
    expect((await reader.recall("harbor lens"))[0]).toMatchObject({ text: "the harbor lens is cracked" });
    expect([...embedder.requests, ...other.requests]).toEqual([]);
  });
});

describe("calls that answer at once", () => {
  test("nearestRoots refuses a text and takes a vector of the embedder", async () => {
    const { store, embedder } = await remoteStore();
    expect(() => store.nearestRoots("harbor")).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", message: expect.stringContaining('"scripted-384" is remote') }),
    );
    expect(embedder.requests).toEqual([]);
    const vector = vectorOf("the harbor lens is cracked")!;
    expect(store.nearestRoots(vector, { k: 1 })).toMatchObject([{ root: expect.stringMatching(/^cluster:1@/) }]);
  });
});
