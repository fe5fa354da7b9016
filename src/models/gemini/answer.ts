import { z } from "zod";
import { StoreError } from "../../core/errors.ts";
import { once } from "../../core/once.ts";
import { firstIssue } from "./reply.ts";

/** The shape of an answer. A model writes the fields in this order, so events come before conclusions. */
const answerSchema = once(() => {
  const claims = z.array(z.object({ text: z.string(), seqs: z.array(z.int()) }));
  return z.object({
    summary: claims.describe("What was asked, done and found out: one sentence each, most important first"),
    decisions: claims.describe("What was decided or demanded, and why: one sentence each"),
    openQuestions: claims.describe("What is still to be done or found out: one sentence each"),
    identifiers: claims.describe("Names needed to go on: functions, hosts, versions, error codes"),
    files: claims.describe("Paths of files that were worked on"),
    title: z.string().describe("At most eight words"),
  });
});

/** A statement of the model, and the seqs that it cites. */
export type Claim = Answer["summary"][number];
export type Answer = z.infer<ReturnType<typeof answerSchema>>;

/** The JSON Schema of an answer without keywords that Gemini does not know. */
export const answerJsonSchema: () => object = once(jsonSchema);

/**
 * Parses the text of a reply.
 *
 * @throws {StoreError} `MODEL_ANSWER_INVALID` if it is not JSON of the expected shape.
 */
export function parseAnswer(text: string, model: string): Answer {
  const invalid = (reason: string) => new StoreError("MODEL_ANSWER_INVALID", { model, reason });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid("it is no JSON");
  }
  const parsed = answerSchema().safeParse(json);
  if (!parsed.success) throw invalid(firstIssue(parsed.error));
  return parsed.data;
}

function jsonSchema(): object {
  const { $schema: _, ...schema } = z.toJSONSchema(answerSchema(), {
    io: "input", // the output schema would add `additionalProperties: false` to each object, at a few tokens each
    override: ({ jsonSchema: node }) => {
      delete node.minimum;
      delete node.maximum;
    },
  });
  return schema;
}
