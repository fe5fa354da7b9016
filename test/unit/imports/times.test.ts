import { utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { user as line } from "../importers/claude-code/lines.ts";
import { countsOf, jsonLines, put } from "../importers/read.ts";

const WRITTEN = "2026-01-05T08:00:00.000Z";
const at = (time: string): number => Date.parse(`2026-01-02T${time}.000Z`);

/** Imports a file that was written at `WRITTEN`. Returns the session's time, and that of each message. */
async function timesIn(name: string, lines: readonly object[] | string) {
  const path = put(join(temporaryFolder(), name), typeof lines === "string" ? lines : jsonLines(lines));
  utimesSync(path, new Date(WRITTEN), new Date(WRITTEN));
  const store = temporaryStore({ clock: () => Date.parse("2026-11-11T00:00:00Z") });
  expect((await countsOf(store, path)).at(-1)).toBe(0);
  const { id, createdAtMs: session } = store.sessions()[0]!;
  const messages = store.resume(id).messages();
  const recap = store.recap({ sinceMs: Date.parse("2026-11-10T00:00:00Z") }).messageCount;
  return { session, times: messages.map(({ createdAtMs }) => createdAtMs), recap };
}

const user = (uuid: string, content: string, timestamp?: string) =>
  line(uuid, content, { cwd: "/w/lamp", ...(timestamp !== undefined && { timestamp }) });

const iso = (time: string): string => new Date(at(time)).toISOString();

describe("a line without a time", () => {
  test("has the time of its session, where the file says that", async () => {
    const said = { type: "message", role: "user", content: [{ type: "input_text", text: "Oil it" }] };
    const answer = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Oiled" }] };
    const meta = { id: "x", timestamp: iso("10:00:00"), instructions: null };
    const { session, times, recap } = await timesIn("rollout-x.jsonl", [meta, said, answer]);
    expect([session, ...times]).toEqual(Array(3).fill(at("10:00:00")));
    expect(recap).toBe(0);
  });

  test("has the time of the line before it, or else of the next one", async () => {
    const lines = [
      user("a", "first"),
      user("b", "second"),
      user("c", "third", iso("11:00:00")),
      user("d", "fourth"),
      user("e", "fifth", iso("12:00:00")),
      user("f", "sixth"),
    ];
    const { session, times } = await timesIn("s.jsonl", lines);
    expect(session).toBe(at("11:00:00"));
    expect(times).toEqual(["11", "11", "11", "11", "12", "12"].map((hour) => at(`${hour}:00:00`)));
  });

  test.each([
    ["s.jsonl", jsonLines([user("a", "first"), user("b", "second")])],
    ["chat.json", '[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]'],
    ["notes.jsonl", '{"session":"s","role":"user","content":"hi"}\n{"session":"s","role":"user","content":"ho"}\n'],
  ])("has the time of its file, where nothing in the file has one (%s)", async (name, content) => {
    const { session, times, recap } = await timesIn(name, content);
    expect([session, ...times]).toEqual(Array(3).fill(Date.parse(WRITTEN)));
    expect(recap).toBe(0);
  });

  test("does not wait for one with a time for long", async () => {
    const lines = Array.from({ length: 40 }, (_, index) => user(`u${index}`, `note ${index}`));
    const { times } = await timesIn("s.jsonl", [...lines, user("last", "late", iso("09:00:00"))]);
    expect(times).toEqual([...Array(40).fill(Date.parse(WRITTEN)), at("09:00:00")]);
  });
});
