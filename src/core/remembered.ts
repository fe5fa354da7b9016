import type { Role } from "./message.ts";

/** The part of a message that an import compares with what was forgotten. */
export interface RememberedMessage {
  /** The name by which the store would know it: see `nameInSession`. */
  name: string;
  role: Role;
  /** See `digestOf`. */
  digest: () => Buffer;
}

/**
 * How many messages make the beginning of a session. Only those with a text count: many sessions share their system messages and
 * what is injected into them.
 */
export const OPENING_MESSAGES = 2;
export const OPENING_ROLES: readonly Role[] = ["user", "assistant"];

/** The name by which a later import finds a message again. */
export function nameInSession(externalId: string | undefined, seq: number | undefined): string {
  return externalId ?? `#${seq}`;
}
