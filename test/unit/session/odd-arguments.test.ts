import { expect, test } from "vitest";
import { type OpenOptions, openStore, repairToolPairs, StoreError } from "../../../src/index.ts";
import { hashingEmbedder } from "../../../src/models/hashing-embedder.ts";
import { temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const LONG_WITHOUT_ITEMS = new Array(2 ** 32 - 1);

/** Returns the code of the error that a call throws or rejects with; the error itself if it has none. */
async function codeOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return StoreError.is(error) ? error.code : error;
  }
  return "no error";
}

test("arguments of a wrong type are refused with a typed error", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  // biome-ignore lint/suspicious/noExplicitAny: the types are wrong on purpose.
  for (const odd of [7n, Symbol("odd"), {}, [1], LONG_WITHOUT_ITEMS, null, true] as any[]) {
    const calls = [
      () => openStore(odd),
      () => store.resume(odd),
      () => store.sessions({ prefix: odd }),
      () => store.expand(odd),
      () => store.reembed({ embedder: odd, dryRun: true }),
      () => store.query(odd),
      () => store.backup(odd),
      () => store.forget(odd),
      () => store.recall("x", { sessionIds: [odd] }),
      () => session.append({ role: "user", content: "x" }, { seq: odd }),
    ];
    for (const call of calls) expect([String(call), await codeOf(call)]).toEqual([String(call), "OPTION_INVALID"]);
  }
  for (const odd of [undefined, 7, "text", {}, null]) {
    expect(await codeOf(() => session.append(odd as never))).toBe("MESSAGE_INVALID");
    expect(await codeOf(() => session.sync(odd as never))).toBe("OPTION_INVALID");
  }
});

test("a list of four thousand million holes is refused at once", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  const content = [{ type: "tool_result", toolCallId: "c", content: LONG_WITHOUT_ITEMS }];
  expect(await codeOf(() => session.append(LONG_WITHOUT_ITEMS))).toBe("MESSAGE_INVALID");
  expect(await codeOf(() => session.append({ role: "user", content: LONG_WITHOUT_ITEMS }))).toBe("MESSAGE_INVALID");
  expect(await codeOf(() => session.append({ role: "tool", content } as never))).toBe("MESSAGE_INVALID");
  expect(await codeOf(() => store.recall("x", { sessionIds: LONG_WITHOUT_ITEMS }))).toBe("OPTION_INVALID");
  expect(await codeOf(() => store.forget("s", { messageIds: LONG_WITHOUT_ITEMS }))).toBe("OPTION_INVALID");
  expect(Object.isFrozen(LONG_WITHOUT_ITEMS)).toBe(false);
});

test("an option of the other form of an export is refused, with the way on", async () => {
  const store = temporaryStore();
  const flag = (): boolean => true; // whose value the types do not know
  expect(await codeOf(() => [...store.export({ rows: flag(), onUnreadable: () => {} })])).toBe("OPTION_INVALID");
  const message = "Expected ownIds to be left out without `rows`, got true.";
  expect(() => store.export({ ownIds: flag() })).toThrow(
    expect.objectContaining({ message, hint: expect.stringContaining("rows: true") }),
  );
});

test("a statement whose parameters have no value that SQLite can store is refused", async () => {
  const store = temporaryStore();
  const refused: [string, unknown][] = [
    ["SELECT ?", []],
    ["SELECT ?", [1, 2]],
    ["SELECT ?", [{}]],
    ["SELECT :name", { other: 1 }],
  ];
  for (const [sql, params] of refused) {
    expect([params, await codeOf(() => store.query(sql, params as never))]).toEqual([params, "QUERY_REFUSED"]);
  }
  for (const params of [null, 7, "text"]) {
    expect(await codeOf(() => store.query("SELECT 1", params as never))).toBe("OPTION_INVALID");
  }
});

test("a signal that is none is refused, and so is a history without messages", async () => {
  const store = temporaryStore();
  const signal = "no" as never;
  expect(await codeOf(() => store.recall("x", { signal }))).toBe("OPTION_INVALID");
  expect(await codeOf(() => store.upkeep({ signal }))).toBe("OPTION_INVALID");
  expect(await codeOf(() => store.session("s").resolveDirty({ signal }))).toBe("OPTION_INVALID");
  for (const history of [null, 7, [null], [{ role: "user", parts: 7 }]]) {
    expect(await codeOf(() => repairToolPairs(history as never))).toBe("OPTION_INVALID");
  }
});

test("times before 1970 are times", () => {
  const store = temporaryStore();
  store.session("s", { project: "web" }).append({ role: "user", content: "Where is the key?", createdAt: -5 });
  expect(store.recap({ sinceMs: -10, untilMs: -1 }).topics).toHaveLength(1);
  expect(store.sessions({ sinceMs: -10 })).toHaveLength(1);
});

test("an embedder, a token counter and a clock that are not what they should be are refused", async () => {
  const message = { role: "user", content: "Where is the key?" } as const;
  const odd: Record<string, unknown>[] = [
    { embedder: { ...hashingEmbedder, id: 7 } },
    { embedder: { ...hashingEmbedder, dimension: undefined } },
    { embedder: { ...hashingEmbedder, similarityMin: Symbol("odd") } },
    { embedder: { ...hashingEmbedder, similarityMin: Number.NaN } },
    { embedder: { ...hashingEmbedder, similarityMin: 1.1 } },
    { tokenCounter: { name: "\ud800", count: () => 1 } },
    { tokenCounter: { name: {}, count: () => 1 } },
    { tokenCounter: { name: "odd", count: () => Number.NaN } },
    { tokenCounter: { name: "odd", count: () => [] } },
    { summarizer: { id: 7, promptVersion: 1, summarize: () => {} } },
    { clock: async () => 1 },
    { clock: () => Number.NaN },
  ];
  for (const options of odd) {
    const use = () =>
      openStore(":memory:", options as OpenOptions)
        .session("s")
        .append(message);
    expect(await codeOf(use)).toBe("OPTION_INVALID");
  }
});

test("what the caller's token counter throws comes out as it is, because the store is not damaged", () => {
  let isBroken = false;
  const count = (text: string): number => {
    if (isBroken) throw new Error("The counter is broken.");
    return text.length;
  };
  const session = temporaryStore({ tokenCounter: { name: "breaking", count } }).session("s");
  session.append({ role: "user", content: "x" });
  isBroken = true;
  expect(() => session.render()).toThrow(new Error("The counter is broken."));
});

test("an embedder that a function returns is checked", async () => {
  const path = temporaryPath();
  const store = openStore(path);
  store.session("s").append({ role: "user", content: "x" });
  store.close();
  const odd = { ...hashingEmbedder, similarityMin: Symbol("odd") };
  expect(await codeOf(() => openStore(path, { embedder: () => odd as never }))).toBe("OPTION_INVALID");
});

test("a busy timeout of -0 is one of 0", () => {
  expect(() => openStore(":memory:", { busyTimeoutMs: -0 }).close()).not.toThrow();
});

test("options of a recall that are null are refused", async () => {
  expect(await codeOf(() => temporaryStore().recall("the gate", null as never))).toBe("OPTION_INVALID");
});

test("a vector that is null is refused", async () => {
  const store = openStore(":memory:", { embedder: { ...hashingEmbedder, embed: () => null as never } });
  expect(await codeOf(() => store.session("s").append({ role: "user", content: "x" }))).toBe("VECTOR_INVALID");
});

test("a promise that is refused ends no process, though it rejects", async () => {
  const rejected: unknown[] = [];
  const listener = (error: unknown): void => void rejected.push(error);
  process.on("unhandledRejection", listener);
  try {
    const late = async (): Promise<never> => {
      throw new Error("late");
    };
    const message = { role: "user", content: "x" } as const;
    for (const odd of [
      { clock: late },
      { tokenCounter: { name: "odd", count: late } },
      { embedder: { ...hashingEmbedder, embed: late } },
    ]) {
      const options = odd as unknown as OpenOptions;
      const code = await codeOf(() => openStore(":memory:", options).session("s").append(message));
      expect(["OPTION_INVALID", "VECTOR_INVALID"]).toContain(code);
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(rejected).toEqual([]);
  } finally {
    process.off("unhandledRejection", listener);
  }
});

test("an error quotes the beginning of a long text, and its details have all of it", () => {
  const target = `theme:${"x".repeat(2_000_000)}`;
  try {
    temporaryStore().expand(target);
    expect.unreachable();
  } catch (error) {
    expect((error as Error).message.length).toBeLessThan(1_200);
    expect(error).toMatchObject({ code: "HANDLE_INVALID", details: { handle: target } });
  }
});

test("a token counter that closes the store in the middle of a call ends the call with a typed error", async () => {
  for (const method of ["pressure", "render", "compact"] as const) {
    let isToClose = false;
    const store = openStore(temporaryPath(), {
      tokenCounter: {
        name: "closing",
        count: (text) => {
          if (isToClose) store.close();
          return text.length;
        },
      },
    });
    const session = store.session("s", { hotSize: 2, overlap: 0, evictBatch: 2 });
    for (let index = 0; index < 3; index++) session.append({ role: "user", content: `Number ${index}` });
    isToClose = true;
    const code = await codeOf(() => session[method]());
    expect([method, code]).toEqual([method, expect.stringMatching(/^(STORE_CLOSED|no error)$/)]);
  }
});
