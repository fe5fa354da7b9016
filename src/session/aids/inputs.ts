import * as z from "zod/mini";
import {
  EXPAND_LIMIT_DEFAULT,
  ID_CHARS_MAX,
  MODEL_QUERY_CHARS_MAX,
  PAGE_LIMIT_MAX,
  RECALL_LIMIT_MAX,
} from "../../core/limits.ts";
import { messageSchemas, PART_TYPES, ROLES } from "../../core/message.ts";
import { RECALL_FILLED_MAX, RECALL_LIMIT_DEFAULT, STRATEGIES } from "../../core/options.ts";
import { oneWordOf, text, trueOrFalse, whole } from "../../core/schema.ts";
import { WORK_LIMIT_DEFAULT } from "./past-work.ts";
import { RECAP_LIMIT_DEFAULT } from "./recap.ts";
import { SUBJECTS_LIMIT_DEFAULT } from "./subjects.ts";

// The arguments of calls by models and by programs that send JSON. A model reads only the descriptions. The called method checks
// everything else, such as whether a handle exists.

export { EXPAND_LIMIT_DEFAULT, RECAP_LIMIT_DEFAULT, WORK_LIMIT_DEFAULT };

export const SESSIONS_LIMIT_DEFAULT = 20;

const name = (meaning: string) => z.exactOptional(textOf(0, ID_CHARS_MAX)).check(z.describe(meaning));
const project = name("Only sessions of this project");
const sessionId = textOf(1, ID_CHARS_MAX);
const skipped = (meaning: string) => z.exactOptional(whole(0)).check(z.describe(meaning));
const offset = skipped("How many to skip, to read on after a page; 0 if left out");

function textOf(charsMin: number, charsMax: number) {
  const error = { error: `a text of ${charsMin === 0 ? "at most" : `${charsMin} to`} ${charsMax} characters` };
  const bounded = z.string(error).check(z.maxLength(charsMax, error));
  return charsMin === 0 ? bounded : bounded.check(z.minLength(charsMin, error));
}

export function limitOf(what: string, usual: number | string, max: number) {
  return z
    .exactOptional(whole(1, max))
    .check(z.describe(`The most ${what} that come back: 1 to ${max}, ${usual} if left out`));
}

export const RECALL_INPUT = z.strictObject({
  query: textOf(0, MODEL_QUERY_CHARS_MAX).check(
    z.describe('Words to look for; a phrase "in double quotes" is looked for exactly'),
  ),
  limit: limitOf(
    "messages",
    `as many likely ones as fit, up to ${RECALL_FILLED_MAX} (${RECALL_LIMIT_DEFAULT} sessions),`,
    RECALL_LIMIT_MAX,
  ),
  offset,
  project,
  sessionIds: z
    .exactOptional(z.array(sessionId, { error: "a list" }).check(z.maxLength(PAGE_LIMIT_MAX)))
    .check(z.describe("Only these sessions, by id or the beginning of it")),
  roles: z.exactOptional(z.array(oneWordOf(ROLES))).check(z.describe("Only messages of these roles")),
  partTypes: z
    .exactOptional(z.array(oneWordOf(PART_TYPES)))
    .check(z.describe("Only messages with a part of one of these types")),
  since: z
    .exactOptional(text())
    .check(
      z.describe(
        "Only from this day or time on: 2026-11-01, 2026-11-01T14:30Z, yesterday, last week, or 7d for seven days ago",
      ),
    ),
  until: z.exactOptional(text()).check(z.describe("Only up to this time, or up to the end of this day")),
  near: z
    .exactOptional(text())
    .check(z.describe("What was said near this day or time counts more, such as a commit's date")),
  by: z
    .exactOptional(oneWordOf(["message", "session"]))
    .check(z.describe("session ranks sessions: each hit is the best message of another session")),
  superseded: z
    .exactOptional(trueOrFalse())
    .check(z.describe("true also finds messages that were taken back when a session went back")),
});

export const EXPAND_INPUT = z.strictObject({
  target: text().check(z.describe("A handle such as theme:12@345 or cluster:12, or the id of a message")),
  level: z
    .exactOptional(oneWordOf(["step", "cluster", "theme", "subject"]))
    .check(z.describe("For a message id: how much around it, its cluster if left out. A handle has its own level")),
  limit: limitOf("messages", EXPAND_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
  offset: skipped(
    "Messages to skip, to read on after a page. For a message id, the page is around it if this is left out",
  ),
  from: skipped("For the id of a long message: the character from which to read its text, piece by piece"),
  seqFrom: skipped("With a session's id as target: the seq from which to read its messages in order"),
});

export const SESSIONS_INPUT = z.strictObject({
  project,
  limit: limitOf("sessions", SESSIONS_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
  offset,
});

export const SUBJECTS_INPUT = z.strictObject({
  project,
  limit: limitOf("subjects", SUBJECTS_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
  offset,
});

export const RECAP_INPUT = z.strictObject({
  subject: z
    .exactOptional(text())
    .check(
      z.describe("A subject's handle, such as subject:77@460: only this subject, all of it, without since and until"),
    ),
  since: z
    .exactOptional(text())
    .check(
      z.describe(
        "Only from then on: yesterday, last week, 36h, 2w or 2026-11-01; if left out, from 7 days before until",
      ),
    ),
  until: z.exactOptional(text()).check(z.describe("Only up to this time, or up to the end of this day")),
  project,
  limit: limitOf("topics", RECAP_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
});

export const WORK_INPUT = z.strictObject({
  file: z.exactOptional(text()).check(z.describe("A path, or its end: store/open.ts")),
  error: z.exactOptional(text()).check(z.describe("The error's line, or all of the output")),
  command: z.exactOptional(text()).check(z.describe("A program, or the beginning of its command line: go test")),
  project,
  limit: limitOf("items", WORK_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
});

export const LOST_INPUT = z.strictObject({
  sessionId: z
    .exactOptional(sessionId)
    .check(z.describe("A session's id, or the beginning of it; the newest that was compacted if left out")),
  summaryId: z
    .exactOptional(whole(0))
    .check(z.describe("The earlierId of an answer, for the compaction before; the session's newest if left out")),
  project,
  offset,
});

export const CONTEXT_INPUT = z.strictObject({
  sessionId: sessionId.check(
    z.describe("The session's id, as list_sessions and recall name it, or the beginning of the id"),
  ),
  query: z
    .exactOptional(text())
    .check(z.describe("What the next step is about: messages about this are shown word for word")),
  scope: z
    .exactOptional(oneWordOf(["session", "project"]))
    .check(z.describe("With a query, where to look for such messages: in the session, or in all of its project")),
  strategy: z
    .exactOptional(oneWordOf(STRATEGIES))
    .check(z.describe("How the context is made; by the session's own strategy if left out")),
});

/** Unknown fields are stored in `metadata`. A system message is refused, because every later context would begin with it. */
export const APPEND_INPUT = z.extend(z.omit(messageSchemas().message, { parts: true }), {
  role: oneWordOf(ROLES.filter((role) => role !== "system")).check(z.describe("Who says it")),
  sessionId: sessionId.check(z.describe("The session's id; if there is no such session, it is created")),
  project: name("The project of a new session"),
  title: name("The title of a new session"),
});
