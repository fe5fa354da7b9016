import * as z from "zod/mini";
import {
  EXPAND_LIMIT_DEFAULT,
  ID_CHARS_MAX,
  MODEL_QUERY_CHARS_MAX,
  PAGE_LIMIT_MAX,
  RECALL_LIMIT_MAX,
} from "../../core/limits.ts";
import { messageSchemas, PART_TYPES, ROLES } from "../../core/message.ts";
import { RECALL_FILLED_MAX, STRATEGIES } from "../../core/options.ts";
import { oneWordOf, text, trueOrFalse, whole } from "../../core/schema.ts";
import { WORK_LIMIT_DEFAULT } from "./past-work.ts";
import { RECAP_LIMIT_DEFAULT } from "./recap.ts";
import { SUBJECTS_LIMIT_DEFAULT } from "./subjects.ts";

// The arguments of calls by models and by programs that send JSON. A model reads only the descriptions. The called method checks
// everything else, such as whether a handle exists.

export { EXPAND_LIMIT_DEFAULT, RECAP_LIMIT_DEFAULT, WORK_LIMIT_DEFAULT };

export const SESSIONS_LIMIT_DEFAULT = 20;

const name = (meaning: string) => z.exactOptional(textOf(0, ID_CHARS_MAX)).check(z.describe(meaning));
const project = name("Only this project");
const sessionId = textOf(1, ID_CHARS_MAX);
const skipped = (meaning: string) => z.exactOptional(whole(0)).check(z.describe(meaning));
const offset = skipped("To read on");

function textOf(charsMin: number, charsMax: number) {
  const error = { error: `a text of ${charsMin === 0 ? "at most" : `${charsMin} to`} ${charsMax} characters` };
  const bounded = z.string(error).check(z.maxLength(charsMax, error));
  return charsMin === 0 ? bounded : bounded.check(z.minLength(charsMin, error));
}

export function limitOf(usual: number | string, max: number) {
  return z.exactOptional(whole(1, max)).check(z.describe(`At most this many; ${usual} if left out`));
}

export const RECALL_INPUT = z.strictObject({
  query: textOf(0, MODEL_QUERY_CHARS_MAX).check(
    z.describe('A question, or words; a phrase "in quotes" is found as it stands'),
  ),
  limit: limitOf(`as fit, up to ${RECALL_FILLED_MAX},`, RECALL_LIMIT_MAX),
  offset,
  project,
  sessionIds: z
    .exactOptional(z.array(sessionId, { error: "a list" }).check(z.maxLength(PAGE_LIMIT_MAX)))
    .check(z.describe("Only these; the beginning of an id is enough")),
  roles: z.exactOptional(z.array(oneWordOf(ROLES))).check(z.describe("Only what these said")),
  partTypes: z.exactOptional(z.array(oneWordOf(PART_TYPES))).check(z.describe("Only with such a part")),
  since: z.exactOptional(text()).check(z.describe("From then on: 2026-11-01T14:30Z, yesterday, last week, 7d")),
  until: z.exactOptional(text()).check(z.describe("Up to this time, or the end of this day")),
  near: z.exactOptional(text()).check(z.describe("Prefer what was said near this time")),
  by: z
    .exactOptional(oneWordOf(["message", "session", "theme"]))
    .check(z.describe("session: the best of each; theme: what groups of messages are about")),
  superseded: z.exactOptional(trueOrFalse()).check(z.describe("Also what was taken back")),
});

export const EXPAND_INPUT = z.strictObject({
  target: text().check(z.describe("A handle or id")),
  level: z
    .exactOptional(oneWordOf(["step", "cluster", "theme", "subject"]))
    .check(z.describe("How much around a message; cluster if left out")),
  limit: limitOf(EXPAND_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
  offset: skipped("To read on; around a message if left out"),
  from: skipped("The character from which to read a long message"),
  seqFrom: skipped("The seq from which to read a session"),
});

export const SESSIONS_INPUT = z.strictObject({
  project,
  limit: limitOf(SESSIONS_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
  offset,
});

export const SUBJECTS_INPUT = z.strictObject({
  project,
  limit: limitOf(SUBJECTS_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
  offset,
});

export const RECAP_INPUT = z.strictObject({
  subject: z.exactOptional(text()).check(z.describe("Only this subject, by its handle, whenever it was")),
  since: z
    .exactOptional(text())
    .check(z.describe("From then on: yesterday, 36h, 2026-11-01; 7 days before until if left out")),
  until: z.exactOptional(text()).check(z.describe("Up to this time, or the end of this day")),
  project,
  limit: limitOf(RECAP_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
});

export const WORK_INPUT = z.strictObject({
  file: z.exactOptional(text()).check(z.describe("A path or its end")),
  error: z.exactOptional(text()).check(z.describe("Its line, or the whole output")),
  command: z.exactOptional(text()).check(z.describe("A program or how the line begins: go test")),
  project,
  limit: limitOf(WORK_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
});

export const LOST_INPUT = z.strictObject({
  sessionId: z.exactOptional(sessionId).check(z.describe("The newest that was compacted if left out")),
  summaryId: z.exactOptional(whole(0)).check(z.describe("An answer's earlierId: the compaction before")),
  project,
  offset,
});

export const CONTEXT_INPUT = z.strictObject({
  sessionId: sessionId.check(z.describe("Its id, or the beginning")),
  query: z.exactOptional(text()).check(z.describe("What the next step is about")),
  scope: z.exactOptional(oneWordOf(["session", "project"])).check(z.describe("Where to look for the query")),
  strategy: z.exactOptional(oneWordOf(STRATEGIES)).check(z.describe("The session's own if left out")),
});

export const REMEMBER_INPUT = z.strictObject({
  text: textOf(1, MODEL_QUERY_CHARS_MAX).check(z.describe("What to remember; with rejects, why")),
  by: name("Who says it, if you know the user's name"),
  replaces: z.exactOptional(whole(0)).check(z.describe("The messageId that no longer holds")),
  rejects: z.exactOptional(whole(0)).check(z.describe("The messageId that the user rejects")),
  project: name("The path of the project's folder, or its name; the folder you work in if left out"),
});

/** A system message is refused, because every later context would begin with it. */
export const APPEND_INPUT = z.extend(z.omit(messageSchemas().message, { parts: true }), {
  role: oneWordOf(ROLES.filter((role) => role !== "system")).check(z.describe("Who says it")),
  createdAt: z
    .optional(z.union([z.number(), z.string()])) // JSON has no dates
    .check(z.describe("Unix milliseconds or an ISO 8601 time; now if left out")),
  sessionId: sessionId.check(z.describe("The session's id; if there is no such session, it is created")),
  project: name("The project of a new session"),
  title: name("The title of a new session"),
});
