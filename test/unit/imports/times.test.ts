import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { importFiles } from "../../../src/imports/import-files.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";

const WRITTEN = "2026-01-05T08:00:00.000Z";
const at = (time: string): number => Date.parse(`2026-01-02T${time}.000Z`);

/** Imports a file that was written at `WRITTEN`. Returns the session's time, and that of each message. */
async function timesIn(name: string, lines: readonly object[] | string) {
  const path = join(temporaryFolder(), name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof lines === "string" ? lines : lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  utimesSync(path, new Date(WRITTEN), new Date(WRITTEN));
  const store = temporaryStore({ clock: () => Date.parse("2026-11-11T00:00:00Z") });
  const { warningCount } = await importFiles(store, path, { summarize: false });
  expect(warningCount).toBe(0);
  const [session] = store.sessions();
  const { id, createdAtMs } = session!;
  const times = store
    .resume(id)
    .messages()
    .map((message) => message.createdAtMs);
  return {
    session: createdAtMs,
    times,
    recap: store.recap({ sinceMs: Date.parse("2026-11-10T00:00:00Z") }).messageCount,
  };
}

const user = (uuid: string, content: string, timestamp?: string) => ({
  type: "user",
  uuid,
  sessionId: "s",
  cwd: "/w/lamp",
  message: { role: "user", content },
  ...(timestamp !== undefined && { timestamp }),
});

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
    ["s.jsonl", `${JSON.stringify(user("a", "first"))}\n${JSON.stringify(user("b", "second"))}\n`],
    [
      "chat.json",
      JSON.stringify([
        { role: "user", content: "hi" },
        { role: "assistant", content: "ho" },
      ]),
    ],
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
