import type { UIMessage } from "ai";
import { CoppiceChats } from "../../src/frameworks/ai-sdk.ts";
import type { Store } from "../../src/index.ts";
import type { Work } from "./framework-child.ts";

export const CHAT_ID = "shared";

export function saidBy(name: string, number: number): UIMessage {
  return { id: `${name}-${number}`, role: "user", parts: [{ type: "text", text: `${name} says ${number}` }] };
}

/** Each piece adds one message to the chat. */
export async function aiSdkWork(store: Store, name: string): Promise<Work> {
  const chats = new CoppiceChats(store);
  return async (number) =>
    store.atomically(() => chats.saveMessages(CHAT_ID, [...chats.loadMessages(CHAT_ID), saidBy(name, number)]));
}
