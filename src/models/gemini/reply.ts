import * as z from "zod/mini";
import { StoreError } from "../../core/errors.ts";
import { once } from "../../core/once.ts";
import { safeParse } from "../../core/schema.ts";
import { cutLine, oneLine } from "../lines.ts";
import type { ModelUsage } from "../usage.ts";
import { tokensIn, usageSchema } from "./usage.ts";

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
const chunkSchema = once(() => {
  const name = z.string().check(z.minLength(1));
  const args = z.nullish(z.record(z.string(), z.unknown()));
  const part = z.object({
    text: z.nullish(z.string()),
    thought: z.nullish(z.boolean()),
    thoughtSignature: z.nullish(z.string()),
    functionCall: z.nullish(z.object({ id: z.nullish(name), name, args })),
  });
  const content = z.nullish(z.object({ parts: z.nullish(z.array(part)) }));
  return z.object({
    promptFeedback: z.nullish(z.object({ blockReason: z.nullish(z.string()) })),
    candidates: z.nullish(z.array(z.object({ finishReason: z.nullish(z.string()), content }))),
    usageMetadata: usageSchema(),
  });
});

type ParsedChunk = z.infer<ReturnType<typeof chunkSchema>>;
type ParsedContent = NonNullable<NonNullable<ParsedChunk["candidates"]>[number]["content"]>;
export type ChunkPart = NonNullable<ParsedContent["parts"]>[number];

export interface Chunk {
  parts: ChunkPart[];
  /** Set in the last chunk of a stream. */
  finishReason: string | undefined;
  /** The usage of the reply so far. */
  usage: ModelUsage | undefined;
}

/**
 * @param response  The SDK's response, of any shape.
 * @throws {StoreError} `MODEL_REFUSED` if the prompt is blocked; `MODEL_ANSWER_INVALID` for another shape.
 */
export function parseChunk(response: unknown, model: string): Chunk {
  const parsed = safeParse(chunkSchema(), response);
  if (!parsed.success) throw new StoreError("MODEL_ANSWER_INVALID", { model, reason: issueText(parsed.error) });
  const { promptFeedback, candidates, usageMetadata } = parsed.data;
  const blocked = promptFeedback?.blockReason ?? "";
  if (blocked !== "") {
    throw new StoreError("MODEL_REFUSED", { model, reason: `the prompt is blocked (${serverWord(blocked)})` });
  }
  const [candidate] = candidates ?? [];
  return {
    parts: candidate?.content?.parts ?? [],
    finishReason: candidate?.finishReason ?? undefined,
    usage: usageMetadata ? tokensIn(usageMetadata) : undefined,
  };
}

/**
 * @param isEmpty  True if the reply has no text and no call.
 * @throws {StoreError} `MODEL_REFUSED` if the reply is blocked; `MODEL_ANSWER_INVALID` if it is cut off or empty.
 */
export function checkFinish(finishReason: string | undefined, isEmpty: boolean, model: string): void {
  if (finishReason !== undefined && BLOCKED.has(finishReason)) {
    throw new StoreError("MODEL_REFUSED", { model, reason: `the reply is blocked (${finishReason})` });
  }
  const isWhole = finishReason === "STOP" || (finishReason === undefined && isEmpty);
  if (!isWhole) {
    const reason = `it is cut off (${serverWord(finishReason ?? "the stream ended early")})`;
    throw new StoreError("MODEL_ANSWER_INVALID", { model, reason });
  }
  if (isEmpty) throw new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it is empty" });
}

/** Returns the text of a reply that came as a whole. @throws {StoreError} the errors of `parseChunk` and `checkFinish`. */
export function replyText(response: unknown, model: string): string {
  const { parts, finishReason = "STOP" } = parseChunk(response, model);
  const text = parts.map((part) => (part.thought === true ? "" : (part.text ?? ""))).join("");
  checkFinish(finishReason, text.trim() === "", model);
  return text;
}

function serverWord(word: string): string {
  return cutLine(oneLine(word), 60);
}

export function issueText({ issues: [issue] }: z.core.$ZodError): string {
  return `${issue?.path.join(".") || "it"}: ${issue?.message ?? "has another shape"}`;
}
