import type { JsonValue, Role } from "./message.ts";

/** The facts about a message that imports and `sync` compare with forgotten messages. */
export interface RememberedMessage {
  /** The name of the message in its session: see `nameInSession`. */
  name: string;
  role: Role;
  /** See `digestOf`. */
  digest: () => Buffer;
  /** See `originKeys`. */
  origins: readonly string[];
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
export const OPENING_ROLES: readonly Role[] = ["user", "assistant"];

/** The name by which a later import finds a message again. */
export function nameInSession(externalId: string | undefined, seq: number | undefined): string {
  return externalId ?? `#${seq}`;
}

/** Facts about a message that its copies in other sessions have, too. */
export interface MessageOrigin {
  externalId?: string | null | undefined;
  /** Undefined if it may be the time of the import. */
  createdAtMs?: number | undefined;
  metadata?: Record<string, JsonValue> | null | undefined;
}

/** A UUID, or 20 letters and digits with a digit among them, as services give to their messages. Others may repeat. */
const UNIQUE_ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[a-z]*\d)[a-z\d]{20}/i;

/** The ids that `derivedId` of the importers makes of the content. They say nothing of the origin. */
const DERIVED_ID = /^[0-9a-f]{32}(?![0-9a-f])/;

/**
 * Returns texts that tell where a message was first said. Of two messages with the same digest, one is a copy of the other if they
 * have one of these in common. The same words alone make no copy: anybody may say "yes".
 */
export function originKeys({ externalId, createdAtMs, metadata }: MessageOrigin): string[] {
  const keys: string[] = [];
  if (typeof externalId === "string" && isUniqueId(externalId)) keys.push(`id ${externalId}`);
  const { message, requestId } = metadata ?? {};
  const replyId = (message as { id?: unknown } | null | undefined)?.id;
  // Some proxies number their replies. Claude Code notes the id of a request only if the service gave one.
  if (typeof replyId === "string" && (typeof requestId === "string" || isUniqueId(replyId))) {
    keys.push(`reply ${replyId} ${typeof requestId === "string" ? requestId : ""}`);
  }
  if (createdAtMs !== undefined) keys.push(`time ${createdAtMs}`);
  return keys;
}

/** Returns true for an id that no other message has, in any session. */
export function isUniqueId(id: string): boolean {
  return UNIQUE_ID.test(id) && !DERIVED_ID.test(id);
}
