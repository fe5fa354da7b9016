import { get } from "node:http";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { LIMITS } from "../../scripts/docs/limits.ts";
import { HOSTILE_FILES, packedRuns } from "../../scripts/hostile/files.ts";
import { parseMessage } from "../../src/core/message.ts";
import { textOf } from "../../src/core/text.ts";
import { estimateTokens } from "../../src/core/token-estimate.ts";
import { isFull } from "../../src/forest/cluster.ts";
import { quoted } from "../../src/hooks/quotation.ts";
import { inputOf } from "../../src/hooks/run-hook.ts";
import { encodeBody, eventsOf } from "../../src/hub/log.ts";
import { chunksOf } from "../../src/importers/files.ts";
import type { Importer } from "../../src/importers/importer.ts";
import { parseJson, readLines } from "../../src/importers/lines.ts";
import { UNPACKED_BYTES_MAX, unpacked } from "../../src/importers/zstd.ts";
import { ImportRun } from "../../src/imports/import-run.ts";
import { type RemoteEmbedder, type Store, StoreError } from "../../src/index.ts";
import { parseQuery } from "../../src/recall/query.ts";
import { agentTools } from "../../src/session/aids/agent-tools.ts";
import { KEY_HEADER } from "../../src/view/questions.ts";
import { TESTS_ALL } from "../support/effort.ts";
import { served } from "../support/mcp.ts";
import { remoteLetters } from "../support/other-embedders.ts";
import { ServedView } from "../support/served-view.ts";
import { openedStore, temporaryFolder, temporaryPath, temporaryStore } from "../support/temporary-store.ts";
import { collect, fileOf } from "./importers/read.ts";

/** Returns the code of the error of a call, or "done". */
async function outcomeOf(call: () => unknown): Promise<string> {
  try {
    await call();
    return "done";
  } catch (error) {
    return StoreError.is(error) ? error.code : String(error);
  }
}

/** Calls with a value at the limit, and with one beyond. */
async function expectSides(limit: { max: number }, call: (value: number) => unknown, code: string): Promise<void> {
  expect(await outcomeOf(() => call(limit.max))).toBe("done");
  expect(await outcomeOf(() => call(limit.max + 1))).toBe(code);
}

const said = (message: object) => parseMessage({ role: "user", content: "x", ...message } as never);
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
const text = (length: number) => ({ type: "text", text: "x".repeat(length) });

function storeOfOne(): Store {
  const store = temporaryStore();
  store.session("s").append({ role: "user", content: "The lamp is green." });
  return store;
}

async function problemsOf(line: string): Promise<string[]> {
  const lines = await collect(readLines(fileOf(`${line}\n`, 64 * 1024 * 1024)));
  return lines.flatMap((one) => ("problem" in one ? [one.problem] : []));
}

async function mcpTextOf(name: string, args: object): Promise<string> {
  const path = temporaryPath();
  openedStore(path).session("s").append({ role: "user", content: "The lamp is green." });
  const { isError, content } = await (await served(path)).call(name, args);
  return isError ? content[0].text : "done";
}

/** Checks each limit at it and beyond it. */
const CHECKS: Record<keyof typeof LIMITS, () => Promise<void>> = {
  parts: () => expectSides(LIMITS.parts, (count) => said({ content: Array(count).fill(text(1)) }), "MESSAGE_INVALID"),
  chars: async () => {
    const piece = text(LIMITS.chars.max / 2);
    const chars = LIMITS.chars.max - piece.text.length - 2 * "typetexttext".length;
    await expectSides({ max: chars }, (rest) => said({ content: [piece, text(rest)] }), "MESSAGE_INVALID");
  },
  depth: async () => {
    const data = (depth: number) => said({ content: [{ type: "data", data: nested(depth) }] });
    const levels = LIMITS.depth.max - 2; // the list of parts and the part are levels, too
    await expectSides({ max: levels }, data, "MESSAGE_INVALID");
  },
  text: async () => {
    const { max } = LIMITS.text;
    expect(textOf([text(max) as never])).toHaveLength(max);
    expect(textOf([text(max + 1) as never])).toHaveLength(max);
  },
  time: async () => {
    await expectSides(LIMITS.time, (ms) => said({ createdAt: ms }), "MESSAGE_INVALID");
    await expectSides(LIMITS.time, (ms) => said({ createdAt: -ms }), "MESSAGE_INVALID");
  },
  messageId: () => expectSides(LIMITS.messageId, (length) => said({ id: "x".repeat(length) }), "MESSAGE_INVALID"),
  name: async () => {
    const store = temporaryStore();
    const name = (length: number) => "x".repeat(length);
    await expectSides(LIMITS.name, (length) => store.session(name(length)), "OPTION_INVALID");
    await expectSides(LIMITS.name, (length) => store.session("a", { project: name(length) }), "OPTION_INVALID");
    await expectSides(LIMITS.name, (length) => store.session("a", { title: name(length) }), "OPTION_INVALID");
  },
  page: async () => {
    const store = storeOfOne();
    await expectSides(LIMITS.page, (limit) => store.resume("s").messages({ limit }), "OPTION_INVALID");
    await expectSides(LIMITS.page, (limit) => store.expand(1, { limit }), "OPTION_INVALID");
  },
  hits: async () => {
    const store = storeOfOne();
    await expectSides(LIMITS.hits, (limit) => store.recall("lamp", { limit }), "OPTION_INVALID");
  },
  neighbors: async () => {
    const store = storeOfOne();
    await expectSides(LIMITS.neighbors, (neighbors) => store.recall("lamp", { neighbors }), "OPTION_INVALID");
  },
  queryWords: async () => {
    const { max } = LIMITS.queryWords;
    const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}x`).join(" ");
    expect(parseQuery(words(max)).words).toHaveLength(max);
    expect(parseQuery(words(max + 1)).words).toHaveLength(max);
  },
  clusterMessages: async () => {
    const { max } = LIMITS.clusterMessages;
    expect([max - 1, max].map((messageCount) => isFull({ messageCount, tokenCount: 1 }))).toEqual([false, true]);
  },
  clusterTokens: async () => {
    const { max } = LIMITS.clusterTokens;
    expect([max - 1, max].map((tokenCount) => isFull({ messageCount: 1, tokenCount }))).toEqual([false, true]);
  },
  line: async () => {
    const { max } = LIMITS.line;
    expect(await problemsOf("x".repeat(max))).toEqual([]);
    expect(await problemsOf("x".repeat(max + 1))).toEqual([`${max + 1} bytes long; a line has at most ${max}`]);
  },
  lineDepth: async () => {
    const { max } = LIMITS.lineDepth;
    expect(parseJson(JSON.stringify(nested(max)))).toHaveProperty("value");
    expect(parseJson(JSON.stringify(nested(max + 1)))).toEqual({ problem: `nested deeper than ${max} levels` });
  },
  lineValues: async () => {
    const { max } = LIMITS.lineValues;
    const values = (count: number) => `[${"1,".repeat(count - 2)}1]`;
    expect(parseJson(values(max))).toHaveProperty("value");
    expect(parseJson(values(max + 2))).toEqual({ problem: `more than ${max} values` });
  },
  unpacked: async () => {
    const lengthOf = async (byteLength: number) => {
      const { chunks } = await unpacked(fileOf(packedRuns("x", byteLength)));
      let length = 0;
      for await (const chunk of chunks) length += chunk.length;
      return length;
    };
    expect(await outcomeOf(() => lengthOf(UNPACKED_BYTES_MAX))).toBe("done");
    expect(await outcomeOf(() => lengthOf(2 * UNPACKED_BYTES_MAX))).toBe("IMPORT_UNREADABLE");
  },
  warnings: async () => {
    const { max } = LIMITS.warnings;
    const warningsOf = async (count: number) => {
      const warned: Importer = {
        name: "warned",
        detect: () => true,
        async *read() {
          for (let line = 1; line <= count; line++) yield { kind: "warning", line, reason: "odd" };
        },
      };
      const report = await new ImportRun(temporaryStore(), { importers: [warned] }).read(fileOf("x"));
      return report.warnings;
    };
    expect(await warningsOf(max)).toHaveLength(max);
    expect((await warningsOf(max + 1)).at(-1)).toEqual({ line: null, reason: "1 further warnings are left out" });
  },
  database: async () => {
    const secondsOf = async (kind: string) => {
      const folder = temporaryFolder();
      HOSTILE_FILES[kind]!(folder, "x");
      const path = join(folder, "x.db");
      const fromMs = performance.now();
      const { error } = await new ImportRun(temporaryStore()).read({ path, chunks: chunksOf(path) });
      return { code: error?.code, seconds: (performance.now() - fromMs) / 1_000 };
    };
    expect(await secondsOf("chain of sessions")).toMatchObject({ code: undefined });
    const { code, seconds } = await secondsOf("endless schema");
    expect(code).toBe("IMPORT_UNREADABLE");
    expect(seconds).toBeGreaterThan(LIMITS.database.max - 1);
  },
  mcpMessage: async () => {
    const client = await served(temporaryPath());
    const ping = (padding: number) =>
      JSON.stringify({ jsonrpc: "2.0", id: "p", method: "ping", params: { _meta: { x: "x".repeat(padding) } } });
    const padding = LIMITS.mcpMessage.max - `${ping(0)}\n`.length;
    for (const [more, id, answer] of [
      [0, "p", { result: {} }],
      [1, null, { error: { code: -32600 } }],
    ] as const) {
      const answered = client.answerTo(id);
      client.send(`${ping(padding + more)}\n`);
      expect(await answered).toMatchObject(answer);
    }
  },
  mcpWorking: async () => {
    const { max } = LIMITS.mcpWorking;
    let askedCount = 0;
    const embedder: RemoteEmbedder = {
      ...remoteLetters(),
      embedAll: () => {
        askedCount += 1;
        return new Promise(() => {});
      },
    };
    const path = temporaryPath();
    openedStore(path, { embedder }).session("s").append({ role: "user", content: "The lamp is green." });
    const client = await served(path, { embedder });
    const recall = (index: number) => void client.call("recall", { query: `lamp ${"x".repeat(index + 1)}` });
    for (let index = 0; index < max; index++) recall(index);
    await vi.waitFor(() => expect(askedCount).toBe(max), { timeout: 5_000 });
    recall(max);
    await wait(200); // after two seconds the first search goes on without a vector
    expect(askedCount).toBe(max);
  },
  mcpTokens: async () => {
    const { min, max } = LIMITS.mcpTokens;
    for (const tokensMax of [min, max]) expect(await mcpTextOf("list_sessions", { tokensMax })).toBe("done");
    for (const tokensMax of [min - 1, max + 1]) {
      expect(await mcpTextOf("list_sessions", { tokensMax })).toContain("OPTION_INVALID");
    }
  },
  mcpQuery: async () => {
    const { max } = LIMITS.mcpQuery;
    expect(await mcpTextOf("recall", { query: "x".repeat(max) })).toBe("done");
    expect(await mcpTextOf("recall", { query: "x".repeat(max + 1) })).toContain("OPTION_INVALID");
  },
  itemKey: async () => {
    const { items } = temporaryStore();
    await expectSides(LIMITS.itemKey, (length) => items.put(["n"], "x".repeat(length), 1), "OPTION_INVALID");
    await expectSides(LIMITS.itemKey, (length) => items.put(["x".repeat(length)], "k", 1), "OPTION_INVALID");
  },
  namespace: async () => {
    const { items } = temporaryStore();
    await expectSides(LIMITS.namespace, (count) => items.put(Array(count).fill("n"), "k", 1), "OPTION_INVALID");
  },
  itemBytes: async () => {
    const { items } = temporaryStore();
    await expectSides(LIMITS.itemBytes, (length) => items.put(["n"], "k", Buffer.alloc(length)), "VALUE_INVALID");
  },
  toolTokens: async () => {
    const { min, max } = LIMITS.toolTokens;
    const store = temporaryStore();
    await expectSides({ max }, (tokensMax) => agentTools(store, { tokensMax }), "OPTION_INVALID");
    await expectSides({ max: -min }, (tokensMax) => agentTools(store, { tokensMax: -tokensMax }), "OPTION_INVALID");
  },
  hookInput: async () => {
    const { max } = LIMITS.hookInput;
    const told = (length: number) => {
      const stdin = new PassThrough();
      const input = inputOf(stdin);
      stdin.end('{"prompt":"x"}'.padEnd(length));
      return input;
    };
    expect(await told(max)).toEqual({ prompt: "x" });
    await expect(told(max + 1)).rejects.toThrow(`longer than ${max} bytes`);
  },
  hookTokens: async () => {
    const { max } = LIMITS.hookTokens;
    const lines = (count: number) =>
      Array.from({ length: count }, (_, id) => ({ kind: "said", id, by: "user", text: "The lamp is green." }));
    const tokensOf = (count: number) => {
      const { text, lineCount } = quoted([{ name: "work", attributes: {}, lines: lines(count) }])!;
      return { tokens: estimateTokens(text), lineCount };
    };
    const { lineCount: most, tokens } = tokensOf(max);
    expect(tokens).toBeLessThanOrEqual(max);
    expect(tokens).toBeGreaterThan(max - 60);
    expect([tokensOf(most).lineCount, tokensOf(most + 1).lineCount]).toEqual([most, most]);
  },
  hubRow: async () => {
    const bodyOf = (length: number) => {
      const message = { role: "user" as const, createdAtMs: 0, parts: [{ type: "text" as const, text: "" }] };
      message.parts[0]!.text = " ".repeat(length - JSON.stringify([{ message }]).length);
      return encodeBody([{ message }]);
    };
    await expectSides(LIMITS.hubRow, (length) => eventsOf(bodyOf(length)), "ROWS_INVALID");
  },
  viewBody: async () => {
    const view = await ServedView.entered(storeOfOne(), { write: true });
    const rename = (length: number) =>
      view.ask("/api/rename", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"session":"s","title":"t"}'.padEnd(length),
      });
    const { max } = LIMITS.viewBody;
    expect(await rename(max)).toMatchObject({ status: 200 });
    expect(await rename(max + 1)).toMatchObject({ status: 413 });
  },
  viewPages: async () => {
    const view = await ServedView.entered(storeOfOne());
    const statusOf = () =>
      new Promise<number | undefined>((resolve, reject) => {
        const { port, key } = view;
        get(
          { port, host: "127.0.0.1", path: "/api/events", headers: { [KEY_HEADER]: key }, agent: false },
          (response) => {
            onTestFinished(() => void response.destroy());
            resolve(response.statusCode);
          },
        ).on("error", reject);
      });
    for (let count = 0; count < LIMITS.viewPages.max; count++) expect(await statusOf()).toBe(200);
    expect(await statusOf()).toBe(503);
  },
};

/** These take seconds. */
const SLOW: readonly string[] = ["database", "hubRow", "line"];

const names = Object.keys(CHECKS) as (keyof typeof LIMITS)[];

test.each(names.filter((name) => TESTS_ALL || !SLOW.includes(name)))("the limit of %s holds on both sides", (name) =>
  CHECKS[name](),
);
