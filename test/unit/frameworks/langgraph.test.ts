import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type Checkpoint,
  DeltaSnapshot,
  emptyCheckpoint,
  JsonPlusSerializer,
  type PendingWrite,
  uuid6,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyDifference, changedElements, differenceOf } from "../../../src/frameworks/langgraph/difference.ts";
import { CoppiceSaver } from "../../../src/frameworks/langgraph.ts";
import type { Store } from "../../../src/index.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const METADATA = { source: "loop" as const, step: 0, parents: {} };

/** Puts a checkpoint with these channel values after another one, as the graph would. */
async function putValues(
  saver: CoppiceSaver,
  parent: RunnableConfig,
  values: Record<string, unknown>,
  versions: Record<string, number>,
  newVersions = versions,
): Promise<RunnableConfig> {
  const checkpoint: Checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(0),
    channel_values: values,
    channel_versions: versions,
  };
  return saver.put(parent, checkpoint, METADATA, newVersions);
}

function thread(threadId: string = randomUUID(), ns = ""): RunnableConfig {
  return { configurable: { thread_id: threadId, checkpoint_ns: ns } };
}

function textsOf(store: Store, threadId: string): string[] {
  return store
    .resume(`langgraph:${threadId}`)
    .messages()
    .map(({ text }) => text);
}

function itemBytes(store: Store): number {
  return Number(store.query("SELECT sum(length(value)) AS bytes FROM items")[0]!.bytes);
}

describe("values of channels", () => {
  test("come back from any checkpoint of a long thread, also in another process", async () => {
    const path = temporaryPath();
    const writing = openedStore(path);
    const saver = new CoppiceSaver(writing);
    const configs: RunnableConfig[] = [];
    const lists: string[][] = [];
    let config = thread("long");
    for (let version = 1; version <= 100; version++) {
      // Grows, loses its beginning, and is changed in the middle.
      const before = lists.at(-1) ?? [];
      const list = version % 30 === 0 ? before.slice(5) : [...before, `item ${version} ${"…".repeat(50)}`];
      if (version % 7 === 0) list[Math.floor(list.length / 2)] = `changed ${version}`;
      config = await putValues(saver, config, { list, other: "x" }, { list: version, other: 1 }, { list: version });
      configs.push(config);
      lists.push(list);
    }
    const reading = new CoppiceSaver(openedStore(path, { readonly: true }));
    for (const at of [99, 0, 63, 64, 31, 32, 33, 50, 98]) {
      expect((await reading.get(configs[at]!))!.channel_values).toEqual({ list: lists[at] });
    }
    expect((await saver.get(thread("long")))!.channel_values.list).toEqual(lists.at(-1));
  });

  test("take about as much room as the messages", async () => {
    const store = temporaryStore();
    const saver = new CoppiceSaver(store, { messagesChannel: false });
    const messages: HumanMessage[] = [];
    let config = thread();
    for (let version = 1; version <= 100; version++) {
      const random = Array.from({ length: 16 }, () => randomUUID()).join(" ");
      messages.push(new HumanMessage({ content: random, id: `m${version}` }));
      config = await putValues(saver, config, { messages }, { messages: version });
    }
    const all = JSON.stringify(messages).length;
    expect(itemBytes(store)).toBeLessThan(4 * all); // in whole lists it would be 50 times as much
    expect((await saver.get(config))!.channel_values.messages).toEqual(messages);
  });

  test("of two branches with the same version are told apart", async () => {
    const saver = new CoppiceSaver(temporaryStore());
    const root = await putValues(saver, thread(), { answer: "none" }, { answer: 1 });
    const left = await putValues(saver, root, { answer: "left" }, { answer: 2 });
    const right = await putValues(saver, root, { answer: "right" }, { answer: 2 });
    const grown = await putValues(saver, left, { answer: "left, and on" }, { answer: 3 });
    expect((await saver.get(left))!.channel_values).toEqual({ answer: "left" });
    expect((await saver.get(right))!.channel_values).toEqual({ answer: "right" });
    expect((await saver.get(grown))!.channel_values).toEqual({ answer: "left, and on" });
  });

  test("of a checkpoint that is put again do not change those of its children", async () => {
    const saver = new CoppiceSaver(temporaryStore());
    const text = "word ".repeat(200);
    const first = { ...emptyCheckpoint(), id: uuid6(0), channel_values: { text }, channel_versions: { text: 1 } };
    const config = await saver.put(thread(), first, METADATA, { text: 1 });
    const child = await putValues(saver, config, { text: `${text}and more` }, { text: 2 });
    const again = { ...first, channel_values: { text: `other ${text}` } };
    await saver.put({ configurable: { ...config.configurable, checkpoint_id: undefined } }, again, METADATA, {
      text: 1,
    });
    expect((await saver.get(config))!.channel_values.text).toBe(`other ${text}`);
    expect((await saver.get(child))!.channel_values.text).toBe(`${text}and more`);
  });

  test("may be bytes, and have any name", async () => {
    const saver = new CoppiceSaver(temporaryStore());
    const values = JSON.parse(`{"__proto__": 1, "": 2, "constructor": [3]}`);
    values.bytes = new Uint8Array([0, 10, 255]);
    const versions = JSON.parse(`{"__proto__": 1, "": 1, "constructor": 1, "bytes": 1}`);
    const config = await putValues(saver, thread("__proto__", "a:b|c"), values, versions);
    const { channel_values: found } = (await saver.get(config))!;
    expect(Object.entries(found).sort()).toEqual(Object.entries(values).sort());
    (found.bytes as Uint8Array)[0] = 1;
    expect(((await saver.get(config))!.channel_values.bytes as Uint8Array)[0]).toBe(0);
  });

  test("stay as they were when the caller changes bytes that it gave or got", async () => {
    const store = temporaryStore();
    const saver = new CoppiceSaver(store);
    const bytes = new Uint8Array(1_000);
    const first = await putValues(saver, thread(), { bytes }, { bytes: 1 });
    bytes[500] = 9;
    const second = await putValues(saver, first, { bytes }, { bytes: 2 });
    for (const reader of [saver, new CoppiceSaver(store)]) {
      for (const [config, byte] of [[first, 0], [second, 9], [second, 9]] as const) {
        const found = (await reader.get(config))!.channel_values.bytes as Uint8Array;
        expect([found.constructor, found[500]]).toEqual([Uint8Array, byte]);
        found[500] = 77;
      }
    } // biome-ignore format: a table
  });

  test("are the older bytes with one range replaced", () => {
    const bytes = fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength: 30 }).map((text) => Buffer.from(text));
    fc.assert(
      fc.property(bytes, bytes, (older, newer) => {
        const difference = differenceOf(older, newer);
        const inserted = newer.subarray(difference.start, newer.length - difference.end);
        expect(Buffer.from(applyDifference(older, difference, inserted))).toEqual(newer);
      }),
    );
  });

  test("tell which elements of a list changed", () => {
    const element = fc.record({
      id: fc.nat(9),
      text: fc.string({ unit: fc.constantFrom("a", '"', "\\", ",", "]", "{") }),
    });
    const list = fc.array(element, { maxLength: 6 });
    fc.assert(
      fc.property(list, list, list, list, (start, older, newer, end) => {
        const [before, after] = [older, newer].map((middle) =>
          Buffer.from(JSON.stringify([...start, ...middle, ...end])),
        );
        const difference = differenceOf(before!, after!);
        const found = changedElements(after!, difference);
        const { starts } = changedElements(before!, { start: 0, end: 0 });
        expect(changedElements(after!, difference, starts)).toEqual(found);
        const changed = new Set(found.changed);
        const old = new Set([...start, ...older, ...end].map((one) => JSON.stringify(one)));
        [...start, ...newer, ...end].forEach((one, index) => {
          if (!old.has(JSON.stringify(one))) expect(changed).toContain(index);
        });
        if (older.length === 0 && end.length === 0)
          expect([...changed].every((index) => index >= start.length)).toBe(true);
      }),
    );
  });
});

describe("pending writes", () => {
  test("come in the order of code points of task path and task id, then by number", async () => {
    const saver = new CoppiceSaver(temporaryStore());
    const config = await putValues(saver, thread(), {}, {});
    const put = (taskPath: string, taskId: string, ...writes: PendingWrite[]) =>
      saver.putWrites(config, writes, taskId, taskPath);
    await put("~b", "t1", ["c", 1]);
    await put("\u{1f600}", "t2", ["c", 2]); // after U+FFFD by code point, before it by UTF-16 unit
    await put("\ufffd", "t3", ["c", 3]);
    await put("", "t5", ...Array.from({ length: 12 }, (_, index): PendingWrite => ["c", 100 + index]));
    await put("", "t4", ["c", 5]);
    const written = (await saver.getTuple(config))!.pendingWrites!.map(([, , value]) => value);
    expect(written).toEqual([5, ...Array.from({ length: 12 }, (_, index) => 100 + index), 1, 3, 2]);
  });

  test("of a task that runs again stay, except its errors, interrupts and resumes", async () => {
    const saver = new CoppiceSaver(temporaryStore());
    const config = await putValues(saver, thread(), {}, {});
    const [error] = Object.keys(WRITES_IDX_MAP);
    await saver.putWrites(
      config,
      [
        ["a", 1],
        [error!, "first"],
      ],
      "task",
    );
    await saver.putWrites(
      config,
      [
        ["a", 2],
        [error!, "second"],
      ],
      "task",
    );
    const written = (await saver.getTuple(config))!.pendingWrites!;
    expect(written).toEqual([
      ["task", error, "second"],
      ["task", "a", 1],
    ]);
  });
});

describe("list", () => {
  test("gives the newest first, page after page, and knows its filters", async () => {
    const saver = new CoppiceSaver(temporaryStore());
    let config = thread("many");
    const ids: string[] = [];
    for (let step = 0; step < 120; step++) {
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(step) };
      config = await saver.put(config, checkpoint, { ...METADATA, step, tags: { even: step % 2 === 0 } } as never, {});
      ids.unshift(checkpoint.id);
    }
    const listed = async (options?: Parameters<CoppiceSaver["list"]>[1]) => {
      const found: string[] = [];
      for await (const tuple of saver.list(thread("many"), options)) found.push(tuple.checkpoint.id);
      return found;
    };
    expect(await listed()).toEqual(ids);
    expect(await listed({ limit: 0 })).toEqual([]);
    expect(await listed({ limit: 2, before: { configurable: { checkpoint_id: ids[9] } } })).toEqual(ids.slice(10, 12));
    expect(await listed({ filter: { step: 7 } })).toEqual([ids[112]]);
    expect(await listed({ filter: { tags: { even: true } }, limit: 1 })).toEqual([ids[1]]);
    expect((await saver.getTuple(thread("many")))!.checkpoint.id).toBe(ids[0]);
  });
});

describe("recall", () => {
  test("finds each message of a thread once, in its session", async () => {
    const store = temporaryStore();
    const saver = new CoppiceSaver(store);
    const call = { id: "c1", name: "search", args: { query: "oslo latency" } };
    const messages = [
      new SystemMessage({ content: "Be brief.", id: "s" }),
      new HumanMessage({ content: "Where do we deploy?", id: "h1" }),
      new AIMessage({ content: "", tool_calls: [call], id: "a1" }),
      new ToolMessage({ content: "Oslo has the lowest latency", tool_call_id: "c1", name: "search", id: "t1" }),
      new AIMessage({
        content: [
          { type: "reasoning", reasoning: "hm" },
          { type: "text", text: "We deploy to Oslo." },
        ],
        id: "a2",
      }),
    ];
    let config = thread("deploy");
    for (let count = 1; count <= messages.length; count++) {
      config = await putValues(saver, config, { messages: messages.slice(0, count) }, { messages: count });
    }
    expect(store.resume("langgraph:deploy").messages().map(({ role, externalId }) => [role, externalId])).toEqual([
      ["system", "s"], ["user", "h1"], ["assistant", "a1"], ["tool", "t1"], ["assistant", "a2"],
    ]); // biome-ignore format: a table
    const hits = await store.recall("which place has low latency?");
    expect(hits).toContainEqual(expect.objectContaining({ sessionId: "langgraph:deploy", seq: 3, role: "tool" }));

    // Another process loads the thread, and takes its beginning away.
    const trimmed = [...messages.slice(3), new HumanMessage({ content: "Thanks!", id: "h2" })];
    await putValues(new CoppiceSaver(store), config, { messages: trimmed }, { messages: 9 });
    expect(textsOf(store, "deploy")).toHaveLength(6);
    expect(textsOf(store, "deploy").at(-1)).toBe("Thanks!");
  });

  test("has a changed message as another one, and messages without an id once for each place", async () => {
    const store = temporaryStore();
    const saver = new CoppiceSaver(store);
    const first = new HumanMessage({ content: "the draft", id: "m" });
    const config = await putValues(saver, thread("edits"), { messages: [first] }, { messages: 1 });
    first.content = "the final text";
    const yes = () => new HumanMessage("yes");
    const next = await putValues(saver, config, { messages: [first, yes(), yes()] }, { messages: 2 });
    await putValues(saver, next, { messages: [first, yes(), yes()] }, { messages: 3 });
    expect(textsOf(store, "edits")).toEqual(["the draft", "the final text", "yes", "yes"]);
  });

  test("knows the messages of a delta channel, and none of a subgraph", async () => {
    const store = temporaryStore();
    const saver = new CoppiceSaver(store);
    const said = (id: string) => new HumanMessage({ content: `said ${id}`, id });
    const start = await putValues(
      saver,
      thread("delta"),
      { messages: new DeltaSnapshot([said("a")]) },
      { messages: 1 },
    );
    await saver.putWrites(
      start,
      [
        ["messages", [said("b")]],
        ["messages", [new RemoveMessage({ id: "a" }), said("c")]],
        ["other", said("x")],
      ],
      "task",
    );
    await putValues(saver, start, {}, { messages: 2 });
    await putValues(saver, thread("delta", "child:1"), { messages: [said("inner")] }, { messages: 1 });
    expect(textsOf(store, "delta")).toEqual(["said a", "said b", "said c"]);
  });

  test("does not depend on the form of the bytes of another serializer", async () => {
    const inner = new JsonPlusSerializer();
    const flipped = (bytes: Uint8Array | string) => Buffer.from(bytes).map((byte) => byte ^ 0x55);
    const store = temporaryStore();
    const saver = new CoppiceSaver(store, {
      serde: {
        dumpsTyped: async (value) => ["json", flipped((await inner.dumpsTyped(value))[1])],
        loadsTyped: (type, bytes) => inner.loadsTyped(type, flipped(bytes)),
      },
    });
    const messages = [new HumanMessage({ content: "in cipher", id: "a" }), new AIMessage({ content: "yes", id: "b" })];
    const config = await putValues(saver, thread("cipher"), { messages }, { messages: 1 });
    expect((await saver.get(config))!.channel_values.messages).toEqual(messages);
    expect(textsOf(store, "cipher")).toEqual(["in cipher", "yes"]);
  });

  test("leaves a message out that cannot be stored as one, and the checkpoint has it", async () => {
    const store = temporaryStore();
    const saver = new CoppiceSaver(store);
    const blocks = Array.from({ length: 10_001 }, () => ({ type: "text" as const, text: "x" }));
    const huge = new AIMessage({ content: blocks, id: "d" });
    const messages = [
      new HumanMessage({ content: "before", id: "b" }),
      huge,
      new HumanMessage({ content: "after", id: "c" }),
    ];
    const config = await putValues(saver, thread("huge"), { messages }, { messages: 1 });
    expect(textsOf(store, "huge")).toEqual(["before", "after"]);
    expect((await saver.get(config))!.channel_values.messages).toEqual(messages);
  });
});

test("a deleted thread is gone with its writes and messages, and can begin again", async () => {
  const store = temporaryStore();
  const saver = new CoppiceSaver(store);
  const said = [new HumanMessage({ content: "delete me", id: "m" })];
  for (const id of ["one", "two"]) {
    const config = await putValues(saver, thread(id), { messages: said }, { messages: 1 });
    await saver.putWrites(config, [["a", 1]], "task");
  }
  await saver.deleteThread("one");
  await saver.deleteThread("unknown");
  expect(await saver.getTuple(thread("one"))).toBeUndefined();
  expect(store.items.namespaces().every((namespace) => !namespace.includes("one"))).toBe(true);
  expect(await saver.getTuple(thread("two"))).toBeDefined();
  expect((await store.recall("delete me")).map(({ sessionId }) => sessionId)).toEqual(["langgraph:two"]);
  await putValues(saver, thread("one"), { messages: said }, { messages: 1 });
  expect((await saver.get(thread("one")))!.channel_values.messages).toEqual(said);
});

test("a put that fails stores nothing of it", async () => {
  const store = temporaryStore();
  const saver = new CoppiceSaver(store);
  const messages = [new HumanMessage({ content: "kept?", id: "m" })];
  const checkpoint = {
    ...emptyCheckpoint(),
    id: "x".repeat(5_000),
    channel_values: { messages },
    channel_versions: { messages: 1 },
  };
  await expect(saver.put(thread("failing"), checkpoint, METADATA, { messages: 1 })).rejects.toThrow("characters");
  expect(store.sessions()).toEqual([]);
  expect(store.items.namespaces()).toEqual([]);
  await expect(saver.put({ configurable: { thread_id: 7 } }, checkpoint, METADATA, {})).rejects.toThrow(
    "configurable.thread_id",
  );
});
