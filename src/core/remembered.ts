import type { Role } from "./message.ts";

/** The facts about a message that an import compares with forgotten messages. */
export interface RememberedMessage {
  /** The name of the message in its session: see `nameInSession`. */
  name: string;
  role: Role;
  /** See `digestOf`. */
  digest: () => Buffer;
}

/**
 * The beginning of a session, by which an import recognizes it, has this many messages. Only messages of these roles that have a
 * text count, because many sessions share their system messages and the parts that are injected into them.
 */
export const OPENING_MESSAGES = 2;
export const OPENING_ROLES: readonly Role[] = ["user", "assistant"];

/** The name by which a later import finds a message again. */
export function nameInSession(externalId: string | undefined, seq: number | undefined): string {
  return externalId ?? `#${seq}`;
}
