import { describe, expect, test } from "vitest";
import { llxprt } from "../../../src/importers/llxprt.ts";
import { eventsOfLines, messagesIn, sessionsIn, warningsIn } from "./read.ts";

function read(...lines: [type: string, payload: unknown][]) {
  const start: [string, unknown] = [
    "session_start",
    { sessionId: "s", provider: "p", model: "m", workspaceDirs: ["/srv/tide"] },
  ];
  return eventsOfLines(
    llxprt,
    [start, ...lines].map(([type, payload], index) => ({
      v: 1,
      seq: index + 1,
      ts: "2026-03-01T00:00:00Z",
      type,
      payload,
    })),
  );
}
const said = (speaker: string, text: string): [string, unknown] => [
  "content",
  { content: { speaker, blocks: [{ type: "text", text }] } },
];

describe("rewind", () => {
  test("lets what follows begin a fork after the last content kept", async () => {
    const events = await read(
      said("human", "a"),
      said("ai", "b"),
      said("human", "c"),
      ["rewind", { itemsRemoved: 1 }],
      said("human", "d"),
    );
    expect(sessionsIn(events)).toMatchObject([
      { externalId: "s", folder: "/srv/tide" },
      { externalId: "s/fork-6", parentExternalId: "s", forkedAfter: "3" },
    ]);
  });

  test("of nothing makes no fork, and of more than there is takes back everything", async () => {
    expect(
      sessionsIn(await read(said("human", "a"), ["rewind", { itemsRemoved: 0 }], said("human", "b"))),
    ).toHaveLength(1);
    const all = sessionsIn(await read(said("human", "a"), ["rewind", { itemsRemoved: 9 }], said("human", "b")));
    expect(all[1]).toMatchObject({ parentExternalId: "s" });
    expect(all[1]).not.toHaveProperty("forkedAfter");
    expect(warningsIn(await read(["rewind", {}]))).toEqual([[2, "itemsRemoved: expected a number"]]);
  });

  test("counts from the summary after a compression, which takes nothing away itself", async () => {
    const summary = { speaker: "ai", blocks: [{ type: "text", text: "so far" }] };
    const events = await read(
      said("human", "a"),
      said("ai", "b"),
      ["compressed", { summary, itemsCompressed: 2 }],
      said("human", "c"),
      ["rewind", { itemsRemoved: 1 }],
      said("human", "d"),
    );
    expect(messagesIn(events).map(({ id, role, metadata }) => [id, role, metadata?.isCompactSummary])).toEqual([
      ["2", "user", undefined],
      ["3", "assistant", undefined],
      ["4", "user", true],
      ["5", "user", undefined],
      ["7", "user", undefined],
    ]);
    expect(sessionsIn(events)[1]).toMatchObject({ forkedAfter: "4" });
  });
});

test("the answers of a content are one message, and what stands beside them another", async () => {
  const answer = (callId: string, more: object) => ({ type: "tool_response", callId, toolName: "t", ...more });
  const blocks = [answer("a", { result: null, error: "no" }), answer("b", { result: 7 }), { type: "text", text: "x" }];
  const events = await read(["content", { content: { speaker: "tool", blocks } }]);
  expect(messagesIn(events)).toMatchObject([
    {
      id: "2",
      role: "tool",
      parts: [
        { type: "tool_result", toolCallId: "a", name: "t", content: "no", isError: true },
        { type: "tool_result", toolCallId: "b", name: "t", content: [{ type: "data", data: 7 }] },
      ],
    },
    { id: "2/1", role: "user", parts: [{ type: "text", text: "x" }] },
  ]);
});

test("provider, model, usage and ancestry are kept", async () => {
  const usage = { promptTokens: 1 };
  const answer = {
    speaker: "ai",
    blocks: [{ type: "text", text: "b" }],
    metadata: { usage, model: "exact", timestamp: 1 },
  };
  const events = await read(
    ["session_forked", { parentSessionId: "p", parentSequence: 4, checkpointId: "c", checkpointName: "n" }],
    ["provider_switch", { provider: "q", model: "n" }],
    ["content", { content: answer }],
  );
  expect(sessionsIn(events)).toMatchObject([{ parentExternalId: "p" }]);
  expect(messagesIn(events)[0]?.metadata).toEqual({
    provider: "q",
    model: "n",
    llxprt: { metadata: { usage, model: "exact", timestamp: 1 } },
  });
});

test("newer lines that number or shorten contents say nothing, and one that inserts a content does", async () => {
  const inserted = { content: { speaker: "tool", blocks: [{ type: "text", text: "late" }] }, afterSeq: 1 };
  const events = await read(
    said("human", "a"),
    ["chronology_bind", { rowIndex: 0 }],
    ["synthetic_insert", inserted],
    ["density_mutation", { removedSeqs: [1], replacements: [] }],
    ["semantic_media_purge", { history: [] }],
    ["compression_detail", {}],
  );
  expect(messagesIn(events).map(({ parts }) => parts?.[0]?.text)).toEqual(["a", "late"]);
  expect(warningsIn(events)).toEqual([]);
});

test("what nobody knows is reported by line", async () => {
  const contents = [{ speaker: "cat", blocks: [] }, { speaker: "ai" }, null];
  const lines = contents.map((content): [string, unknown] => ["content", { content }]);
  expect(warningsIn(await read(["dream", {}], ...lines))).toEqual([
    [2, 'unknown type of line: "dream"'],
    [3, 'speaker: llxprt-code has no speaker "cat"'],
    [4, "blocks: it is not a list"],
    [5, "content: expected an object"],
  ]);
});
