import type { Message, MessageInput, PartInput } from "../../src/index.ts";

/** What of a stored message the caller has given: all of it, in the shape in which it goes in. */
export function inputOf(message: Message): MessageInput {
  const { role, parts, name, externalId, metadata, pinned, createdAtMs } = message;
  return {
    role,
    parts: parts as PartInput[],
    createdAt: createdAtMs,
    ...(name !== undefined && { name }),
    ...(externalId !== undefined && { id: externalId }),
    ...(metadata !== undefined && { metadata }),
    ...(pinned && { pinned }),
  };
}

export function user(text: string, extra: Partial<MessageInput> = {}): MessageInput {
  return { role: "user", content: text, ...extra };
}

export function assistant(text: string, extra: Partial<MessageInput> = {}): MessageInput {
  return { role: "assistant", content: text, ...extra };
}

/** An assistant message that calls `read_file` once for each id. */
export function calls(ids: readonly string[], extra: Partial<MessageInput> = {}): MessageInput {
  const parts = ids.map((toolCallId) => ({
    type: "tool_call" as const,
    toolCallId,
    name: "read_file",
    args: { path: "a.ts" },
  }));
  return { role: "assistant", parts, ...extra };
}

/** A tool message that answers each id. */
export function results(ids: readonly string[], content = "done", extra: Partial<MessageInput> = {}): MessageInput {
  return {
    role: "tool",
    parts: ids.map((toolCallId) => ({ type: "tool_result" as const, toolCallId, content })),
    ...extra,
  };
}

/** Numbered messages about a few subjects in turn, `perSubject` on each before the next: enough words to tell apart. */
export function talk(count: number, perSubject = 6): MessageInput[] {
  return Array.from({ length: count }, (_, index) => {
    const subject = SUBJECTS[Math.floor(index / perSubject) % SUBJECTS.length]!;
    const text = `${subject} Message ${index}: ${subject.split(" ").toReversed().join(" ")}`;
    return index % 2 === 0 ? user(text) : assistant(text);
  });
}

const SUBJECTS = [
  "The deploy pipeline rejects the region because its lock file is missing from the bucket.",
  "Parser errors come from nested templates whose closing brace the tokenizer swallows.",
  "Invoices show the wrong currency after a customer switches the billing country.",
  "Thumbnails of large photographs take minutes while the resizing queue is starved.",
  "Password reset mails land in spam since the sender domain lost its signature.",
  "Searching for accented names finds nobody unless the index folds diacritics.",
];
