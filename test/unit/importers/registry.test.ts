import { describe, expect, onTestFinished, test, vi } from "vitest";
import { DocumentScanner } from "../../../src/importers/document-scanner.ts";
import { IMPORT_FORMATS } from "../../../src/importers/formats.ts";
import { detectImporter, IMPORTERS, openImport } from "../../../src/importers/registry.ts";
import { slow } from "../../support/effort.ts";
import { collect, fileOf } from "./read.ts";

const NEUTRAL = '{"session":"s","role":"user","content":"hi"}\n';
const CLAUDE = '{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"hi"}}\n';

/** What a program writes that was made from another one, and has the lines but not the content of its format. */
const OFFSPRING =
  '{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","parts":[{"text":"hi"}]}}\n';

test("the formats that --format accepts are those of the importers", () => {
  expect(IMPORT_FORMATS).toEqual(["auto", ...IMPORTERS.map(({ name }) => name)]);
});

describe("detectImporter", () => {
  test.each([
    ["jsonl", NEUTRAL],
    ["jsonl", `\uFEFF${NEUTRAL}`],
    ["jsonl", `half a li\n${NEUTRAL}`],
    ["claude-code", CLAUDE],
    ["claude-code", '{"type":"summary","summary":"Title","leafUuid":"u"}\n'],
    ["claude-code", '{"type":"queue-operation","operation":"dequeue","sessionId":"s"}\n'],
    ["claude-code", '{"type":"custom-title","customTitle":"t","sessionId":"s"}\n'],
    ["claude-code", '{"type":"last-prompt","lastPrompt":"p","sessionId":"s"}\n'],
    ["claude-code", '{"type":"started","key":"v2:k","agentId":"a"}\n'],
    ["claude-code", `{"type":"brand-new","x":1}\n${CLAUDE}`],
    ["codex", '{"timestamp":"2026-01-01","type":"response_item","payload":{}}\n'],
    ["codex", '{"id":"x","timestamp":"2025-06-01T00:00:00Z","instructions":null,"git":{}}\n'],
    ["codex", '{"id":"x","timestamp":"2025-06-01T00:00:00Z","instructions":null}\n'],
    ["codex", '{"id":"x","timestamp":"2025-06-01T00:00:00Z"}\n{"record_type":"state"}\n'],
    ["gemini-cli", '{"messages":[{"id":"u","type":"user","content":"hi"},{"id":"g","type":"gemini","content":""}]}'],
    ["gemini-cli", '{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z"}\n'],
    ["gemini-cli", '{\n  "sessionId": "s",\n  "projectHash": "h",\n  "messages": [\n    {"id": "u", "ty'],
    ["llxprt", '{"v":1,"seq":1,"ts":"2026-01-01T00:00:00Z","type":"session_start","payload":{}}\n'],
    ["pi", '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/srv"}\n'],
    ["pi", '{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"hi"}}\n'],
    ["aider", "\n# aider chat started at 2026-01-01 09:00:00\n\n> Aider v0.86.1  \n"],
    ["copilot-cli", '{"type":"session.start","data":{"sessionId":"s","context":{"cwd":"/srv"}},"id":"a"}\n'],
    ["copilot-cli", '{"type":"user.message","data":{"content":"hi"},"id":"b","timestamp":"2026","parentId":"a"}\n'],
    ["chatgpt", '[{"title":"t","mapping":{"r":{"id":"r","message":null,"parent":null,"children":[]}}},{"ti'],
    ["chatgpt", '{"title":"t","mapping":{"r":{"id":"r","message":null,"parent":null,"children":[]}},"id":"c"}'],
    ["claude-ai", '[{"uuid":"c","name":"n","chat_messages":[{"uuid":"m","sender":"human","text":"hi"}]},{"uu'],
    ["claude-ai", '{\n"uuid":"c","name":"n","chat_messages":[{"uuid":"m","sender":"human","text":"hi"}]}'],
    ["ai-sdk", '[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]'],
    ["ai-sdk", '{"messages":[{"role":"assistant","content":"","toolInvocations":[]}]}'],
    ["copilot-chat", '{"version":3,"responderUsername":"GitHub Copilot","initialLocation":"panel","requests":[]}'],
    ["copilot-chat", '{"requests":[{"requestId":"r","message":{"text":"hi"},"response":[]}]}'],
    ["copilot-chat", '{"kind":0,"v":{"version":3,"creationDate":1,"sessionId":"s","requests":[]}}\n'],
    [undefined, '{"kind":0,"v":{"version":3,"requests":[]}}\n'],
    ["openai", '{"sessionId":"s","creationDate":1,"messages":[{"role":"user","content":"hi"}]}'],
    [undefined, '{"kind":0,"v":{}}\n'],
    ["copilot-chat", '{"kind":1,"k":["requests",0,"response"],"v":[]}\n'],
    ["cursor-agent", '{"type":"turn_ended","status":"success"}\n'],
    ["cursor-agent", '{"role":"user","message":{"content":[{"type":"text","text":"hi"}]}}\n'],
    ["omp", '{"type":"title","v":1,"title":"","pad":""}\n{"type":"session","version":3,"id":"s","cwd":"/w"}\n'],
    ["omp", '{"type":"session","version":3,"id":"s","title":"Hi","cwd":"/w"}\n'],
    ["openclaw", '{"type":"session","version":3,"id":"s","timestamp":"2026","cwd":"/h/.openclaw/workspace"}\n'],
    ["openclaw", '{"type":"custom","customType":"model-snapshot","data":{},"id":"b","parentId":"a"}\n'],
    ["openclaw", '{"type":"message","id":"b","parentId":null,"message":{"role":"assistant","provider":"openclaw"}}\n'],
    [
      "grok",
      '{"type":"system","content":"x"}\n{"type":"user","content":[{"type":"text","text":"hi"}],"prompt_index":0}\n',
    ],
    ["grok", '{"type":"assistant","content":"hi","model_id":"grok-9"}\n'],
    [undefined, '{"timestamp":1,"method":"session/update","params":{"update":{"sessionUpdate":"tool_call"}}}\n'],
    ["antigravity", '{"step_index":0,"source":"USER_EXPLICIT","type":"USER_INPUT","status":"DONE","content":"hi"}\n'],
    ["amp", '{"v":1,"id":"T-1","messages":[{"role":"user","messageId":0,"content":[{"type":"text","text":"hi"}]}]}'],
    ["kimi", '{"role":"_checkpoint","id":0}\n{"role":"user","content":"hi"}\n'],
    ["kimi", '{"timestamp":1.5,"message":{"type":"TurnBegin","payload":{"user_input":"hi"}}}\n'],
    ["droid", '{"type":"session_start","id":"s","title":"Hi","cwd":"/w"}\n'],
    ["goose", '{"working_dir":"/w"}\n{"role":"user","created":1,"content":[{"type":"text","text":"hi"}]}\n'],
    ["goose", '{"id":"1","conversation":[{"role":"user","created":1,"content":[{"type":"text","text":"hi"}]}]}'],
    ["goose", '{"role":"assistant","created":1,"content":[{"type":"toolRequest","id":"c","toolCall":{}}]}\n'],
    ["openai", '{"role":"user","created":1,"content":[{"type":"text","text":"hi"}]}\n'],
    ["openai", '{"messages":[{"role":"user","created":1,"content":[{"type":"text","text":"hi"}]}]}'],
    ["openai", '{"id":"T-5","messages":[{"id":"m","role":"user","content":[{"type":"text","text":"hi"}]}]}'],
    ["openai", '[{"role":"user","content":"hi"}]'],
    ["openai", '{"role":"user","content":"hi"}\n{"role":"assistant","content":"ho"}\n'],
    ["openai", '{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[]}]}'],
    ["jsonl", '{"session":"a","role":"user","type":"user","content":"hi","prompt_index":3}\n'],
    ["jsonl", '{"session":"a","role":"user","content":"hi","step_index":1,"source":"A","type":"B","status":"C"}\n'],
    ["jsonl", '{"session":"a","role":"user","content":"hi","type":"custom","customType":"openclaw.x"}\n'],
    [
      "openai",
      '{"role":"user","content":"hi"}\n{"role":"tool","type":"tool_result","tool_call_id":"c","content":"x"}\n',
    ],
    ["claude-history", '{"display":"hi","pastedContents":{},"timestamp":1790000000000,"project":"/w"}\n'],
    [undefined, '{"display":"hi","timestamp":1790000000000,"project":"/w"}\n'],
    ["gemini", '[{"role":"user","parts":[{"text":"hi"}]},{"role":"mod'],
    ["gemini", '{"history":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}],"authType":"x"}'],
    [
      "gemini",
      '{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"hi"}]}]}',
    ],
    [
      undefined,
      '[{"role":"user","parts":[{"kind":"text","text":"hi"}]},{"role":"user","parts":["hi"]},{"role":"user","parts":[]}]',
    ],
    ["opencode", '{"info":{},"messages":[{"info":{"id":"m","sessionID":"s"},"parts":[]}]}'],
    [undefined, "SQLite format 3\u0000 CREATE TABLE part (number text)"],
    ["openai", '[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t"}]}]'],
    ["openai", '[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"5"}],"ts":1}]'],
    ["openai", '{"sessionId":"s","messages":[{"role":"user","content":"hi"}]}'],
    ["gemini-cli", '{"sessionId":"s","messages":[{"type":"user","content":"hi"}]}'],
    ["gemini-cli", '{"sessionId":"s","messages":[]}'],
    [undefined, OFFSPRING],
    [undefined, '{"type":"system","subtype":"ui_beat","uuid":"u","sessionId":"s","payload":{}}\n'],
    [undefined, '{"v":1,"seq":1,"type":"tide","payload":{}}\n'],
    [undefined, '[{"role":"user","content":[{"type":"glyph","glyph":"lamp"}]}]'],
    [undefined, '[{"role":"king","content":"hi"}]'],
    [undefined, '{"name":"package","files":["dist"],"version":"1.0.0"}'],
    [undefined, '{"sessionId":"s","type":"user","content":[]}\n'],
    [undefined, '{"type":"summary","text":"of something else"}\n'],
    [undefined, "{}"],
    [undefined, ""],
  ])("says %s of %j", (format, head) => {
    expect(detectImporter(head)?.name).toBe(format);
  });
});

describe("openImport", () => {
  test("tells the format by the content and reads the whole file in it", async () => {
    const { format, events } = await openImport(fileOf(NEUTRAL, 5));
    expect(format).toBe("jsonl");
    expect((await collect(events)).map(({ kind }) => kind)).toEqual(["session", "message"]);
  });

  slow(test)("reads a first line of many megabytes, however much it holds", async () => {
    const content = Buffer.from(CLAUDE.replace('"hi"', JSON.stringify("long ".repeat(2_000_000))));
    const { format, events } = await openImport(fileOf(content, 1024 * 1024));
    expect(format).toBe("claude-code");
    expect((await collect(events)).map(({ kind }) => kind)).toEqual(["session", "message"]);
  });

  test("believes the caller who names the format, and reports each line that does not fit it", async () => {
    const { format, events } = await openImport(fileOf(CLAUDE + NEUTRAL), "jsonl");
    expect(format).toBe("jsonl");
    const [first, ...others] = await collect(events);
    expect(first).toEqual({ kind: "warning", line: 1, reason: "session: expected a name, as a string" });
    expect(others.map(({ kind }) => kind)).toEqual(["session", "message"]);
  });

  test.each([
    [
      "claude-code",
      OFFSPRING + OFFSPRING,
      "line 1: user line without message.content; found an object with type, uuid, parentUuid, sessionId, message",
    ],
    ["codex", OFFSPRING, 'line 1: unknown type of line: "user"; found an object with type, uuid, parentUuid'],
    ["openai", '{"version":3,"requests":[{"text":"hi"}]}', "nothing in it could be read as openai"],
    ["chatgpt", '{"version":3,"requests":[{"text":"hi"}]}', "line 1: expected a conversation"],
  ])("does not call a file %s of which that importer understands nothing", async (format, content, reason) => {
    const { events } = await openImport(fileOf(content), format);
    await expect(collect(events)).rejects.toThrow(reason);
  });

  test("finds no fault with a file of which only some lines are strange, or that only says what the program did", async () => {
    const snapshot = '{"type":"file-history-snapshot","messageId":"m","snapshot":{"a":1}}\n';
    const { events } = await openImport(fileOf(`{"type":"brand-new","sessionId":"s"}\n${snapshot}`));
    expect((await collect(events)).map(({ kind }) => kind)).toEqual(["warning"]);
  });

  test("says with what a file begins that no importer recognizes", async () => {
    const reasonOf = async (content: string): Promise<string> => {
      const error = await openImport(fileOf(content)).catch((thrown) => thrown);
      return /its beginning(.*) shows/.exec(error.message)?.[1] ?? "";
    };
    expect(await reasonOf(OFFSPRING)).toBe(", an object with type, uuid, parentUuid, sessionId, message,");
    expect(await reasonOf('{\n  "version": 3,\n  "turns": [\n    {"text":"hi"}\n  ]\n}')).toBe(
      ", an object with version, turns,",
    );
    expect(await reasonOf('[{"speaker":"ada"}]')).toBe(", an object with speaker,");
    expect(await reasonOf("dear diary")).toBe("");
  });

  test("finds nothing in a file of white space, and no fault with it", async () => {
    const { format, events } = await openImport(fileOf(" \n\n"));
    expect(format).toBeUndefined();
    expect(await collect(events)).toEqual([]);
  });

  test("refuses a format that nobody knows, before it opens the file", async () => {
    let opened = false;
    async function* chunks() {
      opened = true;
      yield Buffer.from(NEUTRAL);
    }
    await expect(openImport({ path: "x", chunks: chunks() }, "csv")).rejects.toThrow(
      `Expected format to be ${IMPORT_FORMATS.join(", ")}, got "csv".`,
    );
    expect(opened).toBe(false);
  });

  test("decodes no part of a long line more often than it must", async () => {
    const content = Buffer.from(`{"theme":"${"dark ".repeat(4_000_000)}"}`);
    const decode = vi.spyOn(Buffer.prototype, "toString");
    try {
      await openImport({ ...fileOf(content), isUncertain: true });
      const lengths = decode.mock.contexts
        .map((bytes) => (bytes as Buffer).length)
        .filter((length) => length > 100_000);
      expect(lengths).toEqual([256 * 1024, 8 * 1024 * 1024, content.length]);
    } finally {
      decode.mockRestore();
    }
  });

  test("refuses a file in no known format, and closes it", async () => {
    let closed = false;
    async function* chunks() {
      try {
        for (;;) yield Buffer.alloc(1_000_000, "dear diary\n");
      } finally {
        closed = true;
      }
    }
    const scan = vi.spyOn(DocumentScanner.prototype, "push");
    onTestFinished(() => scan.mockRestore());
    await expect(openImport({ path: "diary.txt", chunks: chunks() })).rejects.toThrow(
      `Cannot import diary.txt: its beginning shows none of the known formats (${IMPORT_FORMATS.slice(1).join(", ")}); if it is in one, name the format.`,
    );
    expect(scan).toHaveBeenCalledTimes(3); // a short head, a longer one, and what the error tells of it
    expect(closed).toBe(true);
  });

  test("says what to do with a ZIP archive", async () => {
    const archive = Buffer.concat([Buffer.from("PK\u0003\u0004"), Buffer.alloc(100)]);
    await expect(openImport(fileOf(archive))).rejects.toThrow("it is a ZIP archive; unpack it, and import the folder");
  });

  test("passes over a file that may be something else", async () => {
    const settings = await openImport({ ...fileOf('{"theme":"dark"}'), isUncertain: true });
    expect(settings.format).toBeUndefined();
    expect(await collect(settings.events)).toEqual([]);
  });
});
