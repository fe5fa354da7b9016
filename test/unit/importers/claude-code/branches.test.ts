import { describe, expect, test } from "vitest";
import { claudeCode } from "../../../../src/importers/claude-code/importer.ts";
import { eventsOfLines, sessionsIn } from "../read.ts";

type Said = [role: "user" | "assistant", uuid: string, parent: string | null, content?: unknown, more?: object];

async function read(...lines: Said[]) {
  return eventsOfLines(
    claudeCode,
    lines.map(([type, uuid, parentUuid, content = uuid, more = {}]) => ({
      type,
      uuid,
      parentUuid,
      sessionId: "s",
      cwd: "/srv/tide",
      message: { role: type, content, ...(type === "assistant" && { id: `msg-${uuid}` }) },
      ...more,
    })),
  );
}

async function placesIn(...lines: Said[]) {
  return (await read(...lines)).flatMap((event) =>
    event.kind === "message" ? [[event.session, event.message.id]] : [],
  );
}

describe("a prompt that goes on from before an answered one", () => {
  const lines: Said[] = [
    ["user", "u1", null],
    ["assistant", "a1", "u1", [{ type: "tool_use", id: "c", name: "ls", input: {} }]],
    ["user", "r1", "a1", [{ type: "tool_result", tool_use_id: "c", content: "x" }]],
    ["user", "u2", "r1"],
    ["assistant", "a2", "u2"],
    ["user", "u3", "r1"],
    ["assistant", "a3", "u3"],
    ["user", "u4", "a3"],
    ["assistant", "a4", "u4"],
  ];

  test("begins a fork, and what was taken back stays", async () => {
    expect(sessionsIn(await read(...lines))).toMatchObject([
      { externalId: "s", folder: "/srv/tide" },
      { externalId: "s/fork-u3", parentExternalId: "s", forkedAfter: "r1", folder: "/srv/tide" },
    ]);
    const places = await placesIn(...lines);
    expect([
      ...places.filter(([session]) => session === "s"),
      ...places.filter(([session]) => session !== "s"),
    ]).toEqual([
      ["s", "u1"],
      ["s", "a1"],
      ["s", "r1"],
      ["s", "u2"],
      ["s", "a2"],
      ["s/fork-u3", "u3"],
      ["s/fork-u3", "a3"],
      ["s/fork-u3", "u4"],
      ["s/fork-u3", "a4"],
    ]);
  });

  test("forks a fork, and the session again", async () => {
    const more: Said[] = [
      ...lines,
      ["user", "u5", "a3"],
      ["assistant", "a5", "u5"],
      ["user", "u6", "a1"],
      ["assistant", "a6", "u6"],
    ];
    expect(sessionsIn(await read(...more)).slice(2)).toMatchObject([
      { externalId: "s/fork-u5", parentExternalId: "s/fork-u3", forkedAfter: "a3" },
      { externalId: "s/fork-u6", parentExternalId: "s", forkedAfter: "a1" },
    ]);
  });

  test("changes nothing of what was imported before it was there", async () => {
    const all = await placesIn(...lines);
    for (let count = 1; count < lines.length; count++) {
      expect(all).toEqual(expect.arrayContaining(await placesIn(...lines.slice(0, count))));
    }
  });
});

describe("no fork is begun", () => {
  test.each<[string, Said[]]>([
    [
      "by prompts that were sent together",
      [
        ["user", "u2", "a1"],
        ["user", "u3", "a1"],
        ["assistant", "a3", "u3"],
      ],
    ],
    [
      "by a prompt that goes on from an answer with several lines",
      [
        ["assistant", "b1", "a1"],
        ["user", "u2", "a1"],
        ["assistant", "a2", "u2"],
      ],
    ],
    [
      "by a reminder or a summary",
      [
        ["user", "u2", "a1"],
        ["assistant", "a2", "u2"],
        ["user", "m", "a1", "x", { isMeta: true }],
        ["user", "k", "a1", "x", { isCompactSummary: true }],
      ],
    ],
    [
      "by a line that repeats an earlier one",
      [
        ["user", "u2", "a1"],
        ["assistant", "a2", "u2"],
        ["user", "u2", "a1"],
      ],
    ],
    [
      "by a prompt whose parent is not in the file",
      [
        ["user", "u2", "a1"],
        ["assistant", "a2", "u2"],
        ["user", "u3", "gone"],
      ],
    ],
  ])("%s", async (_, more) => {
    const events = await read(["user", "u1", null], ["assistant", "a1", "u1"], ...more);
    expect(sessionsIn(events).map(({ externalId }) => externalId)).toEqual(["s"]);
  });
});
