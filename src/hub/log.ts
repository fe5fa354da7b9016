import { hash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import * as z from "zod/mini";
import { digestOf } from "../core/digest.ts";
import { StoreError } from "../core/errors.ts";
import {
  HUB_BODY_BYTES_MAX,
  ID_CHARS_MAX,
  KEY_CHARS_MAX,
  NAMESPACE_ELEMENTS_MAX,
  TIME_MS_MAX,
} from "../core/limits.ts";
import { once } from "../core/once.ts";
import type { SessionEvent, SessionHead } from "../session/moving/copies.ts";

// What the bytes on a hub mean. The first byte of a body says its form.

const DEFLATED_JSON = 1;

export function encodeBody(value: SessionHead | readonly SessionEvent[]): Buffer {
  return Buffer.concat([Buffer.of(DEFLATED_JSON), deflateRawSync(JSON.stringify(value))]);
}

/** SQL: the bytes of a body, or null if it has too many to be read. The server knows their number without reading them. */
export function readable(column: string): string {
  return `CASE WHEN octet_length(${column}) <= ${HUB_BODY_BYTES_MAX} THEN ${column} END`;
}

/** The most events of a log that are read at once, in bytes of their bodies. */
const PAGE_BYTES = 4_000_000;
const PAGE_ROWS = 200;

/** SQL: the first rows of the log that meet a condition, as many as may be read at once. */
export function logPage(schema: string, condition: string): string {
  return `SELECT "sessionNo", n, ${readable("body")} AS body FROM (
      SELECT "sessionNo", n, body, sum(octet_length(body)) OVER (ORDER BY "sessionNo", n) - octet_length(body) AS before FROM (
        SELECT session_no AS "sessionNo", n, body FROM ${schema}.log WHERE ${condition} ORDER BY session_no, n LIMIT ${PAGE_ROWS}) AS page
    ) AS measured WHERE before < ${PAGE_BYTES} ORDER BY "sessionNo", n`;
}

export interface LogRow {
  sessionNo: number;
  n: number;
  body: Buffer | null;
}

/** @param body  As `readable` gives it. @throws {StoreError} `ROWS_INVALID`. */
export function eventsOf(body: Buffer | null): SessionEvent[] {
  const events = decoded(body);
  if (!Array.isArray(events) || !events.every(isEvent)) invalid("a row on the hub has no events of a session");
  return events as SessionEvent[];
}

/** What messages say is checked when they are written. */
function isEvent(event: unknown): boolean {
  if (!isObject(event)) return false;
  const { message, keep, entry } = event;
  if ("message" in event) return isObject(message) && isTime(message.createdAtMs) && Array.isArray(message.parts);
  if ("keep" in event) return Number.isSafeInteger(keep) && (keep as number) >= 0;
  const isNamed = isObject(entry) && (entry.id === undefined || typeof entry.id === "string");
  return isNamed && isTime(entry.createdAtMs) && entry.value !== undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= TIME_MS_MAX;
}

const HEAD = once(() => {
  const time = z.number().check(z.gte(-TIME_MS_MAX), z.lte(TIME_MS_MAX));
  const text = (lengthMax: number) => z.string().check(z.maxLength(lengthMax));
  const item = z.object({
    namespace: z.array(text(KEY_CHARS_MAX)).check(z.maxLength(NAMESPACE_ELEMENTS_MAX)),
    key: text(KEY_CHARS_MAX),
    value: z.optional(z.json()),
    bytes: z.optional(z.string()),
    createdAtMs: time,
    updatedAtMs: time,
  });
  return z.object({
    title: z.nullable(text(ID_CHARS_MAX)),
    settings: z.record(z.string(), z.unknown()),
    metadata: z.nullable(z.record(z.string(), z.json())),
    source: z.nullable(text(ID_CHARS_MAX)),
    parent: z.nullable(text(ID_CHARS_MAX)),
    forkSeq: z.nullable(z.int().check(z.gte(-1))),
    createdAtMs: time,
    items: z.array(item.check(z.refine(({ value, bytes }) => (value === undefined) !== (bytes === undefined)))),
  });
});

/** A digest of a head, by which a store knows what the hub has of its own session. */
export function digestOfHead(head: unknown): string {
  return hash("sha256", JSON.stringify(head)).slice(0, 32);
}

/** @param body  As `readable` gives it. @throws {StoreError} `ROWS_INVALID`. */
export function headDigestIn(body: Buffer | null): string {
  return digestOfHead(decoded(body));
}

/** @param body  As `readable` gives it. @throws {StoreError} `ROWS_INVALID`. */
export function headOf(body: Buffer | null): SessionHead {
  const { data, error } = z.safeParse(HEAD(), decoded(body));
  return (
    (data as SessionHead | undefined) ?? invalid(`a session on the hub has a wrong ${error!.issues[0]!.path.join(".")}`)
  );
}

function decoded(body: Buffer | null): unknown {
  if (body === null) invalid(TOO_LONG);
  if (body[0] !== DEFLATED_JSON) invalid(`this version does not know the form ${body[0]} of a row on the hub`);
  try {
    return JSON.parse(inflateRawSync(body.subarray(1), { maxOutputLength: HUB_BODY_BYTES_MAX }).toString());
  } catch (error) {
    const isTooLong = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    return invalid(isTooLong ? TOO_LONG : "a row on the hub is damaged");
  }
}

const TOO_LONG = `a row on the hub has more than ${HUB_BODY_BYTES_MAX} bytes`;

function invalid(reason: string): never {
  throw new StoreError("ROWS_INVALID", { reason });
}

/** A message on the hub, with a digest of what it says, in hexadecimal. `at` is the place of its event in the log. */
export interface HubMessage {
  event: Extract<SessionEvent, { message: unknown }>;
  digest: string;
  at: number;
}

/** The path of a session on the hub: its messages after all rewinds. */
export class HubPath {
  readonly messages: HubMessage[] = [];
  /** The messages of the whole log, also those that were rewound. */
  readonly all: HubMessage[] = [];
  /** The entries of the path, and how many messages came before each. */
  entries: { event: SessionEvent; after: number; at: number }[] = [];
  #length = 0;

  add(events: readonly SessionEvent[]): void {
    for (const event of events) {
      const at = this.#length;
      this.#length += 1;
      if ("message" in event) {
        const digest = digestOf(event.message as Parameters<typeof digestOf>[0]).toString("hex");
        const said = { event, digest, at };
        this.messages.push(said);
        this.all.push(said);
      } else if ("keep" in event) {
        this.messages.length = Math.min(this.messages.length, event.keep);
        this.entries = this.entries.filter(({ after }) => after <= event.keep);
      } else this.entries.push({ event, after: this.messages.length, at });
    }
  }

  /** The events after the first messages and entries of the path. */
  from(place: number, entryCount: number): SessionEvent[] {
    const entries = this.entries.slice(entryCount);
    const events = this.messages.slice(place).flatMap(({ event }, index) => {
      const before = entries.filter(({ after }) => (index === 0 ? after <= place : after === place + index));
      return [...before.map((entry) => entry.event), event];
    });
    const isAtEnd = ({ after }: { after: number }): boolean => after === this.messages.length && after > place;
    return [
      ...events,
      ...entries.filter((one) => isAtEnd(one) || this.messages.length === place).map(({ event }) => event),
    ];
  }
}
