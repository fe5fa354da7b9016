import { createEvent, createEventActions } from "@google/adk";
import { CoppiceSessionService } from "../../src/frameworks/adk.ts";
import type { Store } from "../../src/index.ts";
import type { Work } from "./framework-child.ts";

export const SHARED = { appName: "app", userId: "ada", sessionId: "shared" };

/** Each piece appends an event that says something and changes a key of each scope. The session must be there. */
export async function adkWork(store: Store, name: string): Promise<Work> {
  const service = new CoppiceSessionService(store);
  const session = (await service.getSession(SHARED))!;
  return async (number) => {
    const stateDelta = { [`${name}-${number}`]: 1, [`user:${name}-${number}`]: 1, [`app:${name}-${number}`]: 1 };
    const content = { role: "user", parts: [{ text: `${name} says ${number}` }] };
    const actions = createEventActions({ stateDelta });
    await service.appendEvent({
      session,
      event: createEvent({ author: name, timestamp: 1_000 + number, content, actions }),
    });
  };
}
