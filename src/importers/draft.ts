import type { MessageInput, Part, Role } from "../core/message.ts";
import { derivedId } from "./derived-id.ts";
import type { JsonObject } from "./lines.ts";

/** A message in the making, and the number of the line where it begins. */
export interface Draft {
  readonly line: number;
  readonly message: DraftMessage;
  /** What the model said at once, in several messages: the same object in each of them. */
  reply?: object;
  /** Words of the user for themselves: they say that a turn begins. */
  isPrompt?: boolean;
}

interface DraftMessage extends MessageInput {
  id: string;
  parts: Part[];
  metadata: JsonObject;
}

/** A draft; `id` may be anything that says the same each time the file is read. */
export function draftOf(
  line: number,
  role: Role,
  id: string | readonly unknown[],
  parts: Part[],
  about: { createdAt?: number | undefined; metadata?: JsonObject } = {},
): Draft {
  const { createdAt, metadata = {} } = about;
  const message: DraftMessage = { id: typeof id === "string" ? id : derivedId(...id), role, parts, metadata };
  if (createdAt !== undefined) message.createdAt = createdAt;
  return { line, message };
}
