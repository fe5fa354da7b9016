import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { countsOf, jsonLines, put } from "../importers/read.ts";

const time = (second: number): string => new Date(Date.UTC(2026, 2, 1, 23, 59, second)).toISOString();
const lines = (...values: object[]): string => jsonLines(values);

/** A line of Claude Code with one block of a reply. */
const block = (second: number, id: string, text: string, output: number, session = "s") => ({
  ...{ type: "assistant", uuid: `${session}-${second}`, parentUuid: null, sessionId: session, cwd: "/w/lamp" },
  ...{ timestamp: time(second), requestId: `req_${id}` },
  message: {
    ...{ id, type: "message", role: "assistant", model: "sol", content: [{ type: "text", text }] },
    usage: { input_tokens: 10, cache_read_input_tokens: 300, cache_creation_input_tokens: 20, output_tokens: output },
  },
});

async function storeOf(files: Record<string, string>) {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) put(join(folder, name), content);
  const store = temporaryStore();
  expect((await countsOf(store, folder)).at(-1)).toBe(0);
  return store;
}

const USAGE = "SELECT * FROM usage ORDER BY session_id, day, model";
const counts = { input_tokens: 10, cache_read_tokens: 300, cache_write_tokens: 20, cost_usd: null };

describe("the usage of a reply", () => {
  test.each([
    [50, 50, 50],
    [1, 1, 50],
    [1, 7, 50],
  ])("is told by one of its messages: %i, %i, %i", async (...outputs) => {
    const reply = outputs.map((output, index) => block(index, "m1", `block ${index}`, output));
    const store = await storeOf({ "s.jsonl": lines(...reply, block(9, "m2", "next", 8)) });
    const sum = "SELECT sum(json_extract(metadata, '$.message.usage.output_tokens')) AS output FROM messages";
    expect(store.query(sum)).toEqual([{ output: 58 }]);
    const day = { session_id: "s", project: "/w/lamp", day: "2026-03-01", model: "sol" };
    const twice = { input_tokens: 20, cache_read_tokens: 600, cache_write_tokens: 40, output_tokens: 58 };
    expect(store.query(USAGE)).toEqual([{ ...day, reply_count: 2, ...counts, ...twice }]);
  });

  test("counts once where an older version stored it on each message, and in copies of a session", async () => {
    const store = temporaryStore();
    for (const id of ["first", "copy"]) {
      for (const output of [1, 50]) {
        const { message, requestId } = block(0, "m1", "hi", output);
        const { content: _, role: _r, ...about } = message;
        const metadata = { message: about, requestId };
        store.session(id).append({ role: "assistant", content: `${output}`, createdAt: time(0), metadata });
      }
    }
    expect(store.query(USAGE)).toMatchObject([{ session_id: "first", reply_count: 1, ...counts, output_tokens: 50 }]);
  });

  test("is counted by session, day and model, as each program tells it", async () => {
    const codex = (second: number, type: string, payload: object) => ({ timestamp: time(second), type, payload });
    const lit = { type: "output_text", text: "Lit." };
    const ofCodex = { input_tokens: 90, cached_input_tokens: 30, output_tokens: 7, reasoning_output_tokens: 2 };
    const store = await storeOf({
      "gemini.jsonl": lines(
        { sessionId: "g", projectHash: "h", startTime: time(0) },
        { id: "u1", timestamp: time(1), type: "user", content: "go" },
        {
          ...{ id: "g1", timestamp: time(70), type: "gemini", content: "I look.", model: "luna" },
          toolCalls: [{ id: "c1", name: "look", args: {}, status: "success", result: [] }],
          tokens: { input: 100, output: 5, cached: 40, thoughts: 3, tool: 0, total: 108 },
        },
      ),
      "rollout.jsonl": lines(
        codex(0, "session_meta", { id: "x", cwd: "/w/lamp", timestamp: time(0) }),
        codex(0, "turn_context", { model: "terra" }),
        codex(1, "response_item", { type: "message", role: "assistant", content: [lit] }),
        codex(2, "event_msg", { type: "token_count", info: { last_token_usage: ofCodex } }),
      ),
      "opencode.json": JSON.stringify({
        info: { id: "o", directory: "/w/lamp", time: { created: Date.parse(time(0)) } },
        messages: [
          {
            info: {
              ...{ id: "msg_1", sessionID: "o", role: "assistant", modelID: "mars", cost: 0.25 },
              ...{ time: { created: Date.parse(time(1)), completed: Date.parse(time(2)) } },
              tokens: { input: 4, output: 6, reasoning: 1, cache: { read: 2, write: 3 } },
            },
            parts: [
              { type: "text", text: "First." },
              { type: "text", text: "Second." },
            ],
          },
        ],
      }),
      "pi.jsonl": lines(
        { type: "session", version: 3, id: "p", timestamp: time(0), cwd: "/w/lamp" },
        {
          ...{ type: "message", id: "e1", parentId: null, timestamp: time(1) },
          message: {
            ...{ role: "assistant", content: [{ type: "text", text: "Lit." }], model: "venus" },
            usage: { input: 8, output: 9, cacheRead: 1, cacheWrite: 2, cost: { total: 0.5 } },
          },
        },
      ),
    });
    expect(store.query("SELECT sum(json_extract(metadata, '$.cost')) AS cost FROM messages")).toEqual([{ cost: 0.25 }]);
    const tokens = (input: number, read: number, write: number, output: number, cost: number | null = null) => ({
      ...{ reply_count: 1, input_tokens: input, cache_read_tokens: read, cache_write_tokens: write },
      ...{ output_tokens: output, cost_usd: cost },
    });
    expect(store.query(USAGE)).toMatchObject([
      { session_id: "g", day: "2026-03-02", model: "luna", ...tokens(60, 40, 0, 8) },
      { session_id: "o", day: "2026-03-01", model: "mars", ...tokens(4, 2, 3, 7, 0.25) },
      { session_id: "p", day: "2026-03-01", model: "venus", ...tokens(8, 1, 2, 9, 0.5) },
      { session_id: "x", day: "2026-03-01", model: "terra", ...tokens(60, 30, 0, 7) },
    ]);
  });
});
