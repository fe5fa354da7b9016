import type { Role } from "./message.ts";

/** What an import knows of a message. */
export interface RememberedMessage {
  /** The name by which the store would know it: see `nameInSession`. */
  name: string;
  role: Role;
  /** See `digestOf`. */
  digest: () => Buffer;
}

/** How many messages make the beginning of a session, without system messages, which many sessions share. */
export const OPENING_MESSAGES = 2;

/** The name by which a later import finds a message again. */
export function nameInSession(externalId: string | undefined, seq: number | undefined): string {
  return externalId ?? `#${seq}`;
}
