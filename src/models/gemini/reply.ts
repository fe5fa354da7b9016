import { z } from "zod";
import { StoreError } from "../../core/errors.ts";
import { cutLine, oneLine } from "../lines.ts";

/** Ends that are about what was said: the same again would end the same. */
export const BLOCKED: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
]);

/** What is read of a reply: the SDK passes on whatever came, under types that promise more. */
const PART = z.object({ text: z.string().nullish(), thought: z.boolean().nullish() });
const CANDIDATE = z.object({
  finishReason: z.string().nullish(),
  content: z.object({ parts: z.array(PART).nullish() }).nullish(),
});
const REPLY = z.object({
  promptFeedback: z.object({ blockReason: z.string().nullish() }).nullish(),
  candidates: z.array(CANDIDATE).nullish(),
});

/**
 * The text of a reply that came to its end.
 *
 * @param response  What the SDK gives for it, of any shape.
 * @throws {StoreError} `MODEL_REFUSED` where the prompt or the reply was blocked; `MODEL_ANSWER_INVALID` where the reply is
 *   cut off, empty, or has another shape.
 */
export function replyText(response: unknown, model: string): string {
  const refused = (reason: string) => new StoreError("MODEL_REFUSED", { model, reason });
  const invalid = (reason: string) => new StoreError("MODEL_ANSWER_INVALID", { model, reason });
  const parsed = REPLY.safeParse(response);
  if (!parsed.success) throw invalid(firstIssue(parsed.error));
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

/** A name that the service gives, as an error may show it, whatever was sent in its place. */
export function serverWord(word: string): string {
  return cutLine(oneLine(word), 60);
}

/** Where a reply has another shape first, and what it has there. */
export function firstIssue({ issues: [issue] }: z.ZodError): string {
  return `${issue?.path.join(".") || "it"}: ${issue?.message ?? "has another shape"}`;
}
