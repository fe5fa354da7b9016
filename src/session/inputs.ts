import { z } from "zod";
import { StoreError } from "../core/errors.ts";
import { ID_CHARS_MAX, MODEL_QUERY_CHARS_MAX, PAGE_LIMIT_MAX, RECALL_LIMIT_MAX } from "../core/limits.ts";
import { MessageSchema, PART_TYPES, ROLES } from "../core/message.ts";
import { RECALL_LIMIT_DEFAULT, STRATEGIES } from "../core/options.ts";
import { EXPAND_LIMIT_DEFAULT } from "../recall/expand.ts";
import { SUBJECTS_LIMIT_DEFAULT } from "./subjects.ts";

// What a model, or whoever else sends JSON, may ask of a store: the words that it is told, and the limits that the library
// has. What a schema cannot tell, such as whether a handle exists, the call itself does.

export { EXPAND_LIMIT_DEFAULT };

/** Sessions on a page unless told otherwise. */
export const SESSIONS_LIMIT_DEFAULT = 20;

const project = z.string().max(ID_CHARS_MAX).exactOptional().describe("Only sessions of this project");
const sessionId = z.string().min(1).max(ID_CHARS_MAX);
const offset = z
  .int()
  .min(0)
  .exactOptional()
  .describe("How many to pass over, to read on where a page has ended; 0 if left out");

function limitOf(what: string, usual: number, max: number) {
  return z
    .int()
    .min(1)
    .max(max)
    .exactOptional()
    .describe(`Most ${what} that come back: 1 to ${max}, ${usual} if left out`);
}

export const RECALL_INPUT = z.strictObject({
  query: z.string().max(MODEL_QUERY_CHARS_MAX).describe('Words to look for; "in double quotes" they must stand so'),
  limit: limitOf("messages", RECALL_LIMIT_DEFAULT, RECALL_LIMIT_MAX),
  offset,
  project,
  sessionIds: z
    .array(sessionId)
    .max(PAGE_LIMIT_MAX)
    .exactOptional()
    .describe("Only these sessions, by id or the beginning of it"),
  roles: z.array(z.enum(ROLES)).exactOptional().describe("Only messages of these roles"),
  partTypes: z.array(z.enum(PART_TYPES)).exactOptional().describe("Only messages with a part of one of these types"),
  since: z.string().exactOptional().describe("Only from this day or time on: 2026-11-01 or 2026-11-01T14:30Z"),
  until: z.string().exactOptional().describe("Only up to this day, all of it, or this time"),
});

export const EXPAND_INPUT = z.strictObject({
  target: z.string().describe("A handle such as theme:12@345 or cluster:12, or the id of a message"),
  level: z
    .enum(["step", "cluster", "theme", "subject"])
    .exactOptional()
    .describe("Of a message id: how much around it, its cluster if left out. A handle has its own"),
  limit: limitOf("messages", EXPAND_LIMIT_DEFAULT, PAGE_LIMIT_MAX),
  offset: offset.describe("Messages to pass over, to read on where a page has ended"),
  from: z
    .int()
    .min(0)
    .exactOptional()
    .describe("Of the id of a long message: the character from which to read its text, piece by piece"),
  seqFrom: z
    .int()
    .min(0)
    .exactOptional()
    .describe("With a session's id as target: the place (seq) from which to read its messages in order"),
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

export const CONTEXT_INPUT = z.strictObject({
  sessionId: sessionId.describe("The session's id, as list_sessions and recall name it, or the beginning of it"),
  query: z
    .string()
    .exactOptional()
    .describe("What the next step is about: messages that bear on it are shown word for word"),
  scope: z
    .enum(["session", "project"])
    .exactOptional()
    .describe("With a query, where to look for these: in the session, or in all of its project"),
  strategy: z.enum(STRATEGIES).exactOptional().describe("How the context is made; the session's own if left out"),
});

/**
 * A message's parts may be its content; other fields are kept in its metadata. What a program tells its model, no model may
 * say: a system message stands at the head of every later context of the session.
 */
export const APPEND_INPUT = MessageSchema.omit({ parts: true }).extend({
  role: z.enum(ROLES.filter((role) => role !== "system")).describe("Who says it"),
  sessionId: sessionId.describe("The session's id; one that does not exist is made"),
  project: z.string().max(ID_CHARS_MAX).exactOptional().describe("The project of a new session"),
  title: z.string().max(ID_CHARS_MAX).exactOptional().describe("The title of a new session"),
});

/**
 * What was sent, once it is what the schema asks for.
 *
 * @throws {StoreError} `OPTION_INVALID` for the first thing that is not.
 */
export function parseInput<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  if (issue.code === "unrecognized_keys") {
    const expected = schema instanceof z.ZodObject ? `one of ${Object.keys(schema.shape).join(", ")}` : "a known one";
    throw new StoreError("OPTION_INVALID", { option: "an argument", expected, actual: issue.keys[0] });
  }
  const option = issue.path.join(".") || "the arguments";
  throw new StoreError("OPTION_INVALID", { option, expected: expectedBy(issue), actual: valueAt(value, issue.path) });
}

function expectedBy(issue: z.core.$ZodIssue): string {
  const unit = "origin" in issue && issue.origin === "string" ? " characters" : "";
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "int" ? "a whole number" : `of type ${issue.expected}`;
    case "too_small":
      return `at least ${issue.minimum}${unit}`;
    case "too_big":
      return `at most ${issue.maximum}${unit}`;
    case "invalid_value":
      return `one of ${issue.values.join(", ")}`;
    default:
      return `right (${issue.message})`;
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((item: unknown, key) => (item as Record<PropertyKey, unknown> | null | undefined)?.[key], value);
}
