import { describe, expect, test } from "vitest";
import { jsonl } from "../../../src/importers/jsonl.ts";
import { eventsOf, eventsOfLines, messagesIn, sessionsIn, warningsIn } from "./read.ts";

const hi = { session: "s", role: "user", content: "hi" };

describe("a line", () => {
  test("becomes a message with all its fields, and its session's first line starts the session", async () => {
    const line = {
      ...hi,
      id: "m1",
      createdAt: "2026-02-03T09:00:00Z",
      project: "web",
      name: "Mira",
      metadata: { a: 1 },
    };
    expect(await eventsOfLines(jsonl, [line])).toEqual([
      { kind: "session", session: { externalId: "s", source: "jsonl", project: "web", createdAtMs: 1770109200000 } },
      {
        kind: "message",
        line: 1,
        session: "s",
        message: {
          role: "user",
          content: "hi",
          id: "m1",
          createdAt: "2026-02-03T09:00:00Z",
          name: "Mira",
          metadata: { a: 1 },
        },
      },
    ]);
  });

  test.each([
    ["session: expected a name, as a string", { role: "user", content: "x" }],
    ["session: expected a name, as a string", { ...hi, session: "" }],
    ["id: expected a string, got 7", { ...hi, id: 7 }],
    ['role: Invalid option: expected one of "system"|"user"|"assistant"|"tool"', { ...hi, role: "human" }],
    ["content: neither `content` nor `parts` was given", { session: "s", role: "user" }],
    ["content: give `content` or `parts`, not both", { ...hi, parts: [] }],
    ['createdAt: expected Unix milliseconds or an ISO 8601 time, got "noon"', { ...hi, createdAt: "noon" }],
    [
      "createdAt: -8640000000000001 is more than 8640000000000000 milliseconds from 1970",
      { ...hi, createdAt: -8_640_000_000_000_001 },
    ],
    ["seq: a message has no such field. Other data belongs in `metadata`.", { ...hi, seq: 7, metadata: { seq: 8 } }],
    ["session: longer than 512 characters", { ...hi, session: "s".repeat(513) }],
    ["id: longer than 512 characters", { ...hi, id: "i".repeat(513) }],
  ])("is a warning and nothing else: %s", async (reason, line) => {
    const events = await eventsOfLines(jsonl, [{ ...hi, session: "before" }, line]);
    expect(events.slice(2)).toEqual([{ kind: "warning", line: 2, reason }]);
  });

  test("with a project that is no name loses only the project", async () => {
    const events = await eventsOfLines(jsonl, [{ ...hi, project: 7 }]);
    expect(warningsIn(events)).toEqual([[1, "project: expected a string"]]);
    expect(sessionsIn(events)).toEqual([{ externalId: "s", source: "jsonl" }]);
    expect(messagesIn(events)).toHaveLength(1);
  });
});

describe("a line about a session", () => {
  const about = {
    session: "s",
    title: "The deploy",
    parent: "p",
    project: "web",
    createdAt: 1770109200000,
    metadata: { a: 1 },
  };

  test("announces it, whether messages follow or not", async () => {
    const events = await eventsOfLines(jsonl, [about, { ...hi, createdAt: 5 }, { session: "bare" }]);
    expect(sessionsIn(events)).toEqual([
      {
        externalId: "s",
        source: "jsonl",
        project: "web",
        title: "The deploy",
        parentExternalId: "p",
        createdAtMs: 1770109200000,
        metadata: { a: 1 },
      },
      { externalId: "bare", source: "jsonl", createdAtMs: 5 },
    ]);
    expect(messagesIn(events)).toHaveLength(1);
    expect(warningsIn(events)).toEqual([]);
  });

  test("of another store says what brings it back as it was, and its messages keep their places and need no ids", async () => {
    const settings = { hotSize: 30 };
    const exported = { session: "s", source: "codex", externalId: "x", forkSeq: 3, settings };
    const events = await eventsOfLines(jsonl, [exported, { ...hi, seq: 0 }]);
    const origin = { source: "codex", externalId: "x", forkSeq: 3, settings };
    expect(events).toEqual([
      { kind: "session", session: { externalId: "s", source: "jsonl", exported: origin } },
      { kind: "restored", session: "s", seq: 0, message: { role: "user", content: "hi" }, line: 2 },
    ]);
    expect(jsonl.detect(`${JSON.stringify(exported)}\n`)).toBe(true);
  });

  test("is not needed for a message to keep a field of that name", async () => {
    expect(messagesIn(await eventsOfLines(jsonl, [{ ...hi, seq: 7 }]))).toMatchObject([{ metadata: { seq: 7 } }]);
  });

  test.each([
    ["title", 7],
    ["parent", null],
    ["createdAt", "noon"],
    ["createdAt", 9e15],
    ["metadata", []],
    ["source", 7],
    ["externalId", null],
    ["forkSeq", 1.5],
  ])("with a wrong %s loses only that", async (field, value) => {
    const events = await eventsOfLines(jsonl, [{ session: "s", [field]: value }, hi]);
    const reason = `${field}: not valid for a session: ${JSON.stringify(value)}`;
    expect(warningsIn(events)).toEqual([[1, reason]]);
    expect(sessionsIn(events)).toEqual([{ externalId: "s", source: "jsonl" }]);
    expect(messagesIn(events)).toHaveLength(1);
  });

  test("that comes late is reported, and one that comes again is not", async () => {
    const late = await eventsOfLines(jsonl, [hi, about]);
    expect(warningsIn(late)).toEqual([[2, 'session: "s" has begun on an earlier line']]);
    const again = await eventsOfLines(jsonl, [about, hi, about, hi]);
    expect(warningsIn(again)).toEqual([]);
    expect(sessionsIn(again)).toHaveLength(1);
    expect(warningsIn(await eventsOfLines(jsonl, [about, { ...about, title: "Other" }]))).toHaveLength(1);
  });
});

describe("an id", () => {
  test("is derived where none is given: from the place in the session and the content", async () => {
    const ids = messagesIn(await eventsOfLines(jsonl, [hi, hi, { ...hi, content: "ho" }])).map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
    // SHA-256 of `[0,{"role":"user","content":"hi"}]`, pinned: another way to derive ids would import every file a second time.
    expect(ids[0]).toBe("4eabdb2626d54e5971553295a4909239");
  });

  test("stays when the file grows, and when lines of other sessions come in between", async () => {
    const before = messagesIn(await eventsOfLines(jsonl, [hi, hi]));
    const after = messagesIn(await eventsOfLines(jsonl, [hi, { ...hi, session: "t" }, hi, hi]));
    expect([after[0], after[2]]).toEqual(before);
  });

  test("stays whatever white space the line is written with", async () => {
    const spaced = '{ "session": "s",\t"role": "user", "content": "hi" }\r\n';
    expect(await eventsOf(jsonl, spaced)).toEqual(await eventsOfLines(jsonl, [hi]));
  });

  test("that comes twice is passed over with the same message, and reported with another", async () => {
    const first = { ...hi, id: "a" };
    const events = await eventsOfLines(jsonl, [first, first, { ...first, content: "ho" }, { ...first, session: "t" }]);
    expect(messagesIn(events)).toHaveLength(2);
    expect(warningsIn(events)).toEqual([[3, 'id: "a" names another message, on line 1']]);
  });

  test("is not needed to pass over what a second export of a session says again", async () => {
    const begin = { session: "s", settings: {} };
    const entry = { session: "s", entry: "opened", createdAt: 7 };
    const said = ["hi", "ho", "he"].map((content, seq) => ({ ...hi, content, seq }));
    const events = await eventsOfLines(jsonl, [
      begin,
      said[0]!,
      entry,
      entry,
      begin,
      said[0]!,
      entry,
      entry,
      said[1]!,
      entry,
    ]);
    const told = events.filter(({ kind }) => kind !== "session").map(({ kind }) => kind);
    expect(told).toEqual(["restored", "entry", "entry", "restored", "entry"]);

    const other = [begin, ...said.slice(0, 2), begin, said[0]!, { ...said[1]!, content: "another" }, entry, said[2]!];
    const kept = await eventsOfLines(jsonl, [...other, begin, ...said]);
    expect(kept.flatMap((event) => (event.kind === "restored" ? [event.seq] : []))).toEqual([0, 1, 2]);
    expect(kept.filter(({ kind }) => kind === "entry")).toEqual([]);
    expect(warningsIn(kept)).toEqual([
      [6, "seq: 1 is another message than on line 3, so the rest of this copy of the session is left out"],
    ]);
  });
});
