import { describe, expect, test } from "vitest";
import { claudeCode } from "../../../../src/importers/claude-code/importer.ts";
import { eventsOfLines, warningsIn } from "../read.ts";
import { assistant, call, outline, result, text, user } from "./lines.ts";

type Line = Record<string, unknown>;

/** Lines in a chain, each a second after the one before it. The uuid of each is given. */
function chained(lines: readonly Line[], after: string | null = null, second = 0): Line[] {
  return lines.map((line, index) => ({
    ...line,
    parentUuid: index === 0 ? after : lines[index - 1]!.uuid,
    timestamp: new Date(Date.UTC(2026, 2, 1, 0, 0, second + index)).toISOString(),
  }));
}

const reply = (uuid: string, id: string, content: unknown) =>
  assistant(uuid, id, [content], { requestId: `req_${id}` });

/** A conversation, whose lines have uuids with this prefix. */
const talk = (prefix = "") => [
  user(`${prefix}u1`, "Oil the hinge"),
  reply(`${prefix}a1`, "m1", text("I look for the can.")),
  reply(`${prefix}a2`, "m1", call("t1")),
  user(`${prefix}r1`, [result("t1", "found")]),
  reply(`${prefix}a3`, "m2", text("Oiled.")),
  user(`${prefix}u2`, "And the lock?"),
  reply(`${prefix}a4`, "m3", text("It is dry.")),
];

const OUTLINE = [
  "u1 user: Oil the hinge",
  "a1 assistant: I look for the can.",
  "a2 assistant: >t1",
  "r1 tool: <t1",
  "a3 assistant: Oiled.",
  "u2 user: And the lock?",
  "a4 assistant: It is dry.",
];

async function outlineOf(lines: readonly Line[]): Promise<string[]> {
  const events = await eventsOfLines(claudeCode, lines);
  expect(warningsIn(events)).toEqual([]);
  expect(events.filter(({ kind }) => kind === "session")).toHaveLength(1);
  return outline(events);
}

describe("a conversation that is written again in its file under new uuids", () => {
  const next = [user("u3", "Then oil it"), reply("a5", "m4", text("Oiled, too."))];
  const more = ["u3 user: Then oil it", "a5 assistant: Oiled, too."];

  test("with the times it had is there once, and goes on", async () => {
    const first = chained(talk());
    for (const after of [null, "a4"]) {
      const again = chained(talk("x-"), after);
      expect(await outlineOf([...first, ...again, ...chained(next, "x-a4", 100)])).toEqual([...OUTLINE, ...more]);
    }
  });

  test("with new times is found out by the ids of its replies", async () => {
    const first = chained(talk());
    for (const after of [null, "a4", "elsewhere"]) {
      const again = chained(talk("x-"), after, 50);
      expect(await outlineOf([...first, ...again, ...chained(next, "x-a4", 100)])).toEqual([...OUTLINE, ...more]);
    }
  });

  test("twice, and from its middle on, is there once", async () => {
    const lines = [...chained(talk()), ...chained(talk("x-"), "a4", 50), ...chained(talk("y-").slice(5), "x-a3", 80)];
    expect(await outlineOf(lines)).toEqual(OUTLINE);
  });
});

describe("what is no repetition stays", () => {
  test("a prompt that the user gives again, with another answer", async () => {
    const again = [user("u9", "And the lock?"), reply("a9", "m9", text("It is dry."))];
    const lines = [...chained(talk()), ...chained(again, "a4", 50)];
    expect(await outlineOf(lines)).toEqual([...OUTLINE, "u9 user: And the lock?", "a9 assistant: It is dry."]);
  });

  test("a block that comes twice in one reply, and one that the reply adds later", async () => {
    const lines = [
      user("u1", "Knock twice"),
      reply("a1", "m1", text("Knock.")),
      reply("a2", "m1", text("Knock.")),
      user("u2", "More"),
      reply("a3", "m2", text("Knock.")),
      reply("a4", "m1", text("Late.")),
    ];
    expect(await outlineOf(chained(lines))).toEqual([
      "u1 user: Knock twice",
      "a1 assistant: Knock.",
      "a2 assistant: Knock.",
      "u2 user: More",
      "a3 assistant: Knock.",
      "a4 assistant: Late.",
    ]);
  });

  test("an equal reply under the id that a proxy gives to each", async () => {
    const lines = [
      user("u1", "Once"),
      assistant("a1", "msg", [text("Done.")]),
      user("u2", "Once more"),
      assistant("a2", "msg", [text("Done.")]),
    ];
    expect(await outlineOf(chained(lines))).toEqual([
      "u1 user: Once",
      "a1 assistant: Done.",
      "u2 user: Once more",
      "a2 assistant: Done.",
    ]);
  });
});
