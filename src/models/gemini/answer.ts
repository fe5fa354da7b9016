import { z } from "zod";
import { StoreError } from "../../core/errors.ts";
import { firstIssue } from "./reply.ts";

const CLAIM = z.object({ text: z.string(), seqs: z.array(z.int()) });

/** What the model is asked for. Its order is the order in which a model writes: what happened, before what follows from it. */
const ANSWER = z.object({
  summary: z.array(CLAIM).describe("What was asked, done and found out: one sentence each, most important first"),
  decisions: z.array(CLAIM).describe("What was decided or demanded, and why: one sentence each"),
  openQuestions: z.array(CLAIM).describe("What is still to be done or found out: one sentence each"),
  identifiers: z.array(CLAIM).describe("Names needed to go on: functions, hosts, versions, error codes"),
  files: z.array(CLAIM).describe("Paths of files that were worked on"),
  title: z.string().describe("At most eight words"),
});

/** Something the model says, and the seqs it says it has it from. */
export type Claim = z.infer<typeof CLAIM>;
export type Answer = z.infer<typeof ANSWER>;

/** JSON Schema of an answer, in the words that Gemini knows: no `$schema`, no bounds that are only those of a double. */
export const ANSWER_SCHEMA: object = jsonSchema();

/**
 * An answer from the text of a reply.
 *
 * @throws {StoreError} `MODEL_ANSWER_INVALID` for what is no JSON, for JSON of another shape, and for an answer that says nothing.
 */
export function parseAnswer(text: string, model: string): Answer {
  const invalid = (reason: string) => new StoreError("MODEL_ANSWER_INVALID", { model, reason });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid("it is no JSON");
  }
  const parsed = ANSWER.safeParse(json);
  if (!parsed.success) throw invalid(firstIssue(parsed.error));
  return parsed.data;
}

function jsonSchema(): object {
  const { $schema: _, ...schema } = z.toJSONSchema(ANSWER, {
    io: "input", // of the output, every object would also forbid what it does not name, at a few tokens each
    override: ({ jsonSchema: node }) => {
      delete node.minimum;
      delete node.maximum;
    },
  });
  return schema;
}
