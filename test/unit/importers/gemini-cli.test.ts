import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { geminiCli } from "../../../src/importers/gemini-cli/importer.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { collect, eventsOf, eventsOfLines, fileOf, messagesIn, sessionsIn, warningsIn } from "./read.ts";

const META = { sessionId: "s", projectHash: "h", startTime: "2026-03-01T00:00:00Z" };
const user = (id: string, content: unknown) => ({ id, type: "user", timestamp: "2026-03-01T00:00:01Z", content });
const gemini = (id: string, content: unknown, more: object = {}) => ({ ...user(id, content), type: "gemini", ...more });
const call = (id: string, more: object = {}) => ({ id, name: "ls", args: { path: id }, status: "executing", ...more });
const done = (id: string, output: string) => ({
  ...call(id, { status: "success" }),
  result: [{ functionResponse: { id, name: "ls", response: { output } } }],
});

function read(...records: object[]) {
  return eventsOfLines(geminiCli, [META, ...records]);
}

async function saidIn(...records: object[]) {
  return messagesIn(await read(...records)).map(({ id, role, parts }) => [
    id,
    role,
    ...parts!.map((part) => (part.type === "tool_call" ? part.toolCallId : (part.text ?? part.content))),
  ]);
}

describe("a record that is written again", () => {
  test("adds what came late: usage, and each call with its result", async () => {
    const events = await read(
      user("u", "hi"),
      gemini("g", "I look."),
      gemini("g", "I look.", { tokens: { total: 7 }, model: "m" }),
      gemini("g", "I look.", { tokens: { total: 7 }, model: "m", toolCalls: [call("c1"), call("c2")] }),
      { $set: { lastUpdated: "2026-03-01T00:00:02Z" } },
      gemini("g", "I look.", { tokens: { total: 7 }, model: "m", toolCalls: [done("c1", "one"), done("c2", "two")] }),
      gemini("g2", "Done."),
    );
    expect(messagesIn(events)).toMatchObject([
      { id: "u", role: "user" },
      {
        id: "g",
        role: "assistant",
        metadata: { tokens: { total: 7 }, model: "m" },
        parts: [{ type: "text", text: "I look." }],
      },
      { id: "g/c1", role: "assistant", parts: [{ toolCallId: "c1" }] },
      { id: "g:c1", role: "tool", parts: [{ toolCallId: "c1", content: "one" }], metadata: { status: "success" } },
      { id: "g/c2", role: "assistant", parts: [{ toolCallId: "c2" }] },
      { id: "g:c2", role: "tool", parts: [{ toolCallId: "c2", content: "two" }] },
      { id: "g2" },
    ]);
  });

  test("adds to its conversation what it says after others have spoken", async () => {
    expect(
      await saidIn(gemini("g", "One."), user("u", "Go on."), gemini("g", "One.", { toolCalls: [done("c", "late")] })),
    ).toEqual([
      ["g", "assistant", "One."],
      ["u", "user", "Go on."],
      ["g/c", "assistant", "c"],
      ["g:c", "tool", "late"],
    ]);
  });

  test("keeps a call whose id another record used before", async () => {
    const records = [
      gemini("g1", "", { toolCalls: [done("call_0", "a")] }),
      gemini("g2", "", { toolCalls: [done("call_0", "b")] }),
    ];
    expect(await saidIn(...records)).toEqual([
      ["g1/call_0", "assistant", "call_0"],
      ["g1:call_0", "tool", "a"],
      ["g2/call_0", "assistant", "call_0"],
      ["g2:call_0", "tool", "b"],
    ]);
  });

  test("has no result while its tool runs, and its status where the tool said nothing", async () => {
    const calls = [call("c1"), call("c2", { status: "cancelled" })];
    expect(await saidIn(gemini("g", "", { toolCalls: calls }))).toEqual([
      ["g/c1", "assistant", "c1"],
      ["g/c2", "assistant", "c2"],
      ["g:c2", "tool", "cancelled"],
    ]);
  });

  test("brings a prompt that was typed while its tool ran behind the result", async () => {
    const running = gemini("g", "", { toolCalls: [call("c")] });
    const records = [running, user("u", "hurry"), gemini("g", "", { toolCalls: [done("c", "ok")] })];
    expect((await saidIn(...records)).map(([id]) => id)).toEqual(["g/c", "g:c", "u"]);
  });
});

describe("what the API said", () => {
  const shown = (id: string | undefined, thoughtSignature: string) => {
    return { functionCall: { ...(id !== undefined && { id }), name: "ls", args: {} }, thoughtSignature };
  };

  test("is kept with its signature, and a call that is listed beside it comes once, with or without its id", async () => {
    const content = [shown("c1", "YQ=="), shown(undefined, "Yg==")];
    const events = await read(gemini("g", content, { toolCalls: [done("c1", "one"), done("c2", "two"), call("c3")] }));
    const parts = messagesIn(events).flatMap((message) => message.parts ?? []);
    expect(parts.filter(({ type }) => type === "tool_call")).toEqual([
      { type: "tool_call", toolCallId: "c1", name: "ls", args: {}, gemini: { thoughtSignature: "YQ==" } },
      { type: "tool_call", toolCallId: "c2", name: "ls", args: {}, gemini: { thoughtSignature: "Yg==" } },
      { type: "tool_call", toolCallId: "c3", name: "ls", args: { path: "c3" } },
    ]);
  });

  test("is a result with the files behind it, each for its call", async () => {
    const image = { inlineData: { mimeType: "image/png", data: "QQ==" } };
    const looked = done("c1", "seen");
    const failed = call("c2", { status: "error", result: [{ functionResponse: { response: { error: "no" } } }] });
    const events = await read(
      gemini("g", "", { toolCalls: [{ ...looked, result: [...looked.result, image] }, failed] }),
    );
    expect(messagesIn(events).filter(({ role }) => role === "tool")).toMatchObject([
      {
        id: "g:c1",
        parts: [
          {
            content: [
              { type: "text", text: "seen" },
              { type: "file", data: "QQ==" },
            ],
          },
        ],
      },
      { id: "g:c2", parts: [{ toolCallId: "c2", name: "ls", content: "no", isError: true }] },
    ]);
  });
});

describe("$rewindTo", () => {
  test("leaves what it takes back, and lets what follows begin a fork after the last message kept", async () => {
    const events = await read(
      user("u1", "a"),
      gemini("g1", "", { toolCalls: [done("c", "x")] }),
      user("u2", "b"),
      gemini("g2", "wrong"),
      { $rewindTo: "u2" },
      user("u3", "c"),
      gemini("g3", "right"),
      { $rewindTo: "u3" },
      user("u4", "d"),
    );
    expect(sessionsIn(events)).toMatchObject([
      { externalId: "s" },
      { externalId: "s/fork-u3", parentExternalId: "s", forkedAfter: "g1:c" },
      { externalId: "s/fork-u4", parentExternalId: "s", forkedAfter: "g1:c" },
    ]);
    const places = events.flatMap((event) => (event.kind === "message" ? [[event.session, event.message.id]] : []));
    expect(places).toEqual([
      ["s", "u1"],
      ["s", "g1/c"],
      ["s", "g1:c"],
      ["s", "u2"],
      ["s", "g2"],
      ["s/fork-u3", "u3"],
      ["s/fork-u3", "g3"],
      ["s/fork-u4", "u4"],
    ]);
  });

  test("to what is not there takes back everything, and to the end makes no fork", async () => {
    const all = await read(user("u1", "a"), { $rewindTo: "gone" }, user("u2", "b"));
    expect(sessionsIn(all)).toMatchObject([{ externalId: "s" }, { externalId: "s/fork-u2", parentExternalId: "s" }]);
    expect(sessionsIn(all)[1]).not.toHaveProperty("forkedAfter");
    expect(sessionsIn(await read(user("u1", "a"), user("u2", "b"), { $rewindTo: "u2" }))).toHaveLength(1);
  });
});

describe("a checkpoint", () => {
  const before = [
    user("u1", "first"),
    gemini("g1", "", { toolCalls: [done("c", "long output")] }),
    user("u2", "second"),
  ];

  test("of a compression adds its summary, marked, and takes nothing away", async () => {
    const events = await read(
      ...before,
      { $set: { messages: [user("s1", "<state_snapshot>"), gemini("s2", "Got it."), user("u2", "second")] } },
      gemini("g2", "third"),
    );
    expect(messagesIn(events).map(({ id, metadata }) => [id, metadata?.isCompactSummary])).toEqual([
      ["u1", undefined],
      ["g1/c", undefined],
      ["g1:c", undefined],
      ["u2", undefined],
      ["s1", true],
      ["s2", true],
      ["g2", undefined],
    ]);
  });

  test("that repeats or masks what is known adds nothing, whatever ids it uses", async () => {
    const masked = gemini("g1", "", { toolCalls: [done("c", "[masked]")] });
    const answer = user("turn-9", [{ functionResponse: { id: "c", name: "ls", response: { output: "[masked]" } } }]);
    const events = await read(...before, {
      $set: { messages: [user("x1", "first"), masked, answer, user("u2", "second")] },
    });
    expect(messagesIn(events).map(({ id }) => id)).toEqual(["u1", "g1/c", "g1:c", "u2"]);
  });

  test("is all there is where nothing stands before it", async () => {
    expect(await saidIn({ $set: { messages: before } })).toEqual([
      ["u1", "user", "first"],
      ["g1/c", "assistant", "c"],
      ["g1:c", "tool", "long output"],
      ["u2", "user", "second"],
    ]);
  });

  test("is what a later rewind counts from", async () => {
    const events = await read(
      ...before,
      { $set: { messages: [user("s1", "summary"), user("u2", "second")] } },
      { $rewindTo: "u2" },
      user("u3", "again"),
    );
    expect(sessionsIn(events)[1]).toMatchObject({ externalId: "s/fork-u3", forkedAfter: "s1" });
  });
});

describe("what is said about a session", () => {
  test("comes from the folder, the first line and the title that came last", async () => {
    const path = "/home/mira/.gemini/tmp/tidewatch/chats/session-1.jsonl";
    const text = [META, user("u", "a"), user("v", "b"), { $set: { summary: "Tides" } }]
      .map((line) => JSON.stringify(line))
      .join("\n");
    const events = await collect(geminiCli.read(fileOf(text, 100, path)));
    expect(sessionsIn(events)).toEqual([
      {
        externalId: "s",
        source: "gemini-cli",
        project: "tidewatch",
        metadata: { projectHash: "h" },
        createdAtMs: Date.UTC(2026, 2, 1, 0, 0, 1),
      },
    ]);
    expect(events).toContainEqual({ kind: "title", session: "s", title: "Tides" });
  });

  test("comes from the folder that the program noted beside its recordings", async () => {
    const slug = temporaryFolder();
    mkdirSync(join(slug, "chats"));
    writeFileSync(join(slug, ".project_root"), "/srv/tidewatch\n");
    const text = [META, user("u", "a")].map((line) => JSON.stringify(line)).join("\n");
    const [session] = sessionsIn(
      await collect(geminiCli.read(fileOf(text, 100, join(slug, "chats", "session-1.jsonl")))),
    );
    expect(session).toMatchObject({ folder: "/srv/tidewatch", metadata: { cwd: "/srv/tidewatch", projectHash: "h" } });
    expect(session).not.toHaveProperty("project");
  });

  test("makes a subagent's the child of the session in whose folder it stands", async () => {
    const path = `/home/mira/.gemini/tmp/${"f".repeat(64)}/chats/parent-1/sub.jsonl`;
    const lines = [{ ...META, kind: "subagent", directories: ["/srv/tidewatch"] }, user("u", "a")];
    const file = fileOf(lines.map((line) => JSON.stringify(line)).join("\n"), 100, path);
    expect(sessionsIn(await collect(geminiCli.read(file)))).toMatchObject([
      { externalId: "parent-1/s", parentExternalId: "parent-1", project: "tidewatch" },
    ]);
  });
});

test("notices for the screen are left out in silence, unknown records with a warning", async () => {
  const events = await read({ id: "i", type: "info", content: "Hello" }, { id: "x", type: "dream" }, { y: 1 });
  expect(warningsIn(events)).toEqual([
    [3, 'unknown type of record: "dream"'],
    [4, "unknown record: y"],
  ]);
});

test("the older kind, cut off in the middle, gives the messages before", async () => {
  const whole = JSON.stringify({ ...META, messages: [user("u1", "a"), gemini("g1", "b"), user("u2", "c")] }, null, 2);
  const events = await eventsOf(geminiCli, whole.slice(0, -60));
  expect(messagesIn(events).map(({ id }) => id)).toEqual(["u1", "g1"]);
  expect(warningsIn(events).map(([line]) => line)).toEqual([18]);
});

test("a recording that has only the state of the program gives nothing until something is said in it", async () => {
  const start = { sessionId: "s", projectHash: "h", startTime: "2026-03-05T11:59:00Z", kind: "main" };
  const context = { id: "c", type: "user", content: [{ text: "<session_context>\nGemini CLI\n</session_context>" }] };
  const said = { id: "u", type: "user", content: [{ text: "tune the harp" }] };
  expect(await eventsOfLines(geminiCli, [start, context])).toEqual([]);
  const messages = messagesIn(await eventsOfLines(geminiCli, [start, context, said]));
  expect(messages.map(({ id, parts }) => [id, parts![0]!.injected])).toEqual([
    ["c", true],
    ["u", undefined],
  ]);
});
