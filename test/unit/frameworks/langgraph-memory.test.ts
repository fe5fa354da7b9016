import { AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, test } from "vitest";
import { CoppiceChatMessageHistory, CoppiceStore } from "../../../src/frameworks/langgraph.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const DOCUMENTS = {
  guide: {
    title: "JavaScript Guide",
    text: "A guide to programming",
    level: "beginner",
    score: 4.5,
    tags: ["js", "web"],
  },
  handbook: {
    title: "TypeScript Handbook",
    text: "Advanced programming",
    level: "intermediate",
    score: 4.9,
    tags: ["ts"],
  },
  basics: {
    title: "Python Basics",
    text: "An introduction to the language",
    level: "beginner",
    score: 3,
    tags: ["py"],
  },
};

async function withDocuments(): Promise<CoppiceStore> {
  const memory = new CoppiceStore(temporaryStore());
  for (const [key, value] of Object.entries(DOCUMENTS)) await memory.put(["docs"], key, value);
  await memory.put(["recipes"], "cake", { title: "Chocolate Cake", level: "easy" });
  return memory;
}

const keysOf = (items: readonly { key: string }[]): string[] => items.map(({ key }) => key);

describe("items", () => {
  test("without a value are refused, and spoil no search", async () => {
    const memory = await withDocuments();
    await expect(memory.put(["docs"], "nothing", undefined as never)).rejects.toThrow("undefined");
    expect(await memory.search(["docs"], { filter: { level: "beginner" } })).toHaveLength(2);
  });

  test("come back as JSON, with their times, and a change keeps the first", async () => {
    const path = temporaryPath();
    const memory = new CoppiceStore(openedStore(path));
    const value = { text: "x", count: 42, yes: true, nothing: null, list: [1, "two"], deep: { er: { value: "é" } } };
    await memory.put(["a", "b"], "k", value);
    const first = (await memory.get(["a", "b"], "k"))!;
    expect(first).toEqual({
      namespace: ["a", "b"],
      key: "k",
      value,
      createdAt: first.createdAt,
      updatedAt: first.createdAt,
    });
    expect(first.createdAt).toBeInstanceOf(Date);
    await memory.put(["a", "b"], "k", { at: new Date(0), gone: undefined });
    const second = (await new CoppiceStore(openedStore(path, { readonly: true })).get(["a", "b"], "k"))!;
    expect(second.value).toEqual({ at: "1970-01-01T00:00:00.000Z" });
    expect(second.createdAt).toEqual(first.createdAt);
    expect(second.updatedAt.getTime()).toBeGreaterThan(first.updatedAt.getTime());
  });

  test("are absent before they are put and after they are deleted", async () => {
    const memory = new CoppiceStore(temporaryStore());
    expect(await memory.get(["a"], "k")).toBeNull();
    await memory.put(["a"], "k", {});
    await memory.delete(["a"], "k");
    await memory.delete(["a"], "never there");
    expect(await memory.get(["a"], "k")).toBeNull();
    expect(await memory.search(["a"])).toEqual([]);
    expect(await memory.listNamespaces()).toEqual([]);
  });

  test("may have a field, a key and a namespace named __proto__", async () => {
    const memory = new CoppiceStore(temporaryStore());
    await memory.put(["__proto__"], "__proto__", JSON.parse('{"__proto__": {"polluted": true}}'));
    const { value } = (await memory.get(["__proto__"], "__proto__"))!;
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(keysOf(await memory.search([], { filter: { toString: undefined } }))).toEqual(["__proto__"]);
  });

  test.each([
    [[], "cannot be empty"],
    [["a.b"], "cannot contain periods"],
    [["a", ""], "cannot be empty strings"],
    [["a", 123 as unknown as string], "must be strings"],
    [["langgraph"], 'cannot be "langgraph"'],
  ])("of the namespace %j are refused", async (namespace, message) => {
    const memory = new CoppiceStore(temporaryStore());
    await expect(memory.put(namespace, "k", {})).rejects.toThrow(message);
  });
});

describe("a batch", () => {
  test("runs its operations in order", async () => {
    const memory = new CoppiceStore(temporaryStore());
    const [put, got, found, deleted, gone, namespaces] = await memory.batch([
      { namespace: ["a"], key: "k", value: { n: 1 } },
      { namespace: ["a"], key: "k" },
      { namespacePrefix: [] },
      { namespace: ["a"], key: "k", value: null },
      { namespace: ["a"], key: "k" },
      { limit: 10, offset: 0 },
    ]);
    expect([put, deleted, gone, namespaces]).toEqual([undefined, undefined, null, []]);
    expect(got).toMatchObject({ key: "k", value: { n: 1 } });
    expect(found).toMatchObject([{ key: "k" }]);
  });

  test("is all or nothing", async () => {
    const memory = new CoppiceStore(temporaryStore());
    const operations = [
      { namespace: ["a"], key: "k", value: { n: 1 } },
      { namespace: [], key: "k", value: { n: 2 } },
    ];
    await expect(memory.batch(operations)).rejects.toThrow("Namespace cannot be empty");
    expect(await memory.get(["a"], "k")).toBeNull();
  });
});

describe("search", () => {
  test("compares namespaces by element", async () => {
    const memory = new CoppiceStore(temporaryStore());
    for (const namespace of [["tenant1"], ["tenant10"], ["tenant1", "notes"], ["other", "tenant1"]]) {
      await memory.put(namespace, namespace.join("-"), {});
    }
    expect(keysOf(await memory.search(["tenant1"])).sort()).toEqual(["tenant1", "tenant1-notes"]);
    expect(keysOf(await memory.search(["tenant"]))).toEqual([]);
    expect(await memory.search([])).toHaveLength(4);
  });

  test("gives ten by default, those that changed last first, in pages", async () => {
    const memory = new CoppiceStore(temporaryStore());
    for (let number = 0; number < 15; number++) await memory.put(["n"], `k${number}`, { number });
    await memory.put(["n"], "k3", { number: 3 });
    const all = keysOf(await memory.search(["n"], { limit: 100 }));
    expect(all.slice(0, 3)).toEqual(["k3", "k14", "k13"]);
    expect(keysOf(await memory.search(["n"]))).toEqual(all.slice(0, 10));
    expect(keysOf(await memory.search(["n"], { limit: 4, offset: 10 }))).toEqual(all.slice(10, 14));
    expect(await memory.search(["n"], { limit: 0 })).toEqual([]);
  });

  test.each([
    [{ level: "beginner" }, ["basics", "guide"]],
    [{ level: { $eq: "beginner" } }, ["basics", "guide"]],
    [{ level: { $ne: "beginner" } }, ["handbook"]],
    [{ score: { $gt: 4.5 } }, ["handbook"]],
    [{ score: { $gte: 4.5 } }, ["guide", "handbook"]],
    [{ score: { $lt: 4.5 } }, ["basics"]],
    [{ score: { $lte: 4.5, $gt: 3 } }, ["guide"]],
    [{ score: { $gt: "4.6" } }, ["handbook"]],
    [{ title: { $gte: "Python" } }, ["basics", "handbook"]],
    [{ level: { $in: ["beginner", "expert"] } }, ["basics", "guide"]],
    [{ level: { $nin: ["beginner"] } }, ["handbook"]],
    [{ level: "beginner", score: { $gt: 4 } }, ["guide"]],
    [{ tags: ["ts"] }, ["handbook"]],
    [{ missing: { $ne: 1 } }, ["basics", "guide", "handbook"]],
    [{ missing: { $lt: 1 } }, []],
    [{ missing: 1 }, []],
    [{}, ["basics", "guide", "handbook"]],
  ])("knows the filter %j", async (filter, expected) => {
    const memory = await withDocuments();
    expect(keysOf(await memory.search(["docs"], { filter })).sort()).toEqual(expected);
  });

  test("ranks by the words of a query, with a score, and filters", async () => {
    const memory = await withDocuments();
    const found = await memory.search(["docs"], { query: "guides to program" });
    expect(keysOf(found)).toEqual(["guide", "handbook"]);
    expect(found[0]!.score).toBeGreaterThan(found[1]!.score!);
    expect(keysOf(await memory.search(["docs"], { query: "programming", filter: { level: "intermediate" } }))).toEqual([
      "handbook",
    ]);
    expect(keysOf(await memory.search(["docs"], { query: "programming", limit: 1, offset: 1 }))).toHaveLength(1);
    expect(await memory.search(["docs"], { query: "chocolate" })).toEqual([]);
    expect(await memory.search(["docs"], { query: "...!" })).toEqual([]);
    expect(keysOf(await memory.search([], { query: "the chocolate cake" }))).toEqual(["cake"]);
    expect((await memory.search(["docs"]))[0]!.score).toBeUndefined();
  });

  test("reads only the indexed paths of an item", async () => {
    const memory = new CoppiceStore(temporaryStore());
    const value = {
      title: "oslo",
      meta: { author: "ada" },
      chapters: [{ text: "bergen" }, { text: "tromso" }],
      names: ["x", "bodo"],
      secret: "narvik",
    };
    const paths = ["title", "meta.author", "chapters[*].text", "names[-1]", "{absent,meta.missing}"];
    await memory.put(["m"], "some", value, paths);
    for (const word of ["oslo", "ada", "bergen", "tromso", "bodo"])
      expect(await memory.search(["m"], { query: word })).toHaveLength(1);
    expect(await memory.search(["m"], { query: "narvik" })).toEqual([]);
    await memory.put(["m"], "some", value, false);
    expect(await memory.search(["m"], { query: "oslo" })).toEqual([]);
    expect(await memory.search(["m"])).toHaveLength(1);
    await memory.put(["m"], "some", value);
    expect(await memory.search(["m"], { query: "narvik" })).toHaveLength(1);
  });
});

describe("namespaces", () => {
  const NAMESPACES = [["a"], ["a", "b"], ["a", "b", "v1"], ["a", "c", "v1"], ["ab", "b"], ["z", "b", "v2"]];

  async function withNamespaces(): Promise<CoppiceStore> {
    const memory = new CoppiceStore(temporaryStore());
    for (const namespace of NAMESPACES) await memory.put(namespace, "k", {});
    await memory.put(["a", "b"], "other", {});
    return memory;
  }

  test.each([
    [{}, NAMESPACES],
    [{ prefix: ["a"] }, NAMESPACES.slice(0, 4)],
    [{ prefix: ["a", "*", "v1"] }, NAMESPACES.slice(2, 4)],
    [{ suffix: ["v1"] }, NAMESPACES.slice(2, 4)],
    [{ suffix: ["b", "*"] }, [NAMESPACES[2], NAMESPACES[5]]],
    [{ prefix: ["a"], suffix: ["b"] }, [NAMESPACES[1]]],
    [{ prefix: ["a", "b", "v1", "more"] }, []],
    [{ maxDepth: 1 }, [["a"], ["ab"], ["z"]]],
    [{ prefix: ["a"], maxDepth: 2 }, [["a"], ["a", "b"], ["a", "c"]]],
    [{ limit: 2, offset: 1 }, NAMESPACES.slice(1, 3)],
  ])("are listed by %j", async (options, expected) => {
    const found = await (await withNamespaces()).listNamespaces(options);
    expect(found).toEqual(expected);
  });
});

describe("the history of a chat", () => {
  test("has its messages word for word, and they can be recalled", async () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const history = new CoppiceChatMessageHistory(store, "chat");
    const messages = [
      new SystemMessage("Be brief."),
      new HumanMessage({
        content: [
          { type: "text", text: "Where is it?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
        ],
        name: "ada",
      }),
      new AIMessage({ content: "", tool_calls: [{ id: "c", name: "find", args: { what: "lighthouse" } }] }),
      new ToolMessage({ content: "not found", tool_call_id: "c", status: "error", artifact: { a: 1 } }),
      new ChatMessage({ content: "as a critic", role: "critic" }),
    ];
    await history.addMessages(messages);
    await history.addUserMessage("yes");
    await history.addUserMessage("yes");
    await history.addAIMessage("The lighthouse is in Bergen.");
    const found = await new CoppiceChatMessageHistory(openedStore(path, { readonly: true }), "chat").getMessages();
    const all = [
      ...messages,
      new HumanMessage("yes"),
      new HumanMessage("yes"),
      new AIMessage("The lighthouse is in Bergen."),
    ];
    expect(found.map((message) => message.toDict())).toEqual(
      all.map((message) => JSON.parse(JSON.stringify(message.toDict()))),
    );
    expect(found.map((message) => message.constructor)).toEqual(all.map((message) => message.constructor));
    expect(store.resume("chat").messages()).toHaveLength(8);
    expect((await store.recall("lighthouse Bergen"))[0]!.seq).toBe(7);
  });

  test("is empty after clear, and what was said can still be recalled", async () => {
    const store = temporaryStore();
    const history = new CoppiceChatMessageHistory(store, "chat");
    expect(await history.getMessages()).toEqual([]);
    await history.addUserMessage("We met in Bergen.");
    await history.clear();
    expect(await history.getMessages()).toEqual([]);
    await history.addUserMessage("Again.");
    expect((await history.getMessages()).map(({ content }) => content)).toEqual(["Again."]);
    expect((await store.recall("Bergen"))[0]).toMatchObject({ sessionId: "chat", seq: 0 });
  });
});
