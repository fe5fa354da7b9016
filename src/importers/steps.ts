import type { Part } from "../core/message.ts";
import type { JsonObject } from "./lines.ts";
import { type Draft, draftOf } from "./thread.ts";

/** A part of an assistant's turn with the result of its call, where both stand in one place; or the end of a model call. */
export type StepItem = { part: Part; result?: Part } | "end";

/**
 * An assistant's turn as messages: a result ends the message of its call, since what the model says next it says knowing
 * that result. A later message of the same turn is called `<id>/1`, a result `<id>:<toolCallId>`.
 */
export function draftsOfTurn(
  line: number,
  id: string,
  items: readonly StepItem[],
  about: { createdAt?: number | undefined; metadata?: JsonObject },
): Draft[] {
  const steps: { parts: Part[]; results: Part[] }[] = [];
  let step: { parts: Part[]; results: Part[] } | undefined;
  for (const item of items) {
    if (item === "end") {
      step = undefined;
      continue;
    }
    if (step === undefined || (step.results.length > 0 && item.part.type !== "tool_call")) {
      step = { parts: [], results: [] };
      steps.push(step);
    }
    step.parts.push(item.part);
    if (item.result !== undefined) step.results.push(item.result);
  }
  return steps.flatMap(({ parts, results }, index) => {
    const stepId = index === 0 ? id : `${id}/${index}`;
    const drafts = [draftOf(line, "assistant", stepId, parts, { ...about, metadata: { ...about.metadata } })];
    for (const result of results) drafts.push(resultDraftOf(line, stepId, result, about.createdAt));
    return drafts;
  });
}

/** A result as a message of its own, named after the message that called. */
export function resultDraftOf(line: number, callerId: string, result: Part, createdAt: number | undefined): Draft {
  return draftOf(line, "tool", `${callerId}:${result.toolCallId}`, [result], { createdAt });
}
