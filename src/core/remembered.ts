import type { Role } from "./message.ts";

/** The facts about a message that imports and `sync` compare with forgotten messages. */
export interface RememberedMessage {
  /** The name of the message in its session: see `nameInSession`. */
  name: string;
  role: Role;
  /** See `digestOf`. */
  digest: () => Buffer;
  /** The name of the message that has grown, if this is what it has grown by. */
  growthOf?: string | undefined;
}

/**
 * A copy of a forgotten session is recognized by its first messages: by this many, or by all if one of the two sessions has fewer,
 * but never by fewer than `OPENING_MESSAGES_MIN`, because many conversations begin with the same greeting and the same answer to
 * it. Only messages of these roles that have a text count, because many sessions share their system messages and the parts that
 * are injected into them.
 */
export const OPENING_MESSAGES = 6;
export const OPENING_MESSAGES_MIN = 3;
/** Older versions compared this many. */
export const OLD_OPENING_MESSAGES = 2;
export const OPENING_ROLES: readonly Role[] = ["user", "assistant"];

/** The name by which a later import finds a message again. */
export function nameInSession(externalId: string | undefined, seq: number | undefined): string {
  return externalId ?? `#${seq}`;
}
