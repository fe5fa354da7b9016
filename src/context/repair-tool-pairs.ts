import type { Part, PartInput, Role } from "../core/message.ts";

/** What `repairToolPairs` looks at of a message. Calls and results stand in `parts`, or in `content` where that is a list. */
export interface PairedMessage {
  role: Role;
  content?: string | readonly PartInput[];
  parts?: readonly PartInput[];
}

/** A call or a result that had to go, or a message that nothing was left of. Indexes are those of the history given. */
export type RemovedPair =
  | {
      kind: "call" | "result";
      messageIndex: number;
      partIndex: number;
      toolCallId: string;
      /**
       * - `unanswered`: no result in the tool messages right after the call;
       * - `unasked`: no call of that id in the message that the result's block follows;
       * - `repeated`: the call has its result already;
       * - `misplaced`: a call outside an assistant message, a result outside a tool message.
       */
      reason: "unanswered" | "unasked" | "repeated" | "misplaced";
    }
  | { kind: "message"; messageIndex: number };

export interface RepairedToolPairs<M> {
  messages: M[];
  removed: RemovedPair[];
  /** Messages that stay with fewer parts: where they stood in the history, and where they stand in `messages`. */
  changed: { messageIndex: number; index: number }[];
}

/**
 * A history in which every call is answered in the tool messages right after it, and every result answers a call there.
 *
 * For histories that arrive broken: cut off at the front, interrupted, put together from several. Providers refuse these.
 * Order counts: a result that comes before its call, or after something else was said, answers nothing, and ids that
 * repeat from step to step are no duplicates. Calls and results without each other go, what was said beside them stays,
 * and a message of which nothing but reasoning or blanks is left goes too. Nothing is moved and nothing is made up; a
 * history that is in order comes back as the very same messages.
 *
 * A call at the very end that is still being answered is unanswered: repair a history before it goes on, not meanwhile.
 * Rendered contexts need no repair.
 *
 * @returns new messages in place of those that lose parts, and what was done.
 */
export function repairToolPairs<M extends PairedMessage>(history: readonly M[]): RepairedToolPairs<M> {
  const removed = unpairedOf(history);
  const goneByMessage = new Map<number, Set<number>>();
  for (const { messageIndex, partIndex } of removed) {
    const gone = goneByMessage.get(messageIndex);
    if (gone === undefined) goneByMessage.set(messageIndex, new Set([partIndex]));
    else gone.add(partIndex);
  }

  const repaired: RepairedToolPairs<M> = { messages: [], removed: [], changed: [] };
  history.forEach((message, messageIndex) => {
    const gone = goneByMessage.get(messageIndex);
    if (gone === undefined) {
      repaired.messages.push(message);
      return;
    }
    const rest = partsOf(message).filter((_, partIndex) => !gone.has(partIndex));
    repaired.removed.push(...removed.filter((part) => part.messageIndex === messageIndex));
    if (rest.every(saysNothing)) {
      repaired.removed.push({ kind: "message", messageIndex });
      return;
    }
    repaired.changed.push({ messageIndex, index: repaired.messages.length });
    repaired.messages.push(message.parts === undefined ? { ...message, content: rest } : { ...message, parts: rest });
  });
  return repaired;
}

type UnpairedPart = Extract<RemovedPair, { kind: "call" | "result" }>;

/** In the order of the history. */
function unpairedOf(history: readonly PairedMessage[]): UnpairedPart[] {
  const unpaired: UnpairedPart[] = [];
  /** Calls of the last message that was no tool message. */
  let waiting: UnpairedPart[] = [];
  let answered = new Set<string>();
  const closeBlock = () => {
    unpaired.push(...waiting);
    waiting = [];
    answered = new Set();
  };
  history.forEach((message, messageIndex) => {
    if (message.role !== "tool") closeBlock();
    partsOf(message).forEach((part, partIndex) => {
      if (part?.type !== "tool_call" && part?.type !== "tool_result") return;
      const { toolCallId } = part;
      if (part.type === "tool_call") {
        const call = { kind: "call", messageIndex, partIndex, toolCallId } as const;
        if (message.role === "assistant") waiting.push({ ...call, reason: "unanswered" });
        else unpaired.push({ ...call, reason: "misplaced" });
        return;
      }
      const result = { kind: "result", messageIndex, partIndex, toolCallId } as const;
      const index = waiting.findIndex((call) => call.toolCallId === toolCallId);
      if (message.role !== "tool") unpaired.push({ ...result, reason: "misplaced" });
      else if (index === -1) unpaired.push({ ...result, reason: answered.has(toolCallId) ? "repeated" : "unasked" });
      else {
        waiting.splice(index, 1);
        answered.add(toolCallId);
      }
    });
  });
  closeBlock();
  return unpaired.sort((left, right) => left.messageIndex - right.messageIndex || left.partIndex - right.partIndex);
}

/** As `append` would find them: it has the last word on their shape, and what is none at all is passed on to it. */
function partsOf({ content, parts }: PairedMessage): readonly Part[] {
  return (parts ?? (Array.isArray(content) ? content : [])) as readonly Part[];
}

function saysNothing(part: Part): boolean {
  return part?.type === "reasoning" || (part.type === "text" && !/\S/.test(part.text));
}
