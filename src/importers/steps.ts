import type { Part } from "../core/message.ts";
import { type Draft, draftOf } from "./draft.ts";
import type { JsonObject } from "./lines.ts";

/** A part of an assistant's turn with the result of its call, where both stand in one place; or the end of a model call. */
export type StepItem = { part: Part; result?: Part } | "end";

/**
 * An assistant's turn as messages, one for each of its parts, a thought with what it leads to: so a turn that was imported
 * while it grew has the same messages. A later message of the same turn is called `<id>/1`, a result `<id>:<toolCallId>`.
 */
export function draftsOfTurn(
  line: number,
  id: string,
  items: readonly StepItem[],
  about: { createdAt?: number | undefined; metadata?: JsonObject },
): Draft[] {
  const drafts: Draft[] = [];
  let reply = {};
  let thoughts: Part[] = [];
  let count = 0;
  function say(parts: Part[]): string {
    const partId = count === 0 ? id : `${id}/${count}`;
    count++;
    const draft = draftOf(line, "assistant", partId, parts, { ...about, metadata: { ...about.metadata } });
    draft.reply = reply;
    drafts.push(draft);
    return partId;
  }
  for (const item of items) {
    if (item === "end") {
      reply = {};
      continue;
    }
    if (item.part.type === "reasoning") {
      thoughts.push(item.part);
      continue;
    }
    const partId = say([...thoughts, item.part]);
    thoughts = [];
    if (item.result !== undefined) drafts.push(resultDraftOf(line, partId, item.result, about.createdAt));
  }
  if (thoughts.length > 0) say(thoughts);
  return drafts;
}

/** A result as a message of its own, named after the message that called. */
export function resultDraftOf(line: number, callerId: string, result: Part, createdAt: number | undefined): Draft {
  return draftOf(line, "tool", `${callerId}:${result.toolCallId}`, [result], { createdAt });
}
