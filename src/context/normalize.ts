import type { Message } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { shortenToolMessage } from "./shorten-step.ts";

/** Most tokens that a message of the window may cost, by its age. */
export type NormalLimits = Pick<SessionSettings, "oldMessageTokensMax" | "messageTokensMax" | "recentTokensMax">;

/** A window, and which of its messages are not what was appended. */
export interface NormalWindow {
  window: readonly Message[];
  shortened: ReadonlySet<number>;
}

/** What became of messages: shortening one of megabytes takes long, and the same ones are rendered again and again. */
const known = new WeakMap<Message, { limit: number; tokenCounter: TokenCounter; normal: Message }>();

/**
 * The window with results and arguments of calls cut down where a message costs more than one of its age may: recent ones
 * `messageTokensMax`, old ones `oldMessageTokensMax`. Gemini CLI's names and idea, but for what age is.
 *
 * Age is measured back from where graduation has come to, in tokens as appended. What has not graduated is recent, and so are
 * the `recentTokensMax` before it; over as many more tokens the limit falls evenly from the one to the other. That place
 * moves with the frontier alone. Were age measured from the newest message, each append would change messages before it, and
 * no prompt cache would hold anything.
 *
 * What a person or the model said, reasoning and files stay as they are, and so does every message within its limit: the
 * very same object.
 *
 * @param window  In order. @param graduatedSeq  seq of the first message that has not graduated.
 */
export function normalWindow(
  window: readonly Message[],
  graduatedSeq: number,
  limits: NormalLimits,
  tokenCounter: TokenCounter,
): NormalWindow {
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
