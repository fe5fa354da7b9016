import * as z from "zod/mini";
import { StoreError } from "../../core/errors.ts";
import { jsonSchemaOf } from "../../core/json-schema.ts";
import { once } from "../../core/once.ts";
import { safeParse } from "../../core/schema.ts";
import { issueText } from "./reply.ts";

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
