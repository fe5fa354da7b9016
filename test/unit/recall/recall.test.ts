import { describe, expect, test } from "vitest";
import { coordinateEmbedder } from "../../../scripts/bench/index-fuzz/store.ts";
import { type RecallHit, type RecallOptions, type RecallQuery, type Store, StoreError } from "../../../src/index.ts";
import { indexAll } from "../../support/full-text.ts";
import { inSealed } from "../../support/rows.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

/** Two sessions of a project and one of another: nine messages, a second apart, ids 1 to 9. */
function harbor(): Store {
  const store = temporaryStore();
  store
    .session("lights", { project: "harbor" })
    .append([
      user("Which lens did we choose for the lighthouse?"),
      assistant("The Fresnel lens of the second order, because the tower is low."),
      user("Order it from the glass works.", { name: "Ines" }),
    ]);
  const tides = store.session("tides", { project: "harbor" });
  tides.append(user("Read the tide table for March."));
  tides.append(calls(["c1"]));
  tides.append(results(["c1"], "March 2 04:10 5.0 m, visible from the lighthouse"));
  tides.append(assistant("High tide is at ten past four."));
  store
    .session("bakery", { project: "village" })
    .append([user("The oven lost its glass door."), assistant("A lens maker could cut a new one.")]);
  return store;
}

const placesOf = (hits: readonly RecallHit[]): string[] => hits.map(({ sessionId, seq }) => `${sessionId} ${seq}`);

describe("a hit", () => {
  test("says which message it is, where it stands, and what was said around it", async () => {
    const [hit] = await harbor().recall("order of the fresnel lens", { limit: 1 });
    expect(hit).toEqual({
      messageId: 2,
      sessionId: "lights",
      seq: 1,
      role: "assistant",
      createdAtMs: expect.any(Number),
      text: "The Fresnel lens of the second order, because the tower is low.",
      score: expect.any(Number),
      confidence: expect.any(Number),
      snippet: "The Fresnel lens of the second order, because the tower is low.",
      marks: [
        [4, 11],
        [12, 16],
        [31, 36],
      ],
      root: null,
      neighbors: [
        {
          messageId: 1,
          seq: 0,
          role: "user",
          snippet: "Which lens did we choose for the lighthouse?",
        },
        { messageId: 3, seq: 2, role: "user", name: "Ines", snippet: "Order it from the glass works." },
      ],
      copies: [],
    });
  });

  test("has as many neighbors as asked for, of its session only", async () => {
    const store = harbor();
    const around = async (neighbors: number) =>
      (await store.recall("glass works", { limit: 1, neighbors }))[0]!.neighbors.map(({ messageId }) => messageId);
    expect(await around(0)).toEqual([]);
    expect(await around(1)).toEqual([2]);
    expect(await around(10)).toEqual([1, 2]);
  });

  test("has no root while it is hot, and then a handle that expands to it", async () => {
    const store = temporaryStore();
    const session = store.session("s", { hotSize: 1, overlap: 0, evictBatch: 1 });
    session.append(user("The session lock is advisory."));
    const root = async () => (await store.recall("advisory"))[0]!.root;
    expect(await root()).toBeNull();
    session.append(user("Something else."));
    session.append(user("And another thing."));
    session.compact();
    expect(await root()).toMatch(/^cluster:1@\d+$/);
    expect(store.expand((await root())!).members.map(({ id }) => id)).toContain(1);
    expect(await root()).toBe(store.expand(1).place!.cluster);
  });

  test("stands for its near copies, and names them", async () => {
    const store = temporaryStore();
    const text = "The deploy fails because the region eu-west has no lock file in its bucket.";
    store.session("a").append(user(text));
    store.session("b").append(user(text.replace(/\.$/, "!")));
    store.session("c").append(assistant("That file is gone."));
    const hits = await store.recall("deploy region lock file");
    expect(placesOf(hits)).toEqual(["b 0", "c 0"]);
    expect(hits[0]!.copies).toEqual([{ messageId: 1, sessionId: "a", seq: 0 }]);
  });

  test("says with `explain` what its score is the sum of", async () => {
    const store = harbor();
    const [hit] = await store.recall("fresnel lens", { explain: true });
    const { words, neighborhood, session, speaker, vector } = hit!.parts!;
    expect(words + neighborhood + session + speaker + vector).toBeCloseTo(hit!.score, 12);
    expect(words).toBeGreaterThan(0.3);
    expect((await store.recall("fresnel lens"))[0]).not.toHaveProperty("parts");
  });
});

describe("what is found", () => {
  test("is a message beside one with the words, too, but not for a phrase", async () => {
    const store = harbor();
    expect(placesOf(await store.recall("fresnel"))).toEqual(expect.arrayContaining(["lights 0", "lights 2"]));
    expect(placesOf(await store.recall('"fresnel lens"'))).toEqual(["lights 1"]);
  });

  test("is found by the words of a phrase that stands nowhere, in a question about it, and says so", async () => {
    const store = harbor();
    const question = 'Who mentioned "The Second Order of Fresnel Lenses" last week?';
    const hits = await store.recall(question, { limit: 1 });
    expect(placesOf(hits)).toEqual(["lights 1"]);
    expect(hits).toEqual([{ ...hits[0]!, phrasesMissing: true }]);
    expect(placesOf(await store.recall('Who mentioned the "Fresnel lens" "on Tuesday"?'))[0]).toBe("lights 1");
    const literal = await store.recall('Who mentioned the "Fresnel lens"?');
    expect(placesOf(literal)[0]).toBe("lights 1");
    expect(literal[0]).not.toHaveProperty("phrasesMissing");
  });

  test("holds every phrase of a query that is nothing but phrases", async () => {
    const store = harbor();
    expect(await store.recall('"Fresnel lenses"')).toEqual([]);
    expect(await store.recall('"Fresnel lens" … "second place", ')).toEqual([]);
    expect(placesOf(await store.recall('"fresnel lens" … "second order", '))).toEqual(["lights 1"]);
  });

  test("is never the turn that asks, with or without its calls, until it is answered", async () => {
    const store = harbor();
    const asking = store.session("asking", { project: "harbor" });
    const seqsIn = async (query: string) =>
      (await store.recall(query)).filter(({ sessionId }) => sessionId === "asking").map(({ seq }) => seq);
    asking.append(user("Which glass works makes the Fresnel lens, and where?"));
    expect(await seqsIn("which works makes the fresnel lens?")).toEqual([]);
    asking.append(calls(["c1"]));
    expect(await seqsIn("which works makes the fresnel lens?")).not.toContain(0);
    // Other questions find it, and so do words.
    expect(await seqsIn("what lens could the oven have?")).toContain(0);
    expect(await seqsIn("fresnel lens works")).toContain(0);
    asking.append(results(["c1"], "works.csv"));
    asking.append(assistant("Leith makes it."));
    expect(await seqsIn("which works makes the fresnel lens?")).toContain(0);
  });

  test.each(["C++", "=>", "-v", "🚀", "9f86d081", "is it", "50%", ":8080", "&& b", "$HOME"])(
    "is what a quoted %j stands in, letter by letter, indexed or not",
    async (phrase) => {
      const store = temporaryStore();
      const session = store.session("signs");
      const texts = [
        "C++ segfaults",
        "f = () => 1",
        "run -v",
        "🚀 launched",
        "sha 9f86d081884c7d65",
        "what is it",
        "ratio 50%",
      ];
      for (const text of [...texts, "port :8080 is taken", "if (a && b)", "$HOME/lamp.toml"])
        session.append(user(text));
      for (const prepare of [() => {}, () => indexAll(store)]) {
        prepare();
        const hits = await store.recall(`"${phrase}"`);
        expect(hits.map(({ text }) => text.includes(phrase))).toEqual([true]);
        expect(await store.recall(`"${phrase}"`, { roles: ["assistant"] })).toEqual([]);
      }
    },
  );

  test("is of the scope also when a phrase is searched as words, and may be none", async () => {
    const store = harbor();
    const scope = { project: "village" };
    expect(placesOf(await store.recall('What is the "Fresnel glass"?', scope))).toEqual(["bakery 0", "bakery 1"]);
    expect(await store.recall('What is the "Fresnel lighthouse"?', scope)).toEqual([]);
  });

  test("is nothing in an empty store, and nothing for words that no message has", async () => {
    expect(await temporaryStore().recall("lens")).toEqual([]);
    const store = harbor();
    for (const query of ["submarine", "?!", "🎉", '"lens lens"']) expect(await store.recall(query)).toEqual([]);
  });
});

describe("filters", () => {
  const QUERY = "lens glass lighthouse tide table path read";

  test.each<[name: string, RecallOptions, string[]]>([
    ["a project that is not there", { project: "none" }, []],
    ["no session", { sessionIds: [] }, []],
    ["roles", { roles: ["tool", "user"], project: "harbor" }, ["lights 0", "lights 2", "tides 0", "tides 2"]],
    ["part type", { partTypes: ["tool_call"] }, ["tides 1"]],
    ["part types", { partTypes: ["tool_call", "tool_result"] }, ["tides 1", "tides 2"]],
  ])("leave the messages of a scope: %s", async (_, options, places) => {
    expect(placesOf(await harbor().recall(QUERY, { limit: 10, ...options })).sort()).toEqual(places);
  });

  test("leave the messages of a time, its ends included", async () => {
    const store = harbor();
    const [second, fifth] = [2, 5].map((id) =>
      Number(store.query(`SELECT created_at_ms AS at FROM messages WHERE id = ${id}`)[0]!.at),
    );
    const ids = async (options: RecallOptions) =>
      (await store.recall(QUERY, { limit: 10, ...options })).map(({ messageId }) => messageId).sort();
    expect(await ids({ sinceMs: second!, untilMs: fifth! })).toEqual([2, 3, 4, 5]);
    expect(await ids({ sinceMs: second! + 1, untilMs: fifth! - 1 })).toEqual([3, 4]);
    expect(await ids({ sinceMs: fifth!, untilMs: second! })).toEqual([]);
  });

  test("do not keep neighbors from being shown", async () => {
    const [hit] = await harbor().recall("visible lighthouse", { roles: ["tool"] });
    expect(hit!.neighbors.map(({ role }) => role)).toEqual(["assistant", "assistant"]);
  });
});

describe("how much", () => {
  test("is at most `limit` hits", async () => {
    const store = harbor();
    const all = placesOf(await store.recall("lens glass lighthouse"));
    for (const limit of [1, 2, 3]) {
      expect(placesOf(await store.recall("lens glass lighthouse", { limit }))).toEqual(all.slice(0, limit));
    }
    expect((await store.recall("lens glass lighthouse", { limit: 1_000 })).length).toBe(all.length);
  });

  test("is at most `tokensMax` tokens of hits and neighbors; what does not fit makes way for what does", async () => {
    const store = temporaryStore({ tokenCounter: { name: "words", count: (text) => text.split(" ").length } });
    store.session("long").append(user("lens lens lens lens lens of the lighthouse and its tower"));
    store.session("short").append(user("a lens"));
    const sessions = async (tokensMax: number) =>
      (await store.recall("lens", { tokensMax })).map(({ sessionId }) => sessionId);
    const both = await sessions(13); // 11 words and 2
    expect(both.toSorted()).toEqual(["long", "short"]);
    expect(await sessions(12)).toEqual([both[0]]);
    expect(await sessions(10)).toEqual(["short"]);
    expect(await sessions(1)).toEqual([]);
  });

  describe("under a token limit", () => {
    const tokenCounter = { name: "words", count: (text: string) => text.split(" ").length };
    const wordCount = (hits: readonly RecallHit[]) => {
      const said = hits.flatMap(({ text, neighbors }) => [text, ...neighbors.map(({ snippet }) => snippet)]);
      return said.reduce((sum, text) => sum + tokenCounter.count(text), 0);
    };
    const about = (thing: string) => Array.from({ length: 60 }, (_, at) => `${thing}${at}`).join(" ");
    const things =
      "lens tower harbor glass oil wick stair door bell boat rope net chart keeper storm gull pier lamp fog mast";
    /** Twenty long messages of equal worth, each with a line about paint. */
    function painted(): Store {
      const store = temporaryStore({ tokenCounter });
      const session = store.session("paint");
      for (const thing of things.split(" "))
        session.append(user(`${about(thing)} we painted the ${thing} ${about(thing)}`));
      return store;
    }

    test("as many likely messages as fit are found, each cut to what has the words", async () => {
      const store = painted();
      expect(await store.recall("what was painted")).toHaveLength(10);
      const hits = await store.recall("what was painted", { tokensMax: 900 });
      expect(hits).toHaveLength(20);
      expect(wordCount(hits)).toBeLessThanOrEqual(900);
      for (const { text, snippet, cut } of hits) {
        expect(text).toContain("we painted the");
        expect(cut).toBe(text === snippet ? true : undefined);
      }
      expect((await store.recall("what was painted", { tokensMax: 900, limit: 3 })).length).toBe(3);
    });

    test("what is left lengthens the first hits, and then shows neighbors", async () => {
      const store = painted();
      const hits = await store.recall("what was painted", { tokensMax: 1_200, limit: 4, neighbors: 0 });
      expect(hits.map(({ cut = false }) => cut)).toEqual([false, false, false, false]);
      const beside = await store.recall("what was painted", { tokensMax: 1_200, limit: 4 });
      expect(beside.map(({ text }) => text)).toEqual(hits.map(({ text }) => text));
      expect(beside[0]!.neighbors.length).toBeGreaterThan(0);
      expect(wordCount(beside)).toBeLessThanOrEqual(1_200);
    });

    test("after the tenth, unlikely messages are left out", async () => {
      const store = painted();
      const session = store.session("other");
      session.append(user("The cellar was painted blue with the old brush from Bergen."));
      for (const thing of things.split(" ")) session.append(assistant(`${about(thing)} brush ${about(thing)}`));
      const hits = await store.recall("which cellar was painted blue with the brush from Bergen", { tokensMax: 5_000 });
      expect(hits[0]!.text).toContain("cellar");
      expect(hits).toHaveLength(10);
    });
  });

  test.each<[RecallOptions, string]>([
    [{ limit: 0 }, "Expected limit to be a whole number from 1 to 1000, got 0."],
    [{ limit: 1_001 }, "Expected limit to be a whole number from 1 to 1000, got 1001."],
    [{ tokensMax: 0 }, "Expected tokensMax to be a whole number from 1, got 0."],
    [{ neighbors: 11 }, "Expected neighbors to be a whole number from 0 to 10, got 11."],
    [{ neighbors: -1 }, "Expected neighbors to be a whole number from 0 to 10, got -1."],
    // It would otherwise search all sessions, where one was meant.
    [
      { session: "s" } as never,
      'Expected an option of recall to be one of limit, tokensMax, neighbors, near, by, superseded, explain, vectorMsMax, rerank, signal, project, sessionIds, mine, roles, partTypes, sinceMs, untilMs, got "session".',
    ],
    [
      { near: { fromMs: 2, toMs: 1 } },
      'Expected near to be a time that does not end before it begins, got {"fromMs":2,"toMs":1}.',
    ],
    [{ explain: "yes" as never }, 'Expected explain to be true or false, got "yes".'],
  ])("%j is refused", async (options, message) => {
    await expect(harbor().recall("lens", options)).rejects.toMatchObject({ code: "OPTION_INVALID", message });
  });
});

describe("a query", () => {
  test("that is empty is refused, and so is what is no query", async () => {
    const store = harbor();
    for (const query of ["", " \n\t "])
      await expect(store.recall(query)).rejects.toMatchObject({ code: "QUERY_EMPTY" });
    for (const query of [undefined, null, 7, ["lens"], {}, { embedding: [1] }]) {
      await expect(store.recall(query as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    }
  });

  test("of a closed store is refused, by rejecting", async () => {
    const store = harbor();
    store.close();
    await expect(store.recall("lens")).rejects.toMatchObject({ code: "STORE_CLOSED" });
    await expect(store.recall("")).rejects.toBeInstanceOf(StoreError);
  });
});

describe("a query's vector", () => {
  const POINTS = { embedder: { ...coordinateEmbedder(2), isLexical: true }, clock: () => 1_700_000_000_000 };

  /** Two messages whose words are the same for the query "7", and whose vectors point in two directions. */
  function points(): Store {
    const store = openedStore(temporaryPath(), POINTS);
    store.session("s").append(user("7 0"));
    store.session("t").append(user("0 7"));
    return store;
  }

  const vectors = async (store: Store, query: RecallQuery): Promise<Record<string, number>> => {
    const hits = await store.recall(query, { explain: true });
    return Object.fromEntries(hits.map(({ text, parts }) => [text, Math.round(parts!.vector * 1e6) / 1e6 + 0]));
  };

  test("is what the embedder makes of its text", async () => {
    expect(await vectors(points(), "7 0")).toEqual({ "7 0": 0.2, "0 7": 0 });
    expect(await vectors(points(), "7")).toEqual({ "7 0": 0, "0 7": 0 });
  });

  test("may be given, of any length, and is left as it is", async () => {
    const store = points();
    for (const scale of [1e-38, 1, 1e37]) {
      const embedding = Float32Array.of(3 * scale, 4 * scale);
      const before = [...embedding];
      expect(await vectors(store, { text: "7", embedding })).toEqual({ "7 0": 0.12, "0 7": 0.16 });
      expect([...embedding]).toEqual(before);
    }
    expect(await vectors(store, { text: "7", embedding: [0, -1] })).toEqual({ "7 0": 0, "0 7": -0.2 });
    expect((await store.recall({ text: "7", embedding: [0, 1] }))[0]!.text).toBe("0 7");
    expect((await store.recall({ text: "7", embedding: [1, 0] }))[0]!.text).toBe("7 0");
  });

  test("is refused unless the store's embedder can have made it", async () => {
    const asked = (embedding: unknown) => points().recall({ text: "7", embedding: embedding as number[] });
    for (const embedding of [[], [1], [1, 2, 3], [Number.NaN, 1], [1, Number.POSITIVE_INFINITY], [1e39, 1], [0, 0]]) {
      await expect(asked(embedding)).rejects.toMatchObject({ code: "VECTOR_INVALID" });
    }
    for (const embedding of ["1 0", {}, new Float64Array([1, 0])]) {
      await expect(asked(embedding)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    }
    await expect(points().recall({ text: " ", embedding: [1, 0] })).rejects.toMatchObject({ code: "QUERY_EMPTY" });
  });

  test("is compared with the store's, also by a reader with another embedder, which else goes by words alone", async () => {
    const { path } = points();
    const reader = openedStore(path, { readonly: true });
    expect(await vectors(reader, "7 0")).toEqual({ "7 0": 0, "0 7": 0 });
    expect(await vectors(reader, { text: "7", embedding: [3, 4] })).toEqual({ "7 0": 0.12, "0 7": 0.16 });
    await expect(reader.recall({ text: "7", embedding: [1, 2, 3] })).rejects.toMatchObject({ code: "VECTOR_INVALID" });
  });
});

test("a message whose role is damaged is named in a typed error", async () => {
  const { path } = harbor();
  inSealed(path, (database) => {
    database.pragma("ignore_check_constraints = ON");
    database.exec("UPDATE messages SET role = 'usar', checksum = -1 WHERE id = 1");
  });
  const recall = openedStore(path, { readonly: true }).recall("lens");
  await expect(recall).rejects.toMatchObject({
    code: "STORE_CORRUPT",
    message: expect.stringContaining("message 1 has an unknown role"),
  });
});

test.each([[["Here is the list.", "Here is the oven."]], [["Here is the oven.", "Here is the list."]]])(
  "a word with which people ask counts less than what they ask about: %j",
  async (texts) => {
    const store = temporaryStore();
    store.session("s").append(texts.map((text) => user(text)));
    const [first] = await store.recall("list oven");
    expect(first!.text).toBe("Here is the oven.");
  },
);

test.each([
  ["C++", "We rewrote the parser in C++ last week"],
  ["C#", "The C# client is old"],
  ["Go", "The worker is written in Go"],
  ["R", "Plots are made in R"],
  ["\u{1f680}", "deploy \u{1f680} done"],
  ["&&", "use if (a && b) here"],
])("a query of one short name is searched as it is written: %s", async (name, text) => {
  const store = temporaryStore();
  store.session("s").append([user("The cat and the array are ready"), user(text)]);
  expect((await store.recall(name)).map((hit) => hit.text)).toEqual([text]);
});
