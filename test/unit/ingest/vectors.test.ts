import { spawnSync } from "node:child_process";
import { describe, expect, test, vi } from "vitest";
import type { Store } from "../../../src/index.ts";
import { StoreError } from "../../../src/index.ts";
import { encodeEmbedding } from "../../../src/vector/codec.ts";
import { expectAtOnce } from "../../support/at-once.ts";
import { numberedMessage } from "../../support/numbered-message.ts";
import { inDatabase } from "../../support/rows.ts";
import { talk, user } from "../../support/said.ts";
import {
  away,
  hang,
  refused,
  type ScriptedEmbedder,
  scriptedEmbedder,
  vectorOf,
} from "../../support/scripted-embedder.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

let now = 1_700_000_000_000;

/** A store with that many messages in a session, all without vectors. */
function waitingStore(
  count: number,
  options: { textsMax?: number; path?: string } = {},
): {
  store: Store;
  embedder: ScriptedEmbedder;
} {
  const embedder = scriptedEmbedder(options);
  const store = openedStore(options.path ?? temporaryPath(), { embedder, clock: () => now });
  store.session("s").append(Array.from({ length: count }, (_, index) => user(`message number ${index}`)));
  return { store, embedder };
}

function pendingOf(store: Store): unknown[] {
  return store.query("SELECT message_id, status, attempts, next_try_at_ms, error_code FROM pending_vectors");
}

describe("a message of a remote embedder", () => {
  test("is stored without a vector, and waits for it, unless it has nothing to embed", () => {
    const embedder = scriptedEmbedder();
    const store = openedStore(temporaryPath(), { embedder, clock: () => now });
    store.session("s").append([user("hello"), user("  "), user("???")]);
    expect(store.query("SELECT id, embedding IS NULL AS bare, embedder_id FROM messages")).toEqual([
      { id: 1, bare: 1, embedder_id: null },
      { id: 2, bare: 1, embedder_id: null },
      { id: 3, bare: 1, embedder_id: null },
    ]);
    expect(store.query("SELECT * FROM vectors_pending")).toMatchObject([
      { message_id: 1, session_id: "s", seq: 0, role: "user", status: "due", due_since_ms: now },
      { message_id: 3, seq: 2 },
    ]);
    expect(embedder.requests).toEqual([]);
  });

  test("gets its vector in batches no larger than it takes, oldest first", async () => {
    const { store, embedder } = waitingStore(25, { textsMax: 10 });
    const seen: unknown[] = [];
    const result = await store.upkeep({
      only: "vectors",
      concurrency: 1,
      onProgress: (progress) => seen.push(progress),
    });
    expect(result).toEqual({ embedded: 25, failed: 0, refused: 0, waiting: 0 });
    expect(seen).toEqual([
      { embedded: 10, waiting: 15 },
      { embedded: 20, waiting: 5 },
      { embedded: 25, waiting: 0 },
    ]);
    expect(embedder.requests.map(({ texts }) => texts.length)).toEqual([10, 10, 5]);
    expect(embedder.requests[0]).toMatchObject({
      task: "document",
      texts: ["message number 0"].concat(embedder.requests[0]!.texts.slice(1)),
    });
    const [row] = store.query("SELECT hex(embedding) AS hex, embedder_id FROM messages WHERE id = 7");
    expect(row).toEqual({
      hex: encodeEmbedding(vectorOf("message number 6")).toString("hex").toUpperCase(),
      embedder_id: embedder.id,
    });
    expect(pendingOf(store)).toEqual([]);
  });

  test("is asked for once, however many ask at a time", async () => {
    const path = temporaryPath();
    const { store, embedder } = waitingStore(40, { textsMax: 3, path });
    const other = openedStore(path, { embedder, clock: () => now });
    embedder.before = () => new Promise((resolve) => setTimeout(resolve, 2));
    await Promise.all([
      store.upkeep({ only: "vectors" }),
      other.upkeep({ only: "vectors" }),
      store.upkeep({ only: "vectors", concurrency: 2 }),
    ]);
    const asked = embedder.requests.flatMap(({ texts }) => texts);
    expect(asked).toHaveLength(40);
    expect(new Set(asked).size).toBe(40);
    expect(store.stats()).toMatchObject({ pendingVectorCount: 0, withoutVectorCount: 0 });
    expect(other.session("s").append(user("on it goes")).seq).toBe(40);
  });

  test("that is forgotten while it is asked for leaves nothing behind", async () => {
    const { store, embedder } = waitingStore(3);
    let answer = (): void => {};
    embedder.before = () => new Promise((resolve) => (answer = resolve));
    const embedding = store.upkeep({ only: "vectors" });
    await vi.waitFor(() => expect(embedder.requests).toHaveLength(1));
    store.forget("s", { messageIds: [2] });
    answer();
    expect(await embedding).toMatchObject({ embedded: 2, waiting: 0 });
    expect(pendingOf(store)).toEqual([]);
    expect(store.verify()).toMatchObject({ ok: true, messageCount: 2 });
  });
});

describe("what fails", () => {
  test("by a service that is away is tried when it says, by nobody before", async () => {
    const path = temporaryPath();
    const { store, embedder } = waitingStore(12, { textsMax: 10, path });
    embedder.before = () => {
      throw away(7_000);
    };
    const result = await store.upkeep({ only: "vectors", concurrency: 1 });
    expect(result).toMatchObject({ embedded: 0, failed: 10, waiting: 12, error: { code: "MODEL_UNAVAILABLE" } });
    expect(embedder.requests).toHaveLength(1);
    expect(store.stats()).toMatchObject({ pendingVectorCount: 12, failedVectorCount: 10 });
    expect(store.doctor().find(({ check }) => check === "vectors")).toMatchObject({
      level: "advice",
      text: expect.stringContaining("12 messages wait for a vector"),
    });
    embedder.before = () => {};
    store.close();
    // It stands in the file, so it holds for whoever comes next.
    const next = openedStore(path, { embedder, clock: () => now });
    expect(await next.upkeep({ only: "vectors" })).toMatchObject({ embedded: 0, waiting: 12 });
    expect(embedder.requests).toHaveLength(1);
    now += 7_001;
    expect(await next.upkeep({ only: "vectors" })).toMatchObject({ embedded: 12, waiting: 0 });
  });

  test("again and again is tried ever later", async () => {
    const { store, embedder } = waitingStore(1);
    embedder.before = () => {
      throw away();
    };
    const pauses: number[] = [];
    for (let attempt = 0; attempt < 14; attempt++) {
      await store.upkeep({ only: "vectors" });
      const [row] = store.query("SELECT next_try_at_ms AS at FROM pending_vectors");
      pauses.push((row!.at as number) - now);
      now = row!.at as number;
    }
    expect(pauses.slice(0, 4)).toEqual([2_000, 4_000, 8_000, 16_000]);
    expect(pauses.at(-1)).toBe(3_600_000);
    embedder.before = () => {};
    expect(await store.upkeep({ only: "vectors" })).toMatchObject({ embedded: 1 });
  });

  test("is waited for as long as the caller allows", async () => {
    const embedder = scriptedEmbedder();
    const store = openedStore(temporaryPath(), { embedder, clock: () => (now += 5_000) });
    store.session("s").append(user("hello"));
    embedder.before = () => {
      if (embedder.requests.length < 3) throw away(20);
    };
    expect(await store.upkeep({ only: "vectors", waitMsMax: 60_000 })).toEqual({
      embedded: 1,
      failed: 2,
      refused: 0,
      waiting: 0,
    });
  });

  test("for one text is found out, and costs no other its vector", async () => {
    const { store, embedder } = waitingStore(100, { textsMax: 50 });
    embedder.before = ({ texts }) => {
      if (texts.includes("message number 13") || texts.includes("message number 77")) throw refused();
    };
    const result = await store.upkeep({ only: "vectors", concurrency: 1 });
    expect(result).toMatchObject({ embedded: 98, refused: 2, waiting: 0 });
    expect(result.error).toBeUndefined();
    expect(embedder.requests.length).toBeLessThan(40);
    // Message 13 has entered the forest without a vector.
    expect(store.query("SELECT seq, status, error_code FROM vectors_pending")).toEqual([
      { seq: 77, status: "refused", error_code: "MODEL_REFUSED" },
    ]);
    expect(store.stats()).toMatchObject({ pendingVectorCount: 0, failedVectorCount: 1, withoutVectorCount: 2 });
    // Nobody asks for it again, and no window waits for it.
    const asked = embedder.requests.length;
    await store.upkeep({ only: "vectors" });
    expect(embedder.requests).toHaveLength(asked);
    store.session("s").compact();
    expect(store.query("SELECT graduated_seq FROM sessions")).toEqual([{ graduated_seq: 70 }]);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("three times in a row ends the run, whatever the texts, and a batch that comes between begins the count anew", async () => {
    const invalid = new StoreError("MODEL_ANSWER_INVALID", { model: "scripted", reason: "it is empty" });
    const failing = async (isFailing: (request: number) => boolean): Promise<[requests: number, error: unknown]> => {
      const { store, embedder } = waitingStore(100);
      embedder.before = () => {
        if (isFailing(embedder.requests.length)) throw invalid;
      };
      const { error } = await store.upkeep({ only: "vectors", concurrency: 1 });
      return [embedder.requests.length, error];
    };
    expect(await failing(() => true)).toEqual([3, invalid]);
    expect(await failing((request) => request % 3 !== 0)).toEqual([10, undefined]);
  });

  test("for all of us is no text's fault: it ends the run, and a store opened anew tries again", async () => {
    const path = temporaryPath();
    const { store, embedder } = waitingStore(64, { textsMax: 64, path });
    embedder.before = () => {
      throw refused(400);
    };
    expect(await store.upkeep({ only: "vectors" })).toMatchObject({
      embedded: 0,
      refused: 0,
      waiting: 64,
      error: { code: "MODEL_REFUSED" },
    });
    expect(embedder.requests).toHaveLength(5); // down to a single text, and another one
    const asked = embedder.requests.length;
    await store.upkeep();
    await store.session("s").resolveDirty();
    expect(embedder.requests).toHaveLength(asked);
    expect(store.stats()).toMatchObject({ pendingVectorCount: 64 });
    store.close();
    embedder.before = () => {};
    now += 60_000;
    const next = openedStore(path, { embedder, clock: () => now });
    await next.upkeep();
    expect(next.stats()).toMatchObject({ pendingVectorCount: 0, withoutVectorCount: 0 });
  });

  test.each([401, 403, 404])("with status %i is the account's: one request, and no try is counted", async (status) => {
    const { store, embedder } = waitingStore(20);
    embedder.before = () => {
      throw refused(status);
    };
    const error = { code: "MODEL_REFUSED" };
    expect(await store.upkeep({ only: "vectors", concurrency: 1 })).toMatchObject({ waiting: 20, error });
    expect(embedder.requests).toHaveLength(1);
    const counted = "SELECT DISTINCT attempts, status FROM pending_vectors";
    expect(store.query(counted)).toEqual([{ attempts: 0, status: "due" }]);
  });

  test("because a key is not valid any more gives no message up, although it had worked", async () => {
    const { store, embedder } = waitingStore(20);
    await store.upkeep({ only: "vectors" });
    embedder.before = () => {
      const reason = "API key expired";
      throw new StoreError("MODEL_REFUSED", { model: "m", reason, status: 400, concerns: "account" });
    };
    store.session("s").append(talk(12));
    const asked = embedder.requests.length;
    expect(await store.upkeep({ only: "vectors", concurrency: 1 })).toMatchObject({ refused: 0, waiting: 12 });
    expect(embedder.requests).toHaveLength(asked + 1);
    embedder.before = () => {};
    expect(await store.upkeep({ only: "vectors" })).toMatchObject({ embedded: 12, waiting: 0 });
  });

  test.each<[string, (texts: readonly string[]) => unknown, string]>([
    ["too few vectors", (texts) => texts.slice(1).map(vectorOf), "MODEL_ANSWER_INVALID"],
    ["no list", () => ({}), "MODEL_ANSWER_INVALID"],
    ["another dimension", (texts) => texts.map(() => new Float32Array(3).fill(1)), "VECTOR_INVALID"],
    ["a vector of zeros", (texts) => texts.map(() => new Float32Array(384)), "VECTOR_INVALID"],
    [
      "a vector that is not finite",
      (texts) => texts.map(() => new Float32Array(384).fill(Number.NaN)),
      "VECTOR_INVALID",
    ],
  ])("by answering %s writes no vector, and heals", async (_, answer, code) => {
    const { store, embedder } = waitingStore(4);
    const good = embedder.embedAll;
    embedder.embedAll = async ({ texts }) => answer(texts) as Float32Array[];
    expect(await store.upkeep({ only: "vectors" })).toMatchObject({ embedded: 0, failed: 4, waiting: 4 });
    expect(store.query("SELECT DISTINCT error_code FROM pending_vectors")).toEqual([{ error_code: code }]);
    expect(store.verify()).toMatchObject({ ok: true });
    embedder.embedAll = good;
    now += 10_000;
    expect(await store.upkeep({ only: "vectors" })).toMatchObject({ embedded: 4, waiting: 0 });
  });

  test("for one text every time gives that one up, once others have come through", async () => {
    const { store, embedder } = waitingStore(8, { textsMax: 8 });
    embedder.before = ({ texts }) => {
      if (texts.includes("message number 3")) throw new Error("no such token");
    };
    for (let run = 0; run < 12 && store.stats().pendingVectorCount > 0; run++) {
      await store.upkeep({ only: "vectors" });
      now += 3_600_000;
    }
    expect(store.query("SELECT seq, status, error FROM vectors_pending")).toEqual([
      { seq: 3, status: "refused", error: "no such token" },
    ]);
    expect(store.query("SELECT count(*) AS n FROM messages WHERE embedding IS NOT NULL")).toEqual([{ n: 7 }]);
  });
});

describe("claims", () => {
  test("of a process that is slow are left to it; what is lost in the end is not requested", async () => {
    const path = temporaryPath();
    const { store, embedder } = waitingStore(10, { path });
    let send = (): void => {};
    const sending = new Promise<void>((resolve) => {
      send = resolve;
    });
    let sentCount = 0;
    embedder.before = async ({ onSend }) => {
      await sending;
      onSend!();
      sentCount += 1;
    };
    const slow = store.upkeep({ only: "vectors" });
    await vi.waitFor(() => expect(embedder.requests).toHaveLength(1));

    const quick = scriptedEmbedder();
    const other = openedStore(path, { embedder: quick, clock: () => now });
    now += 5 * 60_000;
    expect(await other.upkeep({ only: "vectors" })).toMatchObject({ embedded: 0, waiting: 10 });
    now += 10 * 60_000;
    expect(await other.upkeep({ only: "vectors" })).toMatchObject({ embedded: 10, waiting: 0 });
    send();
    expect(await slow).toMatchObject({ embedded: 0, failed: 0, refused: 0, waiting: 0 });
    expect(sentCount).toBe(0);
    expect(quick.requests).toHaveLength(1);
  });

  test("of a process that is dead are free at once", async () => {
    const path = temporaryPath();
    const { store, embedder } = waitingStore(10, { path });
    embedder.before = hang;
    void store.upkeep({ only: "vectors" }).catch(() => {});
    await vi.waitFor(() => expect(embedder.requests).toHaveLength(1));
    const quick = scriptedEmbedder();
    const other = openedStore(path, { embedder: quick, clock: () => now });
    expect(await other.upkeep({ only: "vectors" })).toMatchObject({ embedded: 0, waiting: 10 });
    const { pid } = spawnSync(process.execPath, ["--version"]);
    inDatabase(path, (database) => {
      database
        .prepare("UPDATE pending_vectors SET claimant = replace(claimant, ?, ?)")
        .run(` ${process.pid} `, ` ${pid} `);
    });
    expect(await other.upkeep({ only: "vectors" })).toMatchObject({ embedded: 10, waiting: 0 });
  });
});

describe("an abort", () => {
  test("rejects at once, whatever the embedder does, and gives back what it asked for", async () => {
    const { store, embedder } = waitingStore(30);
    embedder.before = hang;
    const controller = new AbortController();
    const embedding = store.upkeep({ only: "vectors", signal: controller.signal });
    await vi.waitFor(() => expect(embedder.requests).toHaveLength(3));
    controller.abort(new Error("enough"));
    await expectAtOnce(embedding);
    await expect(embedding).rejects.toThrow("enough");
    embedder.before = () => {};
    expect(await store.upkeep({ only: "vectors" })).toMatchObject({ embedded: 30 });
  });

  test("by closing lets the next one begin at once", async () => {
    const path = temporaryPath();
    const { store, embedder } = waitingStore(30, { path });
    embedder.before = hang;
    const embedding = store.upkeep({ only: "vectors" });
    await vi.waitFor(() => expect(embedder.requests).toHaveLength(3));
    store.close();
    await expect(embedding).rejects.toMatchObject({ code: "STORE_CLOSED" });
    embedder.before = () => {};
    const next = openedStore(path, { embedder, clock: () => now });
    expect(await next.upkeep({ only: "vectors" })).toMatchObject({ embedded: 30 });
  });

  test("in the middle keeps what has come", async () => {
    const { store, embedder } = waitingStore(30, { textsMax: 10 });
    const controller = new AbortController();
    embedder.before = () => (embedder.requests.length === 3 ? hang() : undefined);
    const embedding = store.upkeep({ only: "vectors", signal: controller.signal, concurrency: 1 });
    await vi.waitFor(() => expect(embedder.requests).toHaveLength(3));
    controller.abort(new Error("enough"));
    await expect(embedding).rejects.toThrow("enough");
    expect(store.stats().pendingVectorCount).toBe(10);
  });
});

describe("in the background", () => {
  test("resolveDirty embeds its session, and then what others left over", async () => {
    const { store, embedder } = waitingStore(5);
    store.session("other").append(talk(3));
    await store.session("other").resolveDirty();
    expect(embedder.requests.map(({ texts }) => texts.length)).toEqual([3, 5]);
    expect(store.stats().pendingVectorCount).toBe(0);
  });

  test("a service that is away keeps nothing else from being done", async () => {
    const { store, embedder } = waitingStore(5);
    embedder.before = () => {
      throw away();
    };
    await expect(store.session("s").resolveDirty()).resolves.toMatchObject({ failed: 0 });
    expect(await store.upkeep()).toMatchObject({ embedded: 0, waiting: 5 });
    expect(store.stats()).toMatchObject({ unindexedCount: 0, pendingVectorCount: 5 });
  });

  test("nobody embeds for a reader, and a local embedder has nothing due", async () => {
    const path = temporaryPath();
    waitingStore(2, { path }).store.close();
    const reader = openedStore(path, { readonly: true });
    await expect(reader.upkeep({ only: "vectors" })).rejects.toMatchObject({ code: "STORE_READONLY" });
    expect(reader.session("s").messages()).toHaveLength(2);
    expect(() => openedStore(path)).toThrow(StoreError);
    const local = openedStore(temporaryPath());
    local.session("s").append(numberedMessage(1));
    expect(await local.upkeep({ only: "vectors" })).toEqual({ embedded: 0, failed: 0, refused: 0, waiting: 0 });
    expect(local.query("SELECT count(*) AS n FROM pending_vectors")).toEqual([{ n: 0 }]);
  });
});

describe("another embedder, after reembed,", () => {
  test("is asked in the background although the one before had refused us", async () => {
    const { store, embedder } = waitingStore(3);
    embedder.before = () => {
      throw refused(403);
    };
    expect((await store.upkeep({ only: "vectors" })).error).toBeInstanceOf(StoreError);
    const next = scriptedEmbedder({ id: "next-384" });
    await store.reembed({ embedder: next });
    store.session("s").append(user("for the next one"));
    await store.upkeep();
    expect(store.stats().pendingVectorCount).toBe(0);
  });

  test("is not taken to work because the one before did", async () => {
    const { store } = waitingStore(3);
    expect(await store.upkeep({ only: "vectors" })).toMatchObject({ embedded: 3 });
    const next = scriptedEmbedder({ id: "next-384" });
    await store.reembed({ embedder: next });
    next.before = () => {
      throw refused();
    };
    store.session("s").append(user("for the next one"));
    expect(await store.upkeep({ only: "vectors" })).toMatchObject({ refused: 0, waiting: 1 });
  });

  test("is not asked by those who have the store open with the one before, nor is that one paid", async () => {
    const path = temporaryPath();
    const { store, embedder } = waitingStore(3, { path });
    await store.upkeep({ only: "vectors" });
    const other = openedStore(path, { embedder, clock: () => now });
    await store.reembed({ embedder: scriptedEmbedder({ id: "next-384" }) });
    store.session("s").append(user("for the next one"));
    await expect(other.upkeep({ only: "vectors" })).rejects.toMatchObject({ code: "EMBEDDER_MISMATCH" });
    expect(embedder.requests.flatMap(({ texts }) => texts)).not.toContain("for the next one");
    expect(await store.upkeep({ only: "vectors" })).toMatchObject({ embedded: 1, waiting: 0 });
  });
});
