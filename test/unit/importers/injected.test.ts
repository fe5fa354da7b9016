import { describe, expect, test } from "vitest";
import { claudeCode } from "../../../src/importers/claude-code/importer.ts";
import { codex } from "../../../src/importers/codex/importer.ts";
import { geminiCli } from "../../../src/importers/gemini-cli/importer.ts";
import { injected, markedParts } from "../../../src/importers/injected.ts";
import { assistant, line, user } from "./claude-code/lines.ts";
import { eventsOfLines, messagesIn, saidIn, warningsIn } from "./read.ts";

const text = (words: string) => ({ type: "text" as const, text: words });

describe("what a program writes into the user's message", () => {
  // What the program wrote stands between « and ».
  test.each([
    "«<hook_context>from a hook</hook_context>\n\n»which region?",
    "Look. «<ide_opened_file>a.md</ide_opened_file>»",
    "«<command-name>/review</command-name>\n»<command-args>the lock</command-args>",
    "«<command-name>/exit</command-name>\n<command-args></command-args>»",
    "«/exit»",
    "«<coppice-memory>\nA record\n</coppice-memory>\n»which region?",
    "«<hook_context>&lt;coppice-memory&gt;</hook_context>\n\n»which region?",
    "«# AGENTS.md instructions for /srv\n\nBe brief.»",
    "Use </hook_context> and <hook_context> there.",
    "Exit the loop.",
    "«/»",
    "«/review-plan»",
    "«/model opus»",
    "«/compact keep what we said about the gears»",
    "/login endpoint returns an error, please mend it",
    "/fix the lock",
    "/srv/tide.c is torn",
    "«<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args>keep the gears</command-args>»",
    "«<command-message>model</command-message>\n<command-name>/model</command-name>\n<command-args>opus</command-args>»",
    "«---\ndescription: Check it\n---\n\n## User Input\n\n```text\n»align the sundial«\n```\n\nYou **MUST** consider the user input before proceeding (if not empty).\n\n1. Run it.\n»",
    "«---\nname: plan\ndescription: Check it\n---\n\n»Check the plan.",
    "«## User Input\n\n```text\n$ARGUMENTS\n```\n\nYou MUST consider the user input.»",
    "--- a/net.c\n+++ b/net.c\nWhat does it change?",
    "«<task-notification>\n<status>done</status>\n</task-notification>\nRead the output file to retrieve the result: /t/1\n»Go on",
    "«<bash-input>make tide</bash-input>»",
    "«<bash-stdout>high</bash-stdout><bash-stderr></bash-stderr>»",
    '«<teammate-message teammate_id="b" color="blue">\nthe net is torn\n</teammate-message>\n\n»Mend it',
    "«<quota_reminder level='2'>low</quota_reminder> »Stop",
    "Mend the net\n«<environment_details>\n# Open\nnet.c\n</environment_details>»",
    "«[Request interrupted by user]»",
    "«[Request interrupted by user for tool use]\n»Use the other net",
    "It says [Request interrupted by user] again.",
    "«# Context from my IDE setup:\n\n## Active file: net.c\n\n## My request for Codex:\n»Mend the net\n\n## My request for Codex:\n",
    "«# Files mentioned by the user:\n\n## net.png: /t/net.png\n\n## My request for Codex:\n\n»What is torn?",
    "«# Context from my IDE setup:\n\n## Open tabs:\n- net.c»",
    "# My plan\n\nMend the net.",
    "<task_details>Mend the net</task_details>",
  ])("%s", (marked) => {
    const whole = marked.replaceAll(/[«»]/g, "");
    const parts = markedParts([text(whole)]);
    expect(parts.map((part) => (part.injected === true ? `«${part.text}»` : part.text)).join("")).toBe(marked);
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
  const kinds = ["date", "environment", "model", "prompt_snapshot", "remote_session_change", "session_context"];
  const requests = ["api-request", "api-request-blob", "api-request-shape", "tools-used"];
  const attached = (attachment: object, index: number) => line("attachment", `a${index}`, { attachment });
  expect(
    await marksIn(claudeCode, [
      ...requests.map((type) => line(type, undefined, {})),
      ...kinds.map((type, index) => attached({ type }, index)),
      attached({ type: "hook_additional_context", content: ["from a hook"] }, 9),
      user("u1", "a skill", { isMeta: true }),
      user("u2", "my words"),
      line("system", "u3", { subtype: "compact_boundary", content: "Conversation compacted" }),
    ]),
  ).toEqual(["injected,injected", "injected", "said", "injected"]);
});

describe("Codex", () => {
  const of = (type: string, payload: object) => ({ timestamp: "2026-11-01T00:00:00Z", type, payload });
  const said = (role: string, words: string) =>
    of("response_item", { type: "message", role, content: [{ type: "input_text", text: words }] });
  const META = of("session_meta", { id: "s", cwd: "/srv" });

  test("messages of the developer, and about the environment", async () => {
    const settings = of("event_msg", { type: "thread_settings_applied" });
    const environment = said("user", "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>");
    const lines = [META, settings, said("developer", "from a hook"), environment, said("user", "my words")];
    expect(await marksIn(codex, lines)).toEqual(["injected", "injected", "said"]);
  });

  test("what an editor told before the user's words, also where an event has only the words", async () => {
    const whole = "# Context from my IDE setup:\n\n## Open tabs:\n- net.c\n\n## My request for Codex:\nMend the net\n";
    for (const message of [whole, "Mend the net"]) {
      const told = of("event_msg", { type: "user_message", message });
      const lines = [META, said("user", whole), told, of("event_msg", { type: "task_complete" })];
      expect(await marksIn(codex, lines)).toEqual(["injected,said"]);
    }
  });
});

test("Gemini CLI: the context of a hook before the user's words", async () => {
  const context = "<hook_context>from a hook</hook_context>";
  const content = [{ text: `${context}\n\nmy words` }, { text: context }];
  const lines = [
    { sessionId: "s", projectHash: "h", startTime: "2026-11-01T00:00:00Z" },
    { id: "u", type: "user", content },
  ];
  expect(await marksIn(geminiCli, lines)).toEqual(["injected,said,injected"]);
});

test("takes openings that nothing closes, in linear time", () => {
  const text = "<command-name><hook_context>".repeat(50_000);
  expect(markedParts([{ type: "text", text }])).toEqual([{ type: "text", text }]);
});

test("what an agent wrote to a subagent before its first reply is no word of the user", async () => {
  const lines = [
    user("u1", "Look for the leak.", { isSidechain: true, agentId: "a", sessionId: "s" }),
    assistant("r1", "m1", [text("Found it.")], { isSidechain: true, agentId: "a", sessionId: "s" }),
    user("u2", "Stop.", { isSidechain: true, agentId: "a", sessionId: "s" }),
  ];
  expect(saidIn(await eventsOfLines(claudeCode, lines))).toEqual([
    "user: [Look for the leak.]",
    "assistant: Found it.",
    "user: Stop.",
  ]);
});
