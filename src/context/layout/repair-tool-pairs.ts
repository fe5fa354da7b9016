import { StoreError } from "../../core/errors.ts";
import type { Part, PartInput, Role } from "../../core/message.ts";

/** The fields that `repairToolPairs` reads. Calls and results are in `parts`, or in `content` if it is a list. */
export interface PairedMessage {
  role: Role;
  content?: string | readonly PartInput[];
  parts?: readonly PartInput[];
}

/** A removed call or result, or a message that became empty. Indexes are those of the given history. */
export type RemovedPair =
  | {
      kind: "call" | "result";
      messageIndex: number;
      partIndex: number;
      toolCallId: string;
      /**
       * - `unanswered`: the tool messages right after the call have no result for it;
       * - `unasked`: the message before the result's tool messages has no call with that id;
       * - `repeated`: the call has its result already;
       * - `misplaced`: a call outside an assistant message, a result outside a tool message.
       */
      reason: "unanswered" | "unasked" | "repeated" | "misplaced";
    }
  | { kind: "message"; messageIndex: number };

export interface RepairedToolPairs<M> {
  messages: M[];
  removed: RemovedPair[];
  /** The messages that lost parts: their indexes in the given history, and in `messages`. */
  changed: { messageIndex: number; index: number }[];
}

/**
 * Removes tool calls without a result, and results without a call, from a history. Use it for histories that providers
 * refuse: cut off at the front, interrupted, or joined from several. Rendered contexts need no repair.
 *
 * A result must be in the tool messages right after its call. An id may be used again in a later step. The other parts of a
 * message stay, but a message is removed if only reasoning or white space is left. Nothing is moved or added. A message that
 * needs no change is returned as the same object.
 *
 * A call that still waits for its results is removed. So append the results before you repair a history.
 *
 * @returns the history, with new messages in place of those that lost parts, and a list of the changes.
 * @throws {StoreError} `OPTION_INVALID` for what is not a list of messages.
 */
export function repairToolPairs<M extends PairedMessage>(history: readonly M[]): RepairedToolPairs<M> {
  checkHistory(history);
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

function unpairedOf(history: readonly PairedMessage[]): UnpairedPart[] {
  const unpaired: UnpairedPart[] = [];
  /** The unanswered calls of the last message with another role than `tool`. */
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

function refuse(option: string, expected: string, actual: unknown): never {
  throw new StoreError("OPTION_INVALID", { option, expected, actual });
}

function checkHistory(history: unknown): void {
  if (!Array.isArray(history)) refuse("the history", "a list of messages", history);
  for (const [index, message] of history.entries()) {
    if (typeof message !== "object" || message === null) refuse(`history[${index}]`, "a message", message);
    const { parts } = message;
    if (parts !== undefined && !Array.isArray(parts)) refuse(`history[${index}].parts`, "a list of parts", parts);
  }
}

/** The parts are not checked here, because `append` checks them. */
function partsOf({ content, parts }: PairedMessage): readonly Part[] {
  return (parts ?? (Array.isArray(content) ? content : [])) as readonly Part[];
}

function saysNothing(part: Part): boolean {
  return part?.type === "reasoning" || (part.type === "text" && !/\S/.test(part.text));
}
