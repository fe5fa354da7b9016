import { addTo } from "../../core/groups.ts";
import type { Message, Part } from "../../core/message.ts";
import { messageTokens, type TokenCounter } from "../../core/tokens.ts";
import { wellFormed } from "../../core/well-formed.ts";
import { tokenSum } from "../costs.ts";
import type { ContextMessage } from "../result.ts";
import type { RenderView } from "../view.ts";
import { groupSteps, NO_TEXT, type PricedMessage, priced, renderStep, type Step } from "./steps.ts";

/** A view whose messages every provider accepts. */
export interface PreparedView extends RenderView {
  pinnedMessages: readonly PricedMessage[];
  pinnedTokens: number;
  /** The number of messages that are neither pinned nor in the window. */
  coldCount: number;
  /** The tokens of these messages. */
  coldTokens: number;
  steps: readonly Step[];
}

/** Anthropic and Gemini refuse a conversation in which the assistant speaks first. */
const OPENING: ContextMessage = {
  role: "user",
  parts: [{ type: "text", text: "[This conversation begins with the assistant.]" }],
};

export function prepareView(stored: RenderView, tokenCounter: TokenCounter): PreparedView {
  const view = { ...stored, ...acceptableMessages(stored, tokenCounter) };
  const coldCount = view.messageCount - view.pinned.length - view.window.length;
  const inThemes = tokenSum(view.themes) - tokenSum(stored.window.filter(({ id }) => view.overlap.has(id)));
  const steps = groupSteps(view.window, view.shortened);

  const pinned = groupSteps(view.pinned).flatMap((step) => renderStep(step, false, tokenCounter));
  const firstIndex = pinned.findIndex(({ message }) => message.role !== "system");
  // Without pinned messages, the memory message comes first, with the user's role. If nothing is cold, the window comes first.
  const first = pinned[firstIndex]?.message ?? (coldCount === 0 ? view.window[0] : undefined);
  const pinnedMessages =
    first?.role === "assistant"
      ? pinned.toSpliced(firstIndex === -1 ? pinned.length : firstIndex, 0, priced(OPENING, tokenCounter))
      : pinned;
  return {
    ...view,
    coldCount,
    coldTokens: Math.max(0, inThemes),
    steps,
    pinnedMessages,
    pinnedTokens: tokenSum(pinnedMessages),
  };
}

/**
 * Returns the messages of a view in a form that every provider accepts. Three changes may be necessary; a message without changes
 * is returned as the same object.
 *
 * - Lone surrogates become U+FFFD, in every string and key.
 * - Texts of white space are removed. If only reasoning is left, the message gets `[no text]`, because reasoning is not sent to
 *   every provider.
 * - If an earlier call has the same id, the call and its result get a new one, `call_0_2`. Some providers number their calls
 *   from zero in every answer, and Anthropic refuses a request in which two calls share an id.
 *
 * Later messages do not change the form of a message, so prompt caches hit.
 */
export function acceptableMessages(
  { pinned, window }: RenderView,
  tokenCounter: TokenCounter,
): Pick<RenderView, "pinned" | "window"> {
  const callIds = new CallIds();
  const accept = (message: Message): Message => {
    let form = forms.get(message);
    if (form === undefined) {
      const said = wellFormedMessage(message);
      form = { said, shown: withoutBlanks(said) };
      forms.set(message, form);
    }
    const { said, shown } = form;
    const parts = callIds.separate(said, shown);
    if (parts === message.parts) return said;
    return { ...said, parts, tokenCount: messageTokens({ ...said, parts }, tokenCounter) };
  };
  return { pinned: pinned.map(accept), window: window.map(accept) };
}

/** Each message without lone surrogates, and its parts without blanks. They are kept, because two renders share most messages. */
const forms = new WeakMap<Message, { said: Message; shown: Part[] }>();

function wellFormedMessage(message: Message): Message {
  const parts = wellFormed(message.parts);
  const metadata = wellFormed(message.metadata);
  if (parts === message.parts && metadata === message.metadata) return message;
  return { ...message, parts, ...(metadata !== undefined && { metadata }) };
}

function withoutBlanks({ role, parts }: Message): Part[] {
  if (role === "tool") return mapped(parts, withoutBlankContent);
  const said = parts.some(isBlank) ? parts.filter((part) => !isBlank(part)) : parts;
  return said.some((part) => part.type !== "reasoning") ? said : [...said, NO_TEXT];
}

function withoutBlankContent(part: Part): Part {
  if (part.type !== "tool_result" || typeof part.content === "string" || !part.content.some(isBlank)) return part;
  return { ...part, content: part.content.filter((item) => !isBlank(item)) };
}

function isBlank(part: Part): boolean {
  return part.type === "text" && !/\S/.test(part.text);
}

/** Returns the same list if no item changes. */
function mapped(parts: Part[], change: (part: Part) => Part): Part[] {
  let changed: Part[] | undefined;
  for (const [index, part] of parts.entries()) {
    const other = change(part);
    if (other !== part) changed ??= parts.slice(0, index);
    changed?.push(other);
  }
  return changed ?? parts;
}

class CallIds {
  readonly #taken = new Set<string>();
  /** The next suffix to try, by id. */
  readonly #next = new Map<string, number>();
  /** The calls of each step that wait for a result, with their ids as appended and as rendered. */
  readonly #waiting = new Map<number, { before: string; after: string }[]>();

  /** Returns the same list if no id changes. A result answers the first waiting call of its step that has its id. */
  separate({ stepId }: Message, parts: Part[]): Part[] {
    return mapped(parts, (part) => {
      if (part.type === "tool_call") return withCallId(part, this.#call(stepId, part.toolCallId));
      if (part.type === "tool_result") return withCallId(part, this.#result(stepId, part.toolCallId));
      return part;
    });
  }

  #call(stepId: number, before: string): string {
    let after = before;
    let number = this.#next.get(before) ?? 2;
    while (this.#taken.has(after)) after = `${before}_${number++}`;
    if (after !== before) this.#next.set(before, number);
    this.#taken.add(after);
    addTo(this.#waiting, stepId, { before, after });
    return after;
  }

  #result(stepId: number, before: string): string {
    const waiting = this.#waiting.get(stepId) ?? [];
    const index = waiting.findIndex((call) => call.before === before);
    return index === -1 ? before : waiting.splice(index, 1)[0]!.after;
  }
}

function withCallId<P extends Part & { toolCallId: string }>(part: P, toolCallId: string): P {
  return part.toolCallId === toolCallId ? part : { ...part, toolCallId };
}
