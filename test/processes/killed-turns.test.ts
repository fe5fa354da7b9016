import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const CHILD = fileURLToPath(new URL("../support/killed-turn.ts", import.meta.url));

/**
 * Goal: what a framework or its model has handed over is stored before a tool runs.
 * Method: a turn of the real package runs in another process, and its tool kills the process.
 */
test.each([
  ["openai-agents", "whole"],
  ["openai-agents", "streamed"],
  ["ai-sdk", "whole"],
  ["ai-sdk", "streamed"],
  ["adk", "whole"],
])("promise 1: the question, the words and the call of a killed turn of %s are stored, %s", (framework, way) => {
  const path = temporaryPath();
  const child = spawnSync(process.execPath, [...process.execArgv, CHILD, framework, path, way], { encoding: "utf8" });
  expect(child).toMatchObject({ signal: "SIGKILL" });
  const store = openedStore(path);
  const { id } = store.sessions()[0]!;
  expect(store.resume(id).messages()).toMatchObject([
    { role: "user", parts: [{ type: "text", text: "When is high water?" }] },
    {
      role: "assistant",
      parts: [
        { type: "text", text: "I look it up in the almanac." },
        { type: "tool_call", toolCallId: "call-1", name: "tide", args: {} },
      ],
    },
  ]);
  expect(store.verify()).toMatchObject({ ok: true });
});
