import * as z from "zod/mini";
import { StoreError } from "./errors.ts";
import { type JsonValue, plainJson } from "./json.ts";
import { ID_CHARS_MAX, MESSAGE_CHARS_MAX, PARTS_MAX, TIME_MS_MAX } from "./limits.ts";
import { PART_TYPES, ROLES } from "./message-words.ts";
import { once } from "./once.ts";
import { callFieldOf, rawShapeOf } from "./raw-shape.ts";
import { firstIssue, hasHoles } from "./schema.ts";
import { didYouMean } from "./suggestion.ts";
import type { Verdict } from "./verdicts.ts";

export { type JsonValue, PART_TYPES, ROLES };

export type Role = (typeof ROLES)[number];

/** Fields that a provider added to a part stay in the part and are sent back. */
interface ProviderFields {
  /**
   * True if nobody said the part: a hook or a program put it into the conversation. The part is kept, and shown while its message
   * is in the window. It is never embedded, searched, summarized or quoted.
   */
  injected?: boolean | undefined;
  [field: string]: unknown;
}

export interface TextPart extends ProviderFields {
  type: "text";
  text: string;
}

/** The model's own thinking. Contexts show it while its message is in the window. It is never embedded, searched or summarized. */
export interface ReasoningPart extends ProviderFields {
  type: "reasoning";
  text: string;
}

export interface ToolCallPart extends ProviderFields {
  type: "tool_call";
  /** The result has the same id. Providers may use an id again in a later turn; a result answers the newest open call. */
  toolCallId: string;
  name: string;
  args: unknown;
}

export interface ToolResultPart extends ProviderFields {
  type: "tool_result";
  toolCallId: string;
  name?: string | undefined;
  content: string | (TextPart | FilePart | DataPart)[];
  isError?: boolean | undefined;
}

export interface FilePart extends ProviderFields {
  type: "file";
  mediaType: string;
  name?: string | undefined;
  /** Base64, exactly as given. */
  data?: string | undefined;
  url?: string | undefined;
}

/** Structured content of any other kind, kept as it is. */
export interface DataPart extends ProviderFields {
  type: "data";
  data: unknown;
}

export type Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | FilePart | DataPart;

/** The compiler compares these schemas with the types above. */
export const messageSchemas = once(() => {
  const nonEmpty = z.string().check(z.minLength(1));
  const name = z.optional(z.string());
  const injected = z.optional(z.boolean());
  const text = z.looseObject({ type: z.literal("text"), text: z.string(), injected });
  const reasoning = z.looseObject({ type: z.literal("reasoning"), text: z.string(), injected });
  const call = z.looseObject({
    type: z.literal("tool_call"),
    toolCallId: nonEmpty,
    name: nonEmpty,
    args: z.unknown(),
    injected,
  });
  const file = z.looseObject({
    type: z.literal("file"),
    injected,
    mediaType: nonEmpty,
    name,
    data: z.optional(z.string()),
    url: z.optional(z.string()),
  });
  const data = z.looseObject({ type: z.literal("data"), data: z.unknown(), injected });
  const result = z.looseObject({
    type: z.literal("tool_result"),
    injected,
    toolCallId: nonEmpty,
    name,
    content: z.union([z.string(), z.array(z.discriminatedUnion("type", [text, file, data]))]),
    isError: z.optional(z.boolean()),
  });
  const part: z.ZodMiniType<Part> = z.discriminatedUnion("type", [text, reasoning, call, result, file, data]);
  // Identifiers are stored in text columns, and SQLite's text has no lone surrogates.
  const identifier = z.string().check(
    z.maxLength(ID_CHARS_MAX),
    z.refine((id) => id.isWellFormed(), "half of a surrogate pair cannot be stored"),
  );
  const message = z.looseObject({
    role: z.enum(ROLES).check(z.describe("Who says it")),
    content: z.optional(z.union([z.string(), z.array(part)])).check(z.describe("What is said: a text, or parts")),
    parts: z.optional(z.array(part)).check(z.describe("What is said, as parts. Give either this or content")),
    name: z.optional(identifier).check(z.describe("The speaker's name")),
    id: z.optional(identifier.check(z.minLength(1))).check(z.describe("Your own name for it, unique in its session")),
    createdAt: z
      .optional(z.union([z.number(), z.string(), z.date()]))
      .check(z.describe("A date, Unix milliseconds or an ISO 8601 time; now if left out")),
    pinned: z.optional(z.boolean()).check(z.describe("True if every context must show it")),
    metadata: z.optional(z.record(z.string(), z.unknown())).check(z.describe("Other data to store with the message")),
  });
  return { message, part };
});

/** The types of part that providers accept in a message of each role. A user cannot call a tool, for example. */
const PART_TYPES_BY_ROLE: Record<Role, readonly Part["type"][]> = {
  system: ["text", "file", "data"],
  user: ["text", "file", "data"],
  assistant: ["text", "reasoning", "tool_call", "file", "data"],
  tool: ["tool_result"],
};

/**
 * A message to append. It has `content` (a string or parts) or `parts`, never both.
 *
 * - `id`: the caller's own id, unique in its session. Appending the same message under the same id again does nothing.
 * - `createdAt`: a `Date`, Unix milliseconds, at most 8.64e15 from 1970, or an ISO 8601 string; by default the clock's time.
 * - `pinned`: true if every context must show the message.
 * - `metadata`: other data, stored and returned. Another field is refused.
 */
export interface MessageInput {
  role: Role;
  content?: string | readonly PartInput[];
  parts?: readonly PartInput[];
  name?: string;
  id?: string;
  createdAt?: number | string | Date;
  pinned?: boolean;
  metadata?: Record<string, unknown>;
}

type Input<P> = P extends { type: infer T } ? { type: T } & Omit<P, "type"> : never;
/** A part of a message to append. Stored parts have the same shape. */
export type PartInput = Input<Part>;

/** A validated message, not yet stored. */
export interface ParsedMessage {
  role: Role;
  parts: Part[];
  name: string | undefined;
  externalId: string | undefined;
  /** Unix milliseconds; undefined means "now". */
  createdAtMs: number | undefined;
  pinned: boolean;
  metadata: Record<string, JsonValue> | undefined;
}

/** A stored message. `parts` are exactly those appended. */
export interface Message {
  /** Unique in the store, never reused. */
  id: number;
  sessionId: string;
  /** The 0-based number of the message in its session. */
  seq: number;
  role: Role;
  name?: string;
  parts: Part[];
  /** The text that is embedded and searched: see `textOf`. */
  text: string;
  /** The tokens of the whole message in a context, by the store's token counter. */
  tokenCount: number;
  /** Unix milliseconds. */
  createdAtMs: number;
  /** The id of the first message of its step. */
  stepId: number;
  /** The seq of the user message that opened its turn; -1 before the first one. */
  turnSeq: number;
  pinned: boolean;
  externalId?: string;
  metadata?: Record<string, JsonValue>;
  /** What a person said of the message later. `messages` and `expand` return it. */
  verdict?: Verdict;
}

/**
 * Checks a message. A value that JSON would change, such as NaN, undefined in a list, a Date or a cycle, is refused. Fields with
 * the value `undefined` count as absent, and -0 becomes 0.
 *
 * @throws {StoreError} `MESSAGE_INVALID` with the path and the reason, and for a provider's own message, how to convert it.
 */
export function parseMessage(input: unknown): ParsedMessage {
  try {
    return parsedMessage(input);
  } catch (error) {
    const shape = StoreError.is(error, "MESSAGE_INVALID") ? rawShapeOf(input) : undefined;
    throw shape === undefined
      ? error
      : new StoreError("MESSAGE_INVALID", { ...(error as MessageError).details, shape });
  }
}

type MessageError = StoreError<"MESSAGE_INVALID">;

function parsedMessage(input: unknown): ParsedMessage {
  if (!isUsual(input)) {
    refuseHoles(input as MessageInput | undefined);
    const issue = firstIssue(messageSchemas().message, input);
    if (issue !== undefined) refuse(issue);
  }
  // The input itself is used, because zod's copy lacks keys named `__proto__`.
  const message = input as z.infer<ReturnType<typeof messageSchemas>["message"]>;
  const { role, content, parts: given, name, id, createdAt, pinned, metadata = {}, ...unknownFields } = message;
  if (content !== undefined && given !== undefined) invalid("content", "give `content` or `parts`, not both");
  const parts = given ?? (typeof content === "string" ? [{ type: "text" as const, text: content }] : content);
  if (parts === undefined) invalid("content", "neither `content` nor `parts` was given");
  if (parts.length > PARTS_MAX) invalid("parts", `${parts.length} parts; a message has at most ${PARTS_MAX}`);

  parts.forEach((part, index) => {
    if (!PART_TYPES_BY_ROLE[role].includes(part.type)) {
      const allowed = PART_TYPES_BY_ROLE[role].join(", ");
      invalid(`parts[${index}].type`, `a message of role "${role}" has parts of type ${allowed}, not "${part.type}"`);
    }
  });
  const tooLong = `the message is longer than ${MESSAGE_CHARS_MAX} characters`;
  const rules = { charsLeft: MESSAGE_CHARS_MAX, tooLong, refuse: invalid };
  const plainParts = plainJson(parts, "parts", rules) as Part[];

  const calls = callFieldOf(unknownFields);
  if (calls !== undefined) invalid(calls, "calls belong in the message's parts, as parts of type `tool_call`");
  for (const [field, value] of Object.entries(unknownFields)) {
    if (value !== undefined) invalid(field, unknownField(field));
  }
  const plainMetadata = plainJson({ ...metadata }, "metadata", rules) as Record<string, JsonValue>;
  return {
    role,
    parts: plainParts,
    name,
    externalId: id,
    createdAtMs: createdAt === undefined ? undefined : parseTime(createdAt),
    pinned: pinned ?? false,
    metadata: Object.keys(plainMetadata).length === 0 ? undefined : plainMetadata,
  };
}

function unknownField(field: string): string {
  const meant = didYouMean(field, Object.keys(messageSchemas().message.shape));
  return `a message has no such field. ${meant === "" ? "Other data belongs in `metadata`." : meant}`;
}

/**
 * Returns true only for a message that the schema accepts. Most are: a text, or parts with texts, calls and results. zod takes
 * longer to look at them.
 */
function isUsual(input: unknown): boolean {
  if (!isRecord(input)) return false;
  const { role, content, parts, name, id, createdAt, pinned, metadata } = input;
  const isRole = role === "user" || role === "assistant" || role === "tool" || role === "system";
  if (!isRole || name !== undefined || pinned !== undefined || !isUsualMetadata(metadata)) return false;
  if (id !== undefined && !(isName(id) && id.length <= ID_CHARS_MAX && id.isWellFormed())) return false;
  const isTime = typeof createdAt === "string" || Number.isFinite(createdAt) || createdAt instanceof Date;
  if (createdAt !== undefined && !isTime) return false;
  return (content === undefined || isUsualContent(content)) && (parts === undefined || areUsualParts(parts));
}

function isUsualMetadata(metadata: unknown): boolean {
  if (metadata === undefined) return true;
  if (!isRecord(metadata) || Object.getPrototypeOf(metadata) !== Object.prototype) return false;
  return Object.getOwnPropertySymbols(metadata).length === 0;
}

function isUsualContent(content: unknown): boolean {
  return typeof content === "string" || areUsualParts(content);
}

function areUsualParts(parts: unknown): boolean {
  if (!Array.isArray(parts)) return false;
  // The list's own methods may be anything, and `every` skips holes.
  for (let index = 0; index < parts.length; index++) {
    if (!isUsualPart(parts[index])) return false;
  }
  return true;
}

function isUsualPart(part: unknown): boolean {
  if (!isRecord(part)) return false;
  const { type, text, toolCallId, name, args, content, isError, injected } = part;
  if (injected !== undefined) return false;
  if (type === "text" || type === "reasoning") return typeof text === "string";
  if (type === "tool_call") return isName(toolCallId) && isName(name) && args !== undefined;
  return (
    type === "tool_result" &&
    isName(toolCallId) &&
    (name === undefined || typeof name === "string") &&
    (typeof content === "string" || areUsualTexts(content)) &&
    (isError === undefined || typeof isError === "boolean")
  );
}

function areUsualTexts(blocks: unknown): boolean {
  return areUsualParts(blocks) && (blocks as Part[]).every(({ type }) => type === "text");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Checks a list of messages. @throws {StoreError} `OPTION_INVALID` if it is not a list; the errors of `parseMessage`. */
export function parseMessages(messages: unknown): ParsedMessage[] {
  // `map` would skip holes. `Array.from` reads them as undefined, which `parseMessage` refuses.
  if (Array.isArray(messages)) return Array.from(messages, parseMessage);
  throw new StoreError("OPTION_INVALID", { option: "messages", expected: "a list of messages", actual: messages });
}

/** Says what is wrong with a value that fits none of several shapes: in the first of which only a part is wrong. */
function refuse({ path, message, ...issue }: z.core.$ZodIssue, before: PropertyKey[] = []): never {
  const at = [...before, ...path];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return invalid(pathOf(at), message);
  const firsts = issue.errors.flatMap(([first]) => first ?? []);
  const nearest = firsts.find((one) => one.path.length > 0);
  if (nearest !== undefined) return refuse(nearest, at);
  const expected = firsts.flatMap((one) => (one.code === "invalid_type" ? [one.expected] : []));
  return invalid(pathOf(at), `${message}: expected ${expected.join(" or ")}`);
}

/** Refuses lists with holes. The schema would read them one by one, and a list may have millions. */
function refuseHoles(input: { content?: unknown; parts?: unknown } | null | undefined): void {
  for (const field of ["content", "parts"] as const) {
    const list = input?.[field];
    if (!Array.isArray(list)) continue;
    if (hasHoles(list)) invalid(field, "a list with holes is not JSON");
    for (const part of list.slice(0, PARTS_MAX)) {
      if (Array.isArray(part?.content) && hasHoles(part.content)) invalid(field, "a list with holes is not JSON");
    }
  }
}

function parseTime(value: number | string | Date): number {
  const ms = typeof value === "string" ? Date.parse(value) : Number(value);
  if (!Number.isSafeInteger(Math.trunc(ms))) {
    invalid(
      "createdAt",
      `expected Unix milliseconds or an ISO 8601 time, got ${typeof value === "string" ? JSON.stringify(value) : value}`,
    );
  }
  if (Math.abs(ms) > TIME_MS_MAX) invalid("createdAt", `${ms} is more than ${TIME_MS_MAX} milliseconds from 1970`);
  return Math.trunc(ms);
}

function invalid(path: string, reason: string): never {
  throw new StoreError("MESSAGE_INVALID", { path, reason });
}

function pathOf(path: readonly PropertyKey[]): string {
  let text = "";
  for (const key of path) text += typeof key === "number" ? `[${key}]` : `${text ? "." : ""}${String(key)}`;
  return text || "message";
}
