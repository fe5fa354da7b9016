import type { Message, Part } from "../core/message.ts";
import { messageTokens, type TokenCounter } from "../core/tokens.ts";
import type { RenderView } from "./view.ts";

/** Stands in a message that says nothing: every provider refuses one without content. */
const NO_TEXT: Part = { type: "text", text: "[no text]" };

/**
 * A view whose messages say the same in a form that every provider accepts. Messages that are accepted as they are come
 * back as the very same objects; of the others
 *
 * - texts of white space alone go, and a message that says nothing besides (reasoning is not sent to everyone) gets
 *   `[no text]`;
 * - a call whose id an earlier call has gets one of its own, `call_0_2`, and its result the same: Anthropic refuses a
 *   request in which two calls share an id, while others number them anew in every answer.
 *
 * What becomes of a message depends on those before it in the view and on none after it, so a prefix stays a prefix.
 * `tokenCount` of a changed message is that of its new parts.
 */
export function acceptableView(view: RenderView, tokenCounter: TokenCounter): RenderView {
  const callIds = new CallIds();
  const accept = (message: Message): Message => {
    const parts = callIds.keepApart(message, withoutBlanks(message));
    if (parts === message.parts) return message;
    return { ...message, parts, tokenCount: messageTokens({ ...message, parts }, tokenCounter) };
  };
  return { ...view, pinned: view.pinned.map(accept), window: view.window.map(accept) };
}

/** The parts themselves where none is blank. */
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

/** The list itself where no item changes. */
function mapped(parts: Part[], change: (part: Part) => Part): Part[] {
  const changed = parts.map(change);
  return changed.every((part, index) => part === parts[index]) ? parts : changed;
}

/** Gives out ids, first come first served. */
class CallIds {
  readonly #taken = new Set<string>();
  /** By id: the number to try next. */
  readonly #next = new Map<string, number>();
  /** By step: its calls that wait for a result, as they were appended and as they are now. */
  readonly #waiting = new Map<number, { before: string; after: string }[]>();

  /** The parts themselves where no id changes. Results answer calls of their own step, one each, in order. */
  keepApart({ stepId }: Message, parts: Part[]): Part[] {
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
    const waiting = this.#waiting.get(stepId);
    if (waiting === undefined) this.#waiting.set(stepId, [{ before, after }]);
    else waiting.push({ before, after });
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
