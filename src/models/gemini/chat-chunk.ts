import { z } from "zod";
import { StoreError } from "../../core/errors.ts";
import type { ModelUsage } from "../usage.ts";
import { BLOCKED, firstIssue, serverWord } from "./reply.ts";

/** What is read of a piece of a stream: the SDK passes on whatever came, under types that promise more. */
const PART = z.object({
  text: z.string().nullish(),
  thought: z.boolean().nullish(),
  thoughtSignature: z.string().nullish(),
  functionCall: z
    .object({
      id: z.string().min(1).nullish(),
      name: z.string().min(1),
      args: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
});
/** A reply is none the worse for a wrong bill. */
const COUNT = z.int().nonnegative().nullish().catch(undefined);
const CHUNK = z.object({
  promptFeedback: z.object({ blockReason: z.string().nullish() }).nullish(),
  candidates: z
    .array(
      z.object({
        finishReason: z.string().nullish(),
        content: z.object({ parts: z.array(PART).nullish() }).nullish(),
      }),
    )
    .nullish(),
  usageMetadata: z
    .object({ promptTokenCount: COUNT, candidatesTokenCount: COUNT, thoughtsTokenCount: COUNT })
    .nullish()
    .catch(undefined),
});

export type ChunkPart = z.infer<typeof PART>;

export interface Chunk {
  parts: ChunkPart[];
  /** Undefined but in the last piece of a reply. */
  finishReason: string | undefined;
  /** Of the reply so far. */
  usage: ModelUsage | undefined;
}

/**
 * One piece of a streamed reply.
 *
 * @param response  What the SDK gives for it, of any shape.
 * @throws {StoreError} `MODEL_REFUSED` where the prompt is blocked; `MODEL_ANSWER_INVALID` for another shape.
 */
export function parseChunk(response: unknown, model: string): Chunk {
  const parsed = CHUNK.safeParse(response);
  if (!parsed.success) throw new StoreError("MODEL_ANSWER_INVALID", { model, reason: firstIssue(parsed.error) });
  const { promptFeedback, candidates, usageMetadata } = parsed.data;
  const blocked = promptFeedback?.blockReason ?? "";
  if (blocked !== "")
    throw new StoreError("MODEL_REFUSED", { model, reason: `the prompt is blocked (${serverWord(blocked)})` });
  const [candidate] = candidates ?? [];
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usageMetadata ?? {};
  return {
    parts: candidate?.content?.parts ?? [],
    finishReason: candidate?.finishReason ?? undefined,
    usage: usageMetadata
      ? { inputTokens: promptTokenCount ?? 0, outputTokens: (candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0) }
      : undefined,
  };
}

/**
 * @param isEmpty  Whether nothing was said or called.
 * @throws {StoreError} unless the reply came to its end: `MODEL_REFUSED` where it was blocked, else `MODEL_ANSWER_INVALID`.
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
