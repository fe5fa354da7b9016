import type { Part } from "../core/message.ts";
import type { Draft } from "./draft.ts";

/** Messages in their order. */
interface Ordered {
  drafts: Draft[];
  /** Those behind a call that is not answered, of the same reply or said meanwhile: its result may come before them. */
  waiting: Draft[];
}

/** A message that is not sure before more is written. */
export interface WaitingDraft {
  draft: Draft;
  reason: string;
}

export const RESULT_DUE = "it comes behind the result of the call before it";
export const THOUGHT_OPEN = "a thought comes with what it leads to";

export function waitingFor(reason: string, drafts: readonly Draft[]): WaitingDraft[] {
  return drafts.map((draft) => ({ draft, reason }));
}

/**
 * The order is that of the file, except that results follow their calls at once. What arrives while a tool runs (a prompt
 * typed meanwhile, a notice) is written at once but reaches the model after the results; and of several calls of one reply,
 * which run side by side, each comes when the one before it was answered: so every provider takes them, and the messages of
 * a file that has grown begin with those that it had.
 */
export function inOrder(given: readonly Draft[]): Ordered {
  const drafts: Draft[] = [];
  let current: object | undefined;
  let openIds = new Set<string>();
  let meanwhile: Draft[] = [];
  /** Further pieces of the reply, each with the results that came early. */
  let later: [Draft, ...Draft[]][] = [];

  function say(draft: Draft): void {
    drafts.push(draft);
    openIds = new Set(callIdsOf(draft.message.parts));
  }
  function answer(draft: Draft): void {
    drafts.push(draft);
    for (const id of resultIdsOf(draft)) openIds.delete(id);
  }
  function endReply(): void {
    drafts.push(...later.flat(), ...meanwhile);
    later = [];
    meanwhile = [];
  }
  function goOn(): void {
    for (let next = later[0]; openIds.size === 0 && next !== undefined; next = later[0]) {
      const [piece, ...results] = next;
      later.shift();
      say(piece);
      for (const result of results) answer(result);
    }
    if (openIds.size === 0) endReply();
  }

  /** Results that came in one message, but answer several pieces of the reply, go apart. */
  function* apart(draft: Draft): Generator<Draft> {
    const answered = resultIdsOf(draft);
    const isOfSeveral = later.some(([call]) => callIdsOf(call.message.parts).some((id) => answered.includes(id)));
    if (answered.length > 1 && isOfSeveral) yield* resultByResult(draft);
    else yield draft;
  }
  function take(draft: Draft): void {
    const { reply } = draft;
    if (reply !== undefined && reply === current && openIds.size > 0) {
      later.push([draft]);
      return;
    }
    if (reply !== undefined) {
      endReply();
      current = reply;
      say(draft);
      return;
    }
    const answered = resultIdsOf(draft);
    const asking = later.find(([call]) => callIdsOf(call.message.parts).some((id) => answered.includes(id)));
    if (answered.some((id) => openIds.has(id))) answer(draft);
    else if (asking !== undefined) asking.push(draft);
    else meanwhile.push(draft);
    goOn();
  }
  for (const draft of given) for (const piece of apart(draft)) take(piece);
  return { drafts, waiting: [...later.flat(), ...meanwhile] };
}

/** A message for each result, with what stands behind it; the first keeps the id. */
function resultByResult({ line, message }: Draft): Draft[] {
  const groups: Part[][] = [];
  for (const part of message.parts) {
    const group = groups.at(-1);
    const isNext = part.type === "tool_result" && group?.some(({ type }) => type === "tool_result");
    if (group === undefined || isNext) groups.push([part]);
    else group.push(part);
  }
  return groups.map((parts, index) => {
    const id = index === 0 ? message.id : `${message.id}/${index}`;
    return { line, message: { ...message, id, parts } };
  });
}

function resultIdsOf({ message }: Draft): string[] {
  return message.parts.flatMap((part) => (part.type === "tool_result" ? [part.toolCallId] : []));
}

export function callIdsOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []));
}
