import { describe, expect, test } from "vitest";
import { omp, pi } from "../../../src/importers/pi.ts";
import { eventsOfLines, messagesIn, pathsIn, saidIn, sessionsIn, warningsIn } from "./read.ts";

const HEADER = { type: "session", version: 3, id: "s", timestamp: "2026-03-05T09:00:00.000Z", cwd: "/srv/tidewatch" };
const entry = (id: string, parentId: string | null, more: object) => ({ id, parentId, ...more });
const user = (id: string, parentId: string | null, content: unknown = id) =>
  entry(id, parentId, { type: "message", message: { role: "user", content, timestamp: 1 } });
const reply = (id: string, parentId: string | null, content: unknown = [{ type: "text", text: id }]) =>
  entry(id, parentId, { type: "message", message: { role: "assistant", content, model: "m", timestamp: 2 } });

async function read(...lines: object[]) {
  return eventsOfLines(pi, [HEADER, ...lines]);
}

const pathsOf = async (...lines: object[]) => pathsIn(await read(...lines));

describe("the tree", () => {
  const TRUNK = [user("a", null), reply("b", "a"), user("c", "b"), reply("d", "c")];

  test("forks where the user went back to a prompt, and where a reply came twice", async () => {
    expect(await pathsOf(...TRUNK, user("e", "b"), reply("f", "e"), reply("g", "e"))).toEqual({
      s: ["a", "b", "c", "d"],
      "s/fork-e": ["s@b", "e", "f"],
      "s/fork-g": ["s/fork-e@e", "g"],
    });
  });

  test("goes on with an earlier branch when the user returns to its end", async () => {
    expect(await pathsOf(...TRUNK, user("e", "b"), user("f", "d"), reply("g", "f"))).toEqual({
      s: ["a", "b", "c", "d", "f", "g"],
      "s/fork-e": ["s@b", "e"],
    });
  });

  test("counts entries that say nothing as steps of the path", async () => {
    const label = entry("l", "d", { type: "label", targetId: "a", label: "x" });
    expect(await pathsOf(...TRUNK, label, user("e", "l"))).toEqual({ s: ["a", "b", "c", "d", "e"] });
    // The label began the fork, and names it.
    expect(await pathsOf(...TRUNK, { ...label, parentId: "b" }, user("e", "l"))).toEqual({
      s: ["a", "b", "c", "d"],
      "s/fork-l": ["s@b", "e"],
    });
  });

  test("may have several roots, which share nothing", async () => {
    expect(await pathsOf(user("a", null), reply("b", "a"), user("c", null))).toEqual({
      s: ["a", "b"],
      "s/fork-c": ["s@undefined", "c"],
    });
  });

  test("is one path where the entry before is missing, and in the first version of the format", async () => {
    expect(await pathsOf(user("a", null), reply("c", "lost"), user("d", "c"))).toEqual({ s: ["a", "c", "d"] });
    const old = [user("", null, "one"), reply("two", null)].map(({ id: _, parentId: _p, ...rest }) => rest);
    const events = await read(...old, ...old);
    expect(sessionsIn(events)).toHaveLength(1);
    expect(messagesIn(events).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });
});

test("a session knows its folder, its name, and the session that it was forked from", async () => {
  const parentSession = "/home/mira/.pi/agent/sessions/--srv-tidewatch--/2026-03-04T09-00-00-000Z_before.jsonl";
  const named = entry("n", "a", { type: "session_info", name: "Foghorn" });
  const [session] = sessionsIn(await eventsOfLines(pi, [{ ...HEADER, parentSession }, user("a", null), named]));
  expect(session).toEqual({
    externalId: "s",
    source: "pi",
    parentExternalId: "before",
    folder: "/srv/tidewatch",
    title: "Foghorn",
    createdAtMs: 1,
    metadata: { cwd: "/srv/tidewatch" },
  });
});

describe("a message", () => {
  test("keeps reasoning, calls, results, images and the model", async () => {
    const thought = { type: "thinking", thinking: "hm", thinkingSignature: "sig" };
    const call = { type: "toolCall", id: "c", name: "read", arguments: { path: "a.txt" } };
    const image = { type: "image", data: "aGk=", mimeType: "image/png" };
    const result = { role: "toolResult", toolCallId: "c", toolName: "read", content: [image], isError: true };
    const events = await read(
      user("a", null, [{ type: "text", text: "see" }, image]),
      reply("b", "a", [thought, call, { type: "new", x: 1 }]),
      entry("r", "b", { type: "message", message: result }),
      entry("s", "r", { type: "message", message: { ...result, isError: false } }),
    );
    expect(warningsIn(events)).toEqual([]);
    const file = { type: "file", mediaType: "image/png", data: "aGk=" };
    expect(messagesIn(events).map(({ parts }) => parts)).toEqual([
      [{ type: "text", text: "see" }, file],
      [
        { type: "reasoning", text: "hm", thinkingSignature: "sig" },
        { type: "tool_call", toolCallId: "c", name: "read", args: { path: "a.txt" } },
        { type: "data", data: { type: "new", x: 1 } },
      ],
      [{ type: "tool_result", toolCallId: "c", name: "read", content: [file], isError: true }],
      [{ type: "tool_result", toolCallId: "c", name: "read", content: [file], isError: false }],
    ]);
    expect(messagesIn(events)[1]!.metadata).toEqual({ model: "m" });
  });

  test("of an extension or the program is marked, and a summary too", async () => {
    const events = await read(
      entry("a", null, { type: "custom_message", customType: "coppice", content: "memory", display: false }),
      entry("b", "a", { type: "message", message: { role: "system", content: "be brief" } }),
      entry("c", "b", { type: "branch_summary", fromId: "x", summary: "before" }),
      entry("d", "c", { type: "message", message: { role: "bashExecution", command: "ls", output: "a.txt" } }),
      entry("e", "d", { type: "compaction", summary: "in short", firstKeptEntryId: "d" }),
    );
    const marked = ["user: [memory]", "user: [be brief]", "user: [before]"];
    expect(saidIn(events)).toEqual([...marked, "user: ! ls | [a.txt]", "user: in short"]);
    const summaries = messagesIn(events).map(({ metadata }) => metadata?.isCompactSummary);
    expect(summaries).toEqual([undefined, undefined, undefined, undefined, true]);
  });

  test("that cannot be read becomes a warning", async () => {
    const events = await read(
      entry("a", null, { type: "novelty" }),
      entry("b", "a", { type: "message", message: 7 }),
      entry("c", "b", { type: "message", message: { role: "toolResult", content: [] } }),
      entry("d", "c", { type: "message", message: { role: "oracle" } }),
    );
    expect(warningsIn(events)).toEqual([
      [2, 'unknown type of entry: "novelty"'],
      [3, "message: expected an object"],
      [4, "toolCallId: expected a string"],
      [5, 'unknown role: "oracle"'],
    ]);
  });
});

test("a session of Oh My Pi has the title of its first line, and the newest one", async () => {
  const slot = { type: "title", v: 1, title: "Dam", pad: " " };
  const header = { ...HEADER, title: "Why does the dam leak?" };
  const titleOf = async (...lines: object[]) => sessionsIn(await eventsOfLines(omp, lines))[0]?.title;
  expect(await titleOf(slot, header, user("a", null))).toBe("Dam");
  expect(await titleOf(header, user("a", null))).toBe("Why does the dam leak?");
  const change = { type: "title_change", id: "b", parentId: "a", title: "The dam" };
  expect(await titleOf(slot, header, user("a", null), change)).toBe("The dam");
});
