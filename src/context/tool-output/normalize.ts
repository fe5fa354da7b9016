import type { Message } from "../../core/message.ts";
import type { SessionSettings } from "../../core/options.ts";
import type { TokenCounter } from "../../core/tokens.ts";
import type { RenderView } from "../view.ts";
import { shortenToolMessage } from "./shorten-step.ts";

type NormalLimits = Pick<SessionSettings, "oldMessageTokensMax" | "messageTokensMax" | "recentTokensMax">;

/** The messages that were cut are kept, because a message is rendered many times, and cutting megabytes takes long. */
const known = new WeakMap<Message, { limit: number; tokenCounter: TokenCounter; normal: Message }>();

/**
 * Cuts the tool results and arguments of messages that cost more than their age allows. The limit is `messageTokensMax` for
 * recent messages and `oldMessageTokensMax` for old ones. Gemini CLI has the same two limits, but measures age differently.
 *
 * A message's age is the number of tokens between it and the first message that has not graduated. It changes only when the
 * frontier moves, so that prompt caches hit. Up to `recentTokensMax` a message is recent, and from twice that on it is old. In
 * between, the limit falls linearly. A message within its limit is returned as the same object.
 *
 * @param graduatedSeq  The first seq that has not graduated.
 */
export function normalWindow(
  window: readonly Message[],
  graduatedSeq: number,
  limits: NormalLimits,
  tokenCounter: TokenCounter,
): Pick<RenderView, "window" | "shortened"> {
  let age = window.reduce((sum, { seq, tokenCount }) => sum + (seq < graduatedSeq ? tokenCount : 0), 0);
  const shortened = new Set<number>();
  const messages = window.map((message) => {
    if (message.seq < graduatedSeq) age -= message.tokenCount;
    const limit = limitAt(age, limits);
    if (message.tokenCount <= limit) return message;
    const normal = normalMessage(message, limit, tokenCounter);
    if (normal !== message) shortened.add(message.id);
    return normal;
  });
  return { window: messages, shortened };
}

function limitAt(age: number, { oldMessageTokensMax, messageTokensMax, recentTokensMax }: NormalLimits): number {
  if (age <= recentTokensMax) return messageTokensMax;
  const faded = Math.min(1, (age - recentTokensMax) / Math.max(1, recentTokensMax));
  return Math.floor(messageTokensMax - faded * (messageTokensMax - oldMessageTokensMax));
}

function normalMessage(message: Message, limit: number, tokenCounter: TokenCounter): Message {
  const last = known.get(message);
  if (last?.limit === limit && last.tokenCounter === tokenCounter) return last.normal;
  const normal = shortenToolMessage(message, limit, tokenCounter);
  known.set(message, { limit, tokenCounter, normal });
  return normal;
}
