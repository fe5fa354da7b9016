import { estimatingTokenCounter } from "../../src/core/tokens.ts";
import type { Message, Session, Store } from "../../src/index.ts";
import { type GeminiChatOptions, geminiChat } from "../../src/models/gemini/chat.ts";
import { Chat, type ChatEvent } from "../../src/session/chat.ts";
import { TEST_KEY } from "./gemini-faults.ts";
import type { GeminiBody, GeminiServer } from "./gemini-server.ts";

/** A chat on the loopback server. It waits long, unless told otherwise: the machine may be busy. */
export function chatAt(
  server: GeminiServer,
  store: Store,
  session: Session,
  { tokensMax, ...options }: GeminiChatOptions & { tokensMax?: number } = {},
): Chat {
  const model = geminiChat({ apiKey: TEST_KEY, baseUrl: server.url, timeoutMs: 20_000, ...options });
  return new Chat(store, session, { model, tokenCounter: estimatingTokenCounter, tokensMax });
}

export async function eventsOf(turn: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> {
  const events: ChatEvent[] = [];
  for await (const event of turn) events.push(event);
  return events;
}

/** A turn to its end, and what was said in it. */
export async function replyOf(turn: AsyncIterable<ChatEvent>): Promise<string> {
  return (await eventsOf(turn)).map((event) => (event.kind === "text" ? event.text : "")).join("");
}

/** `role: text` of each message; calls as `call name`, results as `result` or `error`. */
export function linesOf(messages: readonly Pick<Message, "role" | "parts">[]): string[] {
  return messages.map(({ role, parts }) => {
    const words = parts.map((part) => {
      if (part.type === "text") return part.text;
      if (part.type === "tool_call") return `call ${part.name}`;
      if (part.type === "tool_result") return part.isError === true ? "error" : "result";
      return part.type;
    });
    return `${role}: ${words.join(", ")}`;
  });
}

/**
 * Why Gemini would answer a request with HTTP 400, by what it asks of contents: the user speaks first, neighbors of one role are
 * joined, though the user may speak after responses, a content with calls is followed by one with as many responses, of the
 * same names, and no part is empty.
 */
export function breachesOf({ contents = [] }: GeminiBody): string[] {
  const breaches: string[] = [];
  contents.forEach(({ role, parts }, index) => {
    const before = contents[index - 1];
    const isAfterResponses = namesOf(before?.parts ?? [], "functionResponse").length > 0;
    if (index === 0 && role !== "user") breaches.push(`the first content is of role ${role}`);
    if (role === before?.role && !isAfterResponses) breaches.push(`contents ${index - 1} and ${index} are of one role`);
    if (parts.length === 0) breaches.push(`content ${index} is empty`);
    if (parts.some((part) => Object.keys(part).length === 0 || part.text === ""))
      breaches.push(`a part of ${index} is empty`);
    const called = namesOf(parts, "functionCall");
    const next = contents[index + 1];
    const answered = namesOf(next?.parts ?? [], "functionResponse");
    if (called.join() !== answered.join()) breaches.push(`calls of ${index}: ${called}; responses: ${answered}`);
    if (index === 0 && namesOf(parts, "functionResponse").length > 0) breaches.push("a response to nothing");
  });
  return breaches;
}

function namesOf(parts: readonly Record<string, unknown>[], kind: string): string[] {
  return parts.flatMap((part) => (kind in part ? [(part[kind] as { name: string }).name] : []));
}
