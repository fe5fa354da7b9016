import { CoppiceSessionStore } from "../../src/frameworks/claude-agent-sdk.ts";
import type { Store } from "../../src/index.ts";
import type { Work } from "./framework-child.ts";

export const KEY = { projectKey: "p", sessionId: "5d3f2a10-0000-4000-8000-00000000000f" };

/** Each piece appends a prompt with its `uuid` and a line without one. */
export async function claudeAgentSdkWork(store: Store, name: string): Promise<Work> {
  const sessions = new CoppiceSessionStore(store);
  return (number) =>
    sessions.append(KEY, [
      {
        ...{ type: "user", uuid: `${name}-${number}`, parentUuid: null, sessionId: KEY.sessionId, cwd: "/work" },
        message: { role: "user", content: `${name} says ${number}` },
      },
      { type: "mode", mode: `${name}-${number}` },
    ]);
}
