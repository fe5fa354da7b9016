import { StoreError } from "../core/errors.ts";
import type { Part } from "../core/message.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { Store } from "../session/store.ts";
import { Redactor } from "./redaction/redact.ts";
import { secretsIn } from "./redaction/secrets.ts";
import { mapStrings } from "./redaction/strings.ts";
import { isNamedSecret } from "./redaction/value-rules.ts";

export interface StoredSecret {
  kind: string;
  /** Null for a secret in an item that belongs to no session. */
  sessionId: string | null;
  /** Null for a secret in the title of the session, in an entry or in an item. */
  messageId: number | null;
  /** The entry or the item: `entry 12`, or `item ["users"] ada`. */
  place?: string;
  /** Its beginning and its length: `AKIA… (20 characters)`. */
  masked: string;
}

/** The beginning of a shorter secret is not shown. */
const SHOWN_LENGTH_MIN = 20;
const SHOWN_CHARS = 4;

const PAGE_ITEMS = 100;

const redactor = new Redactor({ keepSecrets: false });

/**
 * Finds the secrets that the store already holds, session by session, and then in items. Superseded messages, entries, and items that
 * only a hub has a place for, come after those of their session.
 *
 * @param onUnreadable  Called for a damaged session, whose other messages and entries are skipped.
 */
export function* storedSecrets(
  store: Store,
  onUnreadable: (unreadable: { sessionId: string; reason: string }) => void,
): Generator<StoredSecret> {
  const opened = internalsOf(store);
  for (const { id, title, project } of store.sessions({ onUnreadable })) {
    yield* secretsOf([title, project], id, null);
    const session = opened.resume(id);
    try {
      for (const messages of session.everyPage()) {
        for (const { id: messageId, parts, metadata } of messages) {
          yield* secretsOf([parts, metadata], id, messageId);
          yield* secretsAcross(parts, id, messageId);
        }
      }
      for (const entries of session.everyEntry()) {
        for (const { position, value } of entries) yield* at(`entry ${position}`, secretsOf(value, id, null));
      }
      for (const { bytes, value, ...item } of opened.copies.itemsAside(id)) {
        yield* secretsInItem({
          ...item,
          value: bytes === undefined ? value : Buffer.from(bytes, "base64"),
          session: id,
        });
      }
    } catch (error) {
      if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
      onUnreadable({ sessionId: id, reason: error.details.reason });
    }
  }
  yield* secretsInItems(store);
}

function* secretsInItems({ items }: Store): Generator<StoredSecret> {
  for (let offset = 0; ; offset += PAGE_ITEMS) {
    const page = items.list([], { limit: PAGE_ITEMS, offset });
    for (const item of page) yield* secretsInItem(item);
    if (page.length < PAGE_ITEMS) return;
  }
}

function secretsInItem({
  namespace,
  key,
  value,
  session = null,
}: {
  namespace: string[];
  key: string;
  value: unknown;
  session?: string | null;
}): Generator<StoredSecret> {
  const place = redactor.redacted(`item ${JSON.stringify(namespace)} ${key}`);
  const texts = value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value;
  return at(place, secretsOf([namespace, key, texts], session, null));
}

function* at(place: string, secrets: Iterable<StoredSecret>): Generator<StoredSecret> {
  for (const secret of secrets) yield { ...secret, place };
}

function* secretsOf(value: unknown, sessionId: string | null, messageId: number | null): Generator<StoredSecret> {
  const found: StoredSecret[] = [];
  mapStrings(value, (text, key) => {
    if (key !== undefined && isNamedSecret(key, text))
      found.push({ kind: "named-secret", sessionId, messageId, masked: masked(text) });
    else
      for (const { kind, start, end } of secretsIn(text)) {
        found.push({ kind, sessionId, messageId, masked: masked(text.slice(start, end)) });
      }
    return text;
  });
  yield* found;
}

/** Finds the secrets that begin in one text of a message and end in another, because the reply was stored as it arrived. */
function* secretsAcross(parts: readonly Part[], sessionId: string, messageId: number): Generator<StoredSecret> {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.length < 2) return;
  const ends: number[] = [];
  for (const text of texts) ends.push((ends.at(-1) ?? 0) + text.length);
  const joined = texts.join("");
  for (const { kind, start, end } of secretsIn(joined)) {
    const first = ends.findIndex((at) => at > start);
    if (ends[first]! >= end) continue;
    // A secret at the end of a text may seem to go on in the next one.
    const from = ends[first - 1] ?? 0;
    const inFirst = secretsIn(texts[first]!).some((found) => found.start <= start - from && found.end > start - from);
    if (!inFirst) yield { kind, sessionId, messageId, masked: masked(joined.slice(start, end)) };
  }
}

function masked(secret: string): string {
  const shown = secret.length < SHOWN_LENGTH_MIN ? "" : secret.slice(0, SHOWN_CHARS);
  return `${shown}… (${secret.length} characters)`;
}

/** Forgets the messages with these secrets, each with its step. Other secrets stay. The file is erased once. */
export function forgetSecrets(store: Store, secrets: Iterable<StoredSecret>) {
  const idsBySession = new Map<string, Set<number>>();
  for (const { sessionId, messageId } of secrets) {
    if (messageId === null || sessionId === null) continue;
    const ids = idsBySession.get(sessionId) ?? new Set();
    idsBySession.set(sessionId, ids.add(messageId));
  }
  return internalsOf(store).forgetAll(idsBySession);
}
