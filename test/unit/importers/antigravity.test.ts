import { join } from "node:path";
import { expect, test } from "vitest";
import { antigravity } from "../../../src/importers/antigravity.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { collect, eventsOfLines, fileOf, jsonLines, messagesIn, put, sessionsIn, warningsIn } from "./read.ts";

const step = (step_index: number, source: string, type: string, more: object = {}) => {
  return { step_index, source, type, status: "DONE", created_at: "2026-03-05T09:00:00Z", ...more };
};
const asked = (text: string) =>
  step(0, "USER_EXPLICIT", "USER_INPUT", { content: `<USER_REQUEST>\n${text}\n</USER_REQUEST>\n<X>x</X>` });

test("a conversation has the id of its folder, and comes from the log whose texts are whole", async () => {
  const folder = join(temporaryFolder(), "brain", "9e779ff1", ".system_generated", "logs");
  const content = jsonLines([asked("Oil it.")]);
  const read = (name: string) => collect(antigravity.read(fileOf(content, 65_536, join(folder, name))));
  expect(sessionsIn(await read("transcript.jsonl"))).toMatchObject([{ externalId: "9e779ff1", source: "antigravity" }]);
  put(join(folder, "transcript_full.jsonl"), content);
  expect(await read("transcript.jsonl")).toEqual([]);
  expect(messagesIn(await read("transcript_full.jsonl"))).toHaveLength(1);
});

test("the folder is that of the first command, however late it comes", async () => {
  const command = (Cwd: string) => ({ tool_calls: [{ name: "run_command", args: { Cwd: JSON.stringify(Cwd) } }] });
  const events = await eventsOfLines(antigravity, [
    asked("Oil it."),
    step(1, "MODEL", "PLANNER_RESPONSE", { content: "I look." }),
    asked("Now."),
    step(3, "MODEL", "PLANNER_RESPONSE", command("docs")),
    step(4, "MODEL", "PLANNER_RESPONSE", command("/work/crane")),
    step(5, "MODEL", "PLANNER_RESPONSE", command("/tmp")),
  ]);
  expect(sessionsIn(events)).toMatchObject([{ folder: "/work/crane" }]);
  expect(messagesIn(events)).toHaveLength(6);
});

test("the words are those of the request, and what is said of a document", async () => {
  const events = await eventsOfLines(antigravity, [
    asked("Oil it."),
    step(1, "USER_EXPLICIT", "USER_INPUT", { content: "Comments: not there.\n<USER_REQUEST>\n\n</USER_REQUEST>" }),
    step(2, "USER_EXPLICIT", "USER_INPUT", { content: "Just so." }),
    step(3, "USER_EXPLICIT", "VIEW_FILE", { content: "The USER performed the following action: …" }),
  ]);
  const words = messagesIn(events).map(({ parts = [] }) => parts.filter(({ injected }) => injected !== true));
  expect(words).toMatchObject([
    [{ text: "\nOil it.\n" }],
    [{ text: "Comments: not there.\n" }],
    [{ text: "Just so." }],
    [],
  ]);
});

test("a result belongs to the next call of the newest response, and an argument is what its JSON says", async () => {
  const call = (name: string, args: object) => ({ name, args });
  const events = await eventsOfLines(antigravity, [
    step(1, "MODEL", "PLANNER_RESPONSE", { tool_calls: [call("lost", {})] }),
    step(2, "MODEL", "PLANNER_RESPONSE", {
      tool_calls: [
        call("run_command", { CommandLine: '"npm test"', WaitMsBeforeAsync: "500", Id: "12345678901234567890" }),
        call("view_file", { AbsolutePath: "/torn <truncated 3 bytes>" }),
      ],
    }),
    step(3, "MODEL", "RUN_COMMAND", { content: "ok" }),
    step(4, "MODEL", "VIEW_FILE", { content: "gone", status: "ERROR" }),
    step(5, "MODEL", "PLANNER_RESPONSE", { tool_calls: [call("view_file", {})] }),
    step(6, "SYSTEM", "ERROR_MESSAGE", { error: "no such file" }),
    step(7, "SYSTEM", "ERROR_MESSAGE", { error: "quota reached" }),
    { step_index: 8 },
  ]);
  expect(messagesIn(events).map(({ role, parts = [] }) => [role, ...parts])).toMatchObject([
    ["assistant", { name: "lost" }],
    [
      "assistant",
      { toolCallId: "step 2.0", args: { CommandLine: "npm test", WaitMsBeforeAsync: 500, Id: "12345678901234567890" } },
      { toolCallId: "step 2.1", args: { AbsolutePath: "/torn <truncated 3 bytes>" } },
    ],
    ["tool", { toolCallId: "step 2.0", content: "ok" }],
    ["tool", { toolCallId: "step 2.1", content: "gone", isError: true }],
    ["assistant", { toolCallId: "step 5.0" }],
    ["tool", { toolCallId: "step 5.0", content: "no such file", isError: true }],
    ["user", { text: "quota reached", injected: true }],
  ]);
  expect(warningsIn(events).map(([line]) => line)).toEqual([8]);
});
