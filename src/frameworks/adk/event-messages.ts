import { hash } from "node:crypto";
import type { Event } from "@google/adk";
import { fromGemini } from "../../adapters/gemini.ts";
import { StoreError } from "../../core/errors.ts";
import { ID_CHARS_MAX } from "../../core/limits.ts";
import type { MessageInput } from "../../core/message.ts";
import type { Session } from "../../session/session.ts";

const EVENT = "adkEvent";

export function eventIdOf(message: { metadata?: Record<string, unknown> } | undefined): string | undefined {
  const id = message?.metadata?.[EVENT];
  return typeof id === "string" ? id : undefined;
}

/** Appends what an event says, once, so that it can be recalled. If an event is replaced, what is new is appended, too. */
export function appendEventMessages(session: Session, event: Event): void {
  if (!event.content?.parts?.length) return;
  for (const [index, message] of messagesOf(event).entries()) {
    const id = `${event.id.slice(0, ID_CHARS_MAX / 2)}${index === 0 ? "" : `:${index}`}`;
    try {
      session.append({ ...message, id });
    } catch (error) {
      if (StoreError.is(error, "MESSAGE_CONFLICT")) session.append({ ...message, id: `${id}:${digestOf(message)}` });
      // The event has it. What cannot be a message cannot be recalled.
      else if (!StoreError.is(error, "MESSAGE_INVALID")) throw error;
    }
  }
}

function messagesOf({ id, author, content, timestamp }: Event): MessageInput[] {
  const isName = author !== undefined && author !== "" && author.length <= ID_CHARS_MAX && author.isWellFormed();
  try {
    return fromGemini(JSON.parse(JSON.stringify(content))).map(({ metadata, ...message }) => ({
      ...message,
      ...(isName && { name: author }),
      ...(Number.isFinite(timestamp) && { createdAt: Math.trunc(timestamp) }),
      metadata: { ...metadata, [EVENT]: id },
    }));
  } catch (error) {
    if (StoreError.is(error, "MESSAGE_INVALID")) return [];
    throw error;
  }
}

function digestOf({ parts }: MessageInput): string {
  return hash("sha256", JSON.stringify(parts), "hex").slice(0, 32);
}
