import * as z from "zod/mini";
import { ROLES } from "../core/message-words.ts";
import { STRATEGIES } from "../core/options.ts";
import { type Given, type ObjectSchema, oneWordOf, parseArguments, text, whole } from "../core/schema.ts";
import { PAGE_MAX } from "./questions.ts";

/** A whole number in a query string. */
export function wholeText(min: number, max = Number.MAX_SAFE_INTEGER) {
  const number = z.transform((given: string) => (/^-?\d+$/.test(given) ? Number(given) : Number.NaN));
  return z.pipe(z.pipe(text(), number), whole(min, max));
}

const session = text();
const project = z.optional(text());
const source = z.optional(text());
const seqFrom = z.optional(wholeText(0));
const offset = z.optional(wholeText(0));
const limitTo = (max: number, min = 1) => z.optional(wholeText(min, max));
/** Messages of this time or later, or sessions whose newest message is; and before `untilMs`. */
const sinceMs = z.optional(wholeText(0));
const untilMs = z.optional(wholeText(0));
/** Minutes to add to UTC for the reader's days, as `-new Date().getTimezoneOffset()`; by default 0. */
const offsetMinutes = z.optional(wholeText(-1_440, 1_440));

/** What may be asked about agents' work: with a file, with an error, with a command, or by default which errors keep coming back. */
const WORK = { file: z.optional(text()), error: z.optional(text()), command: z.optional(text()), project };

/** The parameters of each route that is read with GET, which are in its query string. Times are Unix milliseconds. */
export const QUERIES = {
  "/api/about": {},
  /** `text` is in the title, the opening, the id or a tag. By default 100 sessions. */
  "/api/sessions": { project, source, sinceMs, untilMs, text: z.optional(text()), limit: limitTo(500), offset },
  "/api/days": { project, source, offsetMinutes },
  /** `after` is a message id, such as the `newestMessageId` of the last look. */
  "/api/news": { after: wholeText(0) },
  /** By default 20 hits. `explain: 1` returns the parts of each score. */
  "/api/search": {
    q: z.optional(text()),
    session: z.optional(text()),
    project,
    source,
    role: z.optional(oneWordOf(ROLES)),
    sinceMs,
    untilMs,
    limit: limitTo(100),
    explain: z.optional(wholeText(0, 1)),
  },
  /** Themes about a text, or of other sessions near the root of a theme or cluster; by default 10. */
  "/api/themes": { q: z.optional(text()), root: z.optional(wholeText(1)), project, limit: limitTo(100) },
  "/api/evidence": { q: text(), project },
  "/api/session": { session },
  /** By default 5,000 messages from seq 0 on. */
  "/api/outline": { session, seqFrom, limit: limitTo(PAGE_MAX) },
  /** By default 50 messages from seq 0 on. */
  "/api/messages": { session, seqFrom, limit: limitTo(200) },
  /** `root` is a handle, such as `theme:12@34`, or a message id. By default 50 messages. */
  "/api/members": {
    root: text(),
    level: z.optional(oneWordOf(["step", "cluster", "theme", "subject", "span"])),
    offset,
    limit: limitTo(200),
  },
  "/api/context": {
    session,
    tokensMax: limitTo(100_000_000),
    strategy: z.optional(oneWordOf(STRATEGIES)),
    query: z.optional(text()),
    scope: z.optional(oneWordOf(["session", "project"])),
    /**
     * The moment: the seq of the message that was the newest then, or `@` and a log position. By default now. The session is copied,
     * and the copy goes back, so the context is that of today's path, without what was forgotten since, and with today's settings.
     */
    at: z.optional(text().check(z.regex(/^@?\d{1,15}$/, { error: "a seq, or @ and a log position" }))),
  },
  "/api/forest": { session },
  /** Only rows after the position `after`; by default 5,000 from 0 on. */
  "/api/log": { session, after: z.optional(wholeText(0)), limit: limitTo(PAGE_MAX) },
  /** `position` is the log position of a start or a join. */
  "/api/why": { session, position: wholeText(1) },
  /** By default 100. */
  "/api/subjects": { project, limit: limitTo(500) },
  "/api/subject": { handle: text(), limit: limitTo(1_000, 0) },
  "/api/work-overview": { project, sinceMs },
  "/api/work": WORK,
  /** What a compaction lost. `summary` is the id of a message of the agent's summary. */
  "/api/lost": { session, summary: wholeText(0) },
  "/api/usage": { offsetMinutes },
  "/api/health": {},
  "/api/doctor": {},
  "/api/verify": {},
  "/api/progress": {},
  "/api/sql": { query: text() },
};

/** What a route is asked for. */
export type Query<R extends keyof typeof QUERIES> = AskedFor<(typeof QUERIES)[R]>;

export type AskedFor<F extends z.core.$ZodShape> = Given<z.output<z.ZodMiniObject<F, z.core.$strict>>>;

/** Parses the query string of a request. Empty values count as left out. @throws {StoreError} `OPTION_INVALID`. */
export function queryOf<F extends z.core.$ZodShape>(fields: F, parameters: URLSearchParams): AskedFor<F> {
  const given = Object.fromEntries([...parameters].filter(([, value]) => value !== ""));
  const schema = z.strictObject(fields) as unknown as ObjectSchema;
  return parseArguments(schema, given, "a parameter", "the parameters") as AskedFor<F>;
}
