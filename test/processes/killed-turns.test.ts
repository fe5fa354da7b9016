import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { CoppiceSaver } from "../../src/frameworks/langgraph.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const CHILD = fileURLToPath(new URL("../support/killed-turn.ts", import.meta.url));

/**
 * Goal: what a framework, its model or its tools have handed over is stored.
 * Method: a turn of the real package runs in another process. It calls two tools at once, and the second one kills the process.
 */
test.each([
  ["openai-agents", "whole"],
  ["openai-agents", "streamed"],
  ["ai-sdk", "whole"],
  ["ai-sdk", "streamed"],
  ["adk", "whole"],
  ["langgraph", "whole"],
  ["claude-agent-sdk", "whole"],
])(
  "promise 1: the question, the words, the calls and the results of a killed turn of %s are stored, %s",
  async (framework, way) => {
    const path = temporaryPath();
    const child = spawnSync(process.execPath, [...process.execArgv, CHILD, framework, path, way], { encoding: "utf8" });
    expect(child).toMatchObject({ signal: "SIGKILL" });
    const store = openedStore(path);
    const messages = store.resume(store.sessions()[0]!.id).messages();
    const result = { type: "tool_result", toolCallId: "call-1", content: "At 04:12." };
    // A graph gets a result with the next checkpoint; until then, it is a pending write. The Agent Development Kit hands over the
    // results of a step together.
    const hasResult = framework !== "langgraph" && framework !== "adk";
    expect(messages.flatMap(({ role, parts }) => parts.map((part) => ({ role, part })))).toMatchObject([
      { role: "user", part: { type: "text", text: "When is high water?" } },
      { role: "assistant", part: { type: "text", text: "I look it up in the almanac." } },
      { role: "assistant", part: { type: "tool_call", toolCallId: "call-1", name: "tide", args: {} } },
      { role: "assistant", part: { type: "tool_call", toolCallId: "call-2", name: "wind", args: {} } },
      ...(hasResult ? [{ role: "tool", part: result }] : []),
    ]);
    if (framework === "langgraph") {
      const newest = await new CoppiceSaver(store).getTuple({ configurable: { thread_id: "s", checkpoint_ns: "" } });
      expect(newest?.pendingWrites).toMatchObject([
        ["task-2", "messages", [{ content: "At 04:12.", tool_call_id: "call-1" }]],
      ]);
    }
    expect(store.verify()).toMatchObject({ ok: true });
  },
);
