import * as z from "zod/mini";
import { StoreError } from "../../core/errors.ts";
import { jsonSchemaOf } from "../../core/json-schema.ts";
import { once } from "../../core/once.ts";
import { safeParse } from "../../core/schema.ts";
import { cutLine, oneLine } from "../lines.ts";

/** Finish reasons that depend on the content. The same request would end in the same way. */
const BLOCKED: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
]);

// The fields that we read from a response. The SDK passes on responses of any shape.
const replySchema = once(() => {
  const part = z.object({ text: z.nullish(z.string()), thought: z.nullish(z.boolean()) });
  const content = z.nullish(z.object({ parts: z.nullish(z.array(part)) }));
  return z.object({
    promptFeedback: z.nullish(z.object({ blockReason: z.nullish(z.string()) })),
    candidates: z.nullish(z.array(z.object({ finishReason: z.nullish(z.string()), content }))),
  });
});

/**
 * Returns the text of a reply, without reasoning.
 *
 * @param response  The SDK's response, of any shape.
 * @throws {StoreError} `MODEL_REFUSED` if the prompt or the reply is blocked; `MODEL_ANSWER_INVALID` if it has another shape, is cut
 *   off, or is empty.
 */
export function replyText(response: unknown, model: string): string {
  const refused = (reason: string): StoreError => new StoreError("MODEL_REFUSED", { model, reason });
  const invalid = (reason: string): StoreError => new StoreError("MODEL_ANSWER_INVALID", { model, reason });
  const parsed = safeParse(replySchema(), response);
  if (!parsed.success) throw invalid(issueText(parsed.error));
  const { promptFeedback, candidates } = parsed.data;
  const blocked = promptFeedback?.blockReason ?? "";
  if (blocked !== "") throw refused(`the prompt is blocked (${serverWord(blocked)})`);
  const [candidate] = candidates ?? [];
  const finish = candidate?.finishReason ?? "STOP";
  if (BLOCKED.has(finish)) throw refused(`the reply is blocked (${finish})`);
  if (finish !== "STOP") throw invalid(`it is cut off (${serverWord(finish)})`);
  const parts = candidate?.content?.parts ?? [];
  const text = parts.map((part) => (part.thought === true ? "" : (part.text ?? ""))).join("");
  if (text.trim() === "") throw invalid("it is empty");
  return text;
}

function serverWord(word: string): string {
  return cutLine(oneLine(word), 60);
}

export function issueText({ issues: [issue] }: z.core.$ZodError): string {
  return `${issue?.path.join(".") || "it"}: ${issue?.message ?? "has another shape"}`;
}

/** A model writes the fields in this order, so it lists events before it draws conclusions. */
const answerSchema = once(() => {
  const claim = z.object({ text: z.string(), seqs: z.array(z.int()) });
  const statement = z.object({ ...claim.shape, importance: z.optional(z.int()) });
  const claimsAbout = (meaning: string) => z.array(claim).check(z.describe(meaning));
  const statementsAbout = (meaning: string) => z.array(statement).check(z.describe(meaning));
  return z.object({
    summary: statementsAbout("What was asked, done and found out: one sentence each, most important first"),
    decisions: statementsAbout("What was decided or demanded, and why: one sentence each"),
    openQuestions: statementsAbout("What is still to be done or found out: one sentence each"),
    identifiers: claimsAbout("Names needed to go on: functions, hosts, versions, error codes"),
    files: claimsAbout("Paths of files that were worked on"),
    title: z.string().check(z.describe("At most eight words")),
  });
});

/** A statement, or a name without an importance. */
export type Claim = Answer["summary"][number];
export type Answer = z.infer<ReturnType<typeof answerSchema>>;

/** The JSON Schema of an answer, without keywords that Gemini does not know. */
export const answerJsonSchema: () => object = once(() => jsonSchemaOf(answerSchema(), "input"));

/** Parses the text of a reply. @throws {StoreError} `MODEL_ANSWER_INVALID` if it is not JSON of this shape. */
export function parseAnswer(text: string, model: string): Answer {
  const invalid = (reason: string) => new StoreError("MODEL_ANSWER_INVALID", { model, reason });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid("it is not JSON");
  }
  const parsed = safeParse(answerSchema(), json);
  if (!parsed.success) throw invalid(issueText(parsed.error));
  return parsed.data;
}
