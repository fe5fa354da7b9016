import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { CoppiceChats } from "../../src/frameworks/ai-sdk.ts";
import { CoppiceSessionStore } from "../../src/frameworks/claude-agent-sdk.ts";
import { CoppiceSession } from "../../src/frameworks/openai-agents.ts";
import { openStore } from "../../src/index.ts";
import { COUNT_WHOLE } from "../../test/support/framework-checks.ts";
import { workElsewhere } from "../../test/support/framework-process.ts";

const TEXT = "We looked at the deploy of the service in Oslo, and the latency was lower than in every other region. ";
const OF_TWO = 200;

/**
 * Measures appends to a session of the OpenAI Agents SDK and of the Claude Agent SDK, saves of a chat of the AI SDK, which gets all of
 * its messages each time, and what two processes lose.
 */
export async function measureAgentSdks(folder: string, messages: number): Promise<Record<string, number>> {
  const store = openStore(join(folder, "agent-sdks.db"));
  const session = new CoppiceSession(store, { sessionId: "openai" });
  const openaiAppendP50Ms = await medianMs(messages, (number) =>
    session.applyHistoryTransaction({
      operationId: String(number),
      transaction: { type: "append_items", items: [{ role: "user", content: `${number}: ${TEXT.repeat(3)}` }] },
    }),
  );
  const sessions = new CoppiceSessionStore(store);
  const key = { projectKey: "bench", sessionId: randomUUID() };
  const claudeAppendP50Ms = await medianMs(messages, (number) => {
    const message = { role: "user", content: `${number}: ${TEXT.repeat(3)}` };
    return sessions.append(key, [{ type: "user", uuid: randomUUID(), sessionId: key.sessionId, message }]);
  });
  const chats = new CoppiceChats(store);
  const chat: UIMessage[] = [];
  const aiSdkSaveP50Ms = await medianMs(messages, async (number) => {
    const role = number % 2 === 0 ? "user" : "assistant";
    chat.push({ id: `m${number}`, role, parts: [{ type: "text", text: `${number}: ${TEXT.repeat(3)}` }] });
    chats.saveMessages("ai-sdk", chat);
  });
  const start = performance.now();
  chats.saveMessages("ai-sdk", [
    ...chat,
    { id: "last", role: "user", parts: [{ type: "text", text: "Is that all?" }] },
  ]);
  const aiSdkSaveLastMs = performance.now() - start;
  store.close();

  let twoProcessesLost = 0;
  for (const framework of ["openai-agents", "claude-agent-sdk", "ai-sdk"] as const) {
    const path = join(folder, `two-${framework}.db`);
    await Promise.all(["ada", "bob"].map((name) => workElsewhere({ framework, path, name, count: OF_TWO })));
    const written = openStore(path);
    twoProcessesLost += 2 * OF_TWO - (await COUNT_WHOLE[framework](written));
    written.close();
  }
  return { openaiAppendP50Ms, claudeAppendP50Ms, aiSdkSaveP50Ms, aiSdkSaveLastMs, twoProcessesLost };
}

async function medianMs(count: number, run: (number: number) => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let number = 0; number < count; number++) {
    const start = performance.now();
    await run(number);
    times.push(performance.now() - start);
  }
  return times.sort((left, right) => left - right)[Math.floor(count / 2)]!;
}
