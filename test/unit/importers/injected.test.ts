import { describe, expect, test } from "vitest";
import { claudeCode } from "../../../src/importers/claude-code/importer.ts";
import { codex } from "../../../src/importers/codex/importer.ts";
import { geminiCli } from "../../../src/importers/gemini-cli/importer.ts";
import { injected, markedParts, unmarkedParts } from "../../../src/importers/injected.ts";
import { eventsOfLines, messagesIn, warningsIn } from "./read.ts";

const text = (words: string) => ({ type: "text" as const, text: words });

describe("what a program writes into the user's message", () => {
  test.each([
    [
      "<hook_context>from a hook</hook_context>\n\nwhich region?",
      ["<hook_context>from a hook</hook_context>\n\n"],
      ["which region?"],
    ],
    ["Look. <ide_opened_file>a.md</ide_opened_file>", ["<ide_opened_file>a.md</ide_opened_file>"], ["Look. "]],
    [
      "<command-name>/review</command-name>\n<command-args>the lock</command-args>",
      ["<command-name>/review</command-name>\n"],
      ["<command-args>the lock</command-args>"],
    ],
    [
      "<command-name>/exit</command-name>\n<command-args></command-args>",
      ["<command-name>/exit</command-name>\n<command-args></command-args>"],
      [],
    ],
    ["/exit", ["/exit"], []],
    [
      "<coppice-memory>\nA record\n</coppice-memory>\nwhich region?",
      ["<coppice-memory>\nA record\n</coppice-memory>\n"],
      ["which region?"],
    ],
    [
      "<hook_context>&lt;coppice-memory&gt;</hook_context>\n\nwhich region?",
      ["<hook_context>&lt;coppice-memory&gt;</hook_context>\n\n"],
      ["which region?"],
    ],
    ["# AGENTS.md instructions for /srv\n\nBe brief.", ["# AGENTS.md instructions for /srv\n\nBe brief."], []],
    ["Use </hook_context> and <hook_context> there.", [], ["Use </hook_context> and <hook_context> there."]],
    ["Exit the loop.", [], ["Exit the loop."]],
    [
      "<task-notification>\n<status>done</status>\n</task-notification>\nRead the output file to retrieve the result: /t/1\nGo on",
      [
        "<task-notification>\n<status>done</status>\n</task-notification>\nRead the output file to retrieve the result: /t/1\n",
      ],
      ["Go on"],
    ],
    ["<bash-input>make tide</bash-input>", ["<bash-input>make tide</bash-input>"], []],
    [
      "<bash-stdout>high</bash-stdout><bash-stderr></bash-stderr>",
      ["<bash-stdout>high</bash-stdout><bash-stderr></bash-stderr>"],
      [],
    ],
    [
      '<teammate-message teammate_id="b" color="blue">\nthe net is torn\n</teammate-message>\n\nMend it',
      ['<teammate-message teammate_id="b" color="blue">\nthe net is torn\n</teammate-message>\n\n'],
      ["Mend it"],
    ],
    [
      "<quota_reminder level='2'>low</quota_reminder> Stop",
      ["<quota_reminder level='2'>low</quota_reminder> "],
      ["Stop"],
    ],
    [
      "Mend the net\n<environment_details>\n# Open\nnet.c\n</environment_details>",
      ["<environment_details>\n# Open\nnet.c\n</environment_details>"],
      ["Mend the net\n"],
    ],
    ["[Request interrupted by user]", ["[Request interrupted by user]"], []],
    [
      "[Request interrupted by user for tool use]\nUse the other net",
      ["[Request interrupted by user for tool use]\n"],
      ["Use the other net"],
    ],
    ["It says [Request interrupted by user] again.", [], ["It says [Request interrupted by user] again."]],
    [
      "# Context from my IDE setup:\n\n## Active file: net.c\n\n## My request for Codex:\nMend the net\n\n## My request for Codex:\n",
      ["# Context from my IDE setup:\n\n## Active file: net.c\n\n## My request for Codex:\n"],
      ["Mend the net\n\n## My request for Codex:\n"],
    ],
    [
      "# Files mentioned by the user:\n\n## net.png: /t/net.png\n\n## My request for Codex:\n\nWhat is torn?",
      ["# Files mentioned by the user:\n\n## net.png: /t/net.png\n\n## My request for Codex:\n\n"],
      ["What is torn?"],
    ],
    [
      "# Context from my IDE setup:\n\n## Open tabs:\n- net.c",
      ["# Context from my IDE setup:\n\n## Open tabs:\n- net.c"],
      [],
    ],
    ["# My plan\n\nMend the net.", [], ["# My plan\n\nMend the net."]],
    ["<task_details>Mend the net</task_details>", [], ["<task_details>Mend the net</task_details>"]],
  ])("%s", (whole, program, person) => {
    const parts = markedParts([text(whole)]);
    const of = (isInjected: boolean) =>
      parts.filter((part) => (part.injected === true) === isInjected).map((part) => part.text);
    expect([of(true), of(false)]).toEqual([program, person]);
    expect(parts.map((part) => part.text).join("")).toBe(whole);
    expect(unmarkedParts(parts)).toEqual([text(whole)]);
  });

  test("is marked once, and files are left alone", () => {
    const parts = [...injected([text("x")]), { type: "file" as const, mediaType: "image/png" }];
    expect(markedParts(parts)).toEqual(parts);
  });
});

async function marksIn(importer: Parameters<typeof eventsOfLines>[0], lines: readonly object[]) {
  const events = await eventsOfLines(importer, lines);
  expect(warningsIn(events)).toEqual([]);
  return messagesIn(events).map(({ parts }) =>
    parts!.map((part) => (part.injected === true ? "injected" : "said")).join(),
  );
}

test("Claude Code: hooks, lines of the program, and lines about requests", async () => {
  let count = 0;
  const line = (type: string, fields: object) => {
    count += 1;
    return {
      type,
      uuid: `u${count}`,
      parentUuid: count === 1 ? null : `u${count - 1}`,
      sessionId: "s",
      timestamp: "2026-11-01T00:00:00Z",
      ...fields,
    };
  };
  const kinds = ["date", "environment", "model", "prompt_snapshot", "remote_session_change", "session_context"];
  const user = (content: string, more = {}) => line("user", { message: { role: "user", content }, ...more });
  expect(
    await marksIn(claudeCode, [
      ...["api-request", "api-request-blob", "api-request-shape", "tools-used"].map((type) => ({
        type,
        sessionId: "s",
      })),
      ...kinds.map((type) => line("attachment", { attachment: { type } })),
      line("attachment", { attachment: { type: "hook_additional_context", content: ["from a hook"] } }),
      user("a skill", { isMeta: true }),
      user("my words"),
      line("system", { subtype: "compact_boundary", content: "Conversation compacted" }),
    ]),
  ).toEqual(["injected,injected", "injected", "said", "injected"]);
});

test("Codex: messages of the developer, and about the environment", async () => {
  const line = (type: string, payload: object) => ({ timestamp: "2026-11-01T00:00:00Z", type, payload });
  const said = (role: string, words: string) =>
    line("response_item", { type: "message", role, content: [{ type: "input_text", text: words }] });
  expect(
    await marksIn(codex, [
      line("session_meta", { id: "s", cwd: "/srv" }),
      line("event_msg", { type: "thread_settings_applied" }),
      said("developer", "from a hook"),
      said("user", "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>"),
      said("user", "my words"),
    ]),
  ).toEqual(["injected", "injected", "said"]);
});

test("Codex: what an editor told before the user's words, also where an event has only the words", async () => {
  const line = (type: string, payload: object) => ({ timestamp: "2026-11-01T00:00:00Z", type, payload });
  const whole = "# Context from my IDE setup:\n\n## Open tabs:\n- net.c\n\n## My request for Codex:\nMend the net\n";
  for (const message of [whole, "Mend the net"]) {
    const lines = [
      line("session_meta", { id: "s", cwd: "/srv" }),
      line("response_item", { type: "message", role: "user", content: [{ type: "input_text", text: whole }] }),
      line("event_msg", { type: "user_message", message }),
      line("event_msg", { type: "task_complete" }),
    ];
    expect(await marksIn(codex, lines)).toEqual(["injected,said"]);
  }
});

test("Gemini CLI: the context of a hook before the user's words", async () => {
  const context = "<hook_context>from a hook</hook_context>";
  expect(
    await marksIn(geminiCli, [
      { sessionId: "s", projectHash: "h", startTime: "2026-11-01T00:00:00Z" },
      {
        id: "u",
        type: "user",
        timestamp: "2026-11-01T00:00:01Z",
        content: [{ text: `${context}\n\nmy words` }, { text: context }],
      },
    ]),
  ).toEqual(["injected,said,injected"]);
});

test("takes openings that nothing closes, in linear time", () => {
  const text = "<command-name><hook_context>".repeat(50_000);
  expect(markedParts([{ type: "text", text }])).toEqual([{ type: "text", text }]);
});
