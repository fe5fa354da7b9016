import type { AgentInputItem } from "@openai/agents-core";
import { CoppiceSession } from "../../src/frameworks/openai-agents.ts";
import type { Store } from "../../src/index.ts";
import type { Work } from "./framework-child.ts";

export const SESSION_ID = "shared";

export function saidBy(name: string, number: number, tries: number): AgentInputItem {
  return { role: "user", content: [{ type: "input_text", text: `${name} says ${number}, try ${tries}` }] };
}

/** Each piece appends an item, and replaces it by its second try if nobody else came between. */
export async function openaiAgentsWork(store: Store, name: string): Promise<Work> {
  const session = new CoppiceSession(store, { sessionId: SESSION_ID });
  return async (number) => {
    const first = saidBy(name, number, 1);
    await session.applyHistoryTransaction({
      operationId: `${name}-${number}`,
      transaction: { type: "append_items", items: [first] },
    });
    await session
      .applyHistoryTransaction({
        operationId: `${name}-${number}-again`,
        transaction: { type: "replace_suffix", expectedSuffix: [first], replacement: [saidBy(name, number, 2)] },
      })
      .catch((error: Error) => {
        if (!error.message.includes("suffix no longer matches")) throw error;
      });
  };
}
