import * as z from "zod/mini";
import { StoreError } from "../../core/errors.ts";
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
