import { describe, expect, test } from "vitest";
import type { RecallOptions, Rerank, Store } from "../../../src/index.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

function locks(count = 3): Store {
  const store = openedStore(temporaryPath());
  store.session("s").append(Array.from({ length: count }, (_, index) => user(`the lock of door ${index} is stuck`)));
  return store;
}

const found = async (store: Store, rerank: Rerank, limit = 3) =>
  (await store.recall("lock", { rerank, limit, neighbors: 0 })).map(({ text }) => text);

/** Prefers higher numbers of doors. */
const byNumber: Rerank = async (_, texts) => texts.map((text) => Number(/\d+/.exec(text)![0]));

describe("a reranker", () => {
  test("orders what recall has found, and gets the query and the whole texts", async () => {
    const asked: unknown[] = [];
    const rerank: Rerank = (query, texts, signal) => {
      asked.push([query, [...texts].sort()]);
      return byNumber(query, texts, signal);
    };
    const texts = [0, 1, 2].map((door) => `the lock of door ${door} is stuck`);
    expect(await found(locks(), rerank)).toEqual(texts.toReversed());
    expect(asked).toEqual([["lock", texts]]);
  });

  test("reads fifty messages, and the others follow in their order", async () => {
    const store = locks(80);
    const plain = (await store.recall("lock", { limit: 80, neighbors: 0 })).map(({ text }) => text);
    let count = 0;
    const rerank: Rerank = (query, texts, signal) => {
      count = texts.length;
      return byNumber(query, texts, signal);
    };
    const reranked = await found(store, rerank, 80);
    expect(count).toBe(50);
    expect(reranked.slice(50)).toEqual(plain.slice(50));
    expect(reranked.slice(0, 50)).not.toEqual(plain.slice(0, 50));
    expect(reranked.slice(0, 50).sort()).toEqual(plain.slice(0, 50).sort());
  });

  test("decides which hits fill a token limit, however unlikely their words made them", async () => {
    const store = openedStore(temporaryPath());
    const colors = "amber blue coral denim ebony fawn green hazel ivory jade khaki lime".split(" ");
    for (const color of colors) store.session(color).append(user(`The lighthouse lamp on the pier is ${color}`));
    for (let day = 0; day < 40; day++) {
      store.session(`day ${day}`).append(user(`Day ${day}: fish ${day * 7}, nets q${day} and boats at the pier`));
    }
    const rerank: Rerank = async (_, texts) => texts.map((text) => (text.startsWith("Day") ? 1 : 0));
    const query = "Which color has the lighthouse lamp of the pier?";
    const idsOf = async (options: RecallOptions) =>
      (await store.recall(query, { ...options, neighbors: 0 })).map(({ messageId }) => messageId);
    const filled = { tokensMax: 100_000 };
    expect((await idsOf(filled)).length).toBeLessThan(30);
    expect(await idsOf({ ...filled, rerank })).toEqual(await idsOf({ limit: 30, rerank }));
  });

  test("is not asked about nothing", async () => {
    expect(await locks().recall("zebra", { rerank: () => Promise.reject(new Error("asked")) })).toEqual([]);
  });

  test("that answers nonsense is an error, and its own error is passed on", async () => {
    for (const scores of [[1], [1, 2, Number.NaN], "no", undefined]) {
      const error = await found(locks(), async () => scores as never).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "MODEL_ANSWER_INVALID" });
    }
    const own = new Error("the model is gone");
    await expect(found(locks(), () => Promise.reject(own))).rejects.toBe(own);
    await expect(locks().recall("lock", { rerank: 7 as never })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  test("can be aborted, and what it orders may be forgotten meanwhile", async () => {
    const controller = new AbortController();
    const hanging = locks().recall("lock", { rerank: () => new Promise(() => {}), signal: controller.signal });
    const reason = new Error("closing");
    controller.abort(reason);
    await expect(hanging).rejects.toBe(reason);
    const store = locks();
    const rerank: Rerank = (query, texts, signal) => {
      store.forget("s");
      return byNumber(query, texts, signal);
    };
    expect(await found(store, rerank)).toEqual([]);
  });
});
