import type { Message } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { shortenToolMessage } from "./shorten-step.ts";
import type { RenderView } from "./view.ts";

/** Most tokens that a message of the window may cost, depending on its age. */
type NormalLimits = Pick<SessionSettings, "oldMessageTokensMax" | "messageTokensMax" | "recentTokensMax">;

/** A cache, because cutting a message of megabytes takes long, and a message is rendered many times. */
const known = new WeakMap<Message, { limit: number; tokenCounter: TokenCounter; normal: Message }>();

/**
 * Cuts the results and arguments of messages that cost more than their age allows: recent messages `messageTokensMax`, old
 * messages `oldMessageTokensMax`. Gemini CLI has the same two limits, but another age.
 *
 * Age is the number of tokens, as appended, between a message and the first message that has not graduated. So it changes only
 * when the frontier moves. If it were measured from the newest message, prompt caches would miss. Messages that have not
 * graduated are recent, and so are those within `recentTokensMax` tokens before them. Over as many more tokens, the limit
 * falls linearly from one value to the other.
 *
 * Texts, reasoning and files stay. A message within its limit is returned as the same object.
 *
 * @param window  In order.
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
