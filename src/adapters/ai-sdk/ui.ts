import type { UIMessage } from "ai";
import type { Part } from "../../core/message.ts";
import { wellFormed } from "../../core/well-formed.ts";
import { type AdaptedMessage, type AnyMessage, partsOf, refuse } from "../shared/message.ts";
import { type Fields, isObject, keepInMetadata, ownOf } from "../shared/own.ts";
import { contentOfUiPart, outcomeOf, saidInUiPart, uiPartOf } from "./ui-parts.ts";

/**
 * Converts UI messages of the AI SDK, as `useChat` keeps them. An assistant's UI message holds every step of its turn. Each step
 * becomes one message, and its results another. Unknown fields are kept under `aiSdkUi`, and `toUiMessages` restores them. Ids
 * are kept there too. They do not become our ids, because a UI message keeps its id while it grows, and our messages never change.
 *
 * @throws {StoreError} `MESSAGE_INVALID` for an unknown role, and for parts that are not an array.
 */
export function fromUiMessages(messages: UIMessage | readonly UIMessage[]): AdaptedMessage[] {
  return [messages].flat().flatMap((message, index) => messagesOf(message as unknown as Fields, `messages[${index}]`));
}

function messagesOf({ role, parts, ...fields }: Fields, path: string): AdaptedMessage[] {
  if (!Array.isArray(parts)) return refuse(`${path}.parts`, "it is not a list");
  if (role === "system" || role === "user") {
    return [{ role, parts: parts.map(contentOfUiPart), ...keepInMetadata("aiSdkUi", fields) }];
  }
  if (role !== "assistant") return refuse(`${path}.role`, `a UI message has no role ${JSON.stringify(role)}`);
  return stepsIn(parts).flatMap(({ isMarked, parts: inStep }, index) => {
    const said = inStep.map(saidInUiPart);
    const results = said.flatMap(({ result }) => (result === undefined ? [] : [result]));
    const form = { step: isMarked ? undefined : false, joined: index > 0 ? true : undefined };
    const kept = keepInMetadata("aiSdkUi", index === 0 ? fields : {}, form);
    const message: AdaptedMessage = { role, parts: said.map((part) => part.said), ...kept };
    return results.length === 0 ? [message] : [message, { role: "tool", parts: results }];
  });
}

/** Splits parts at each `step-start`. A `step-start` at the end is kept as a part. */
function stepsIn(parts: readonly unknown[]): { isMarked: boolean; parts: unknown[] }[] {
  const steps: { isMarked: boolean; parts: unknown[] }[] = [];
  parts.forEach((part, index) => {
    const isMark = isStart(part) && Object.keys(part).length === 1;
    if (isMark && index + 1 < parts.length && !isStart(parts[index + 1])) steps.push({ isMarked: true, parts: [] });
    else if (steps.length === 0) steps.push({ isMarked: false, parts: [part] });
    else steps.at(-1)!.parts.push(part);
  });
  return steps.length > 0 ? steps : [{ isMarked: false, parts: [] }];
}

function isStart(part: unknown): part is Fields {
  return isObject(part) && part.type === "step-start";
}

/**
 * Converts our messages to UI messages for display. The steps of a turn become one assistant message, and results go into the
 * parts of their calls. Messages without an id of the AI SDK get `message-0`, `message-1`, … Results without a call are left
 * out.
 */
export function toUiMessages(messages: readonly AnyMessage[]): UIMessage[] {
  const theirs: { id: unknown; role: AnyMessage["role"]; parts: unknown[] }[] = [];
  wellFormed(messages).forEach((message, index) => {
    const { fields, form } = ownOf(message.metadata, "aiSdkUi");
    const parts = partsOf(message);
    const last = theirs.at(-1);
    if (message.role === "tool") {
      if (last !== undefined) answer(last.parts, parts);
      return;
    }
    const uiParts = parts.map(uiPartOf);
    if (message.role === "assistant" && form.step !== false) uiParts.unshift({ type: "step-start" });
    const isNext = message.role === "assistant" && last?.role === "assistant" && fields.id === undefined;
    if (isNext) last.parts.push(...uiParts);
    else theirs.push({ id: `message-${index}`, ...fields, role: message.role, parts: uiParts });
  });
  return theirs as unknown as UIMessage[];
}

/** Ids may repeat, so a result answers the newest unanswered call of its id. */
function answer(parts: unknown[], results: readonly Part[]): void {
  for (const result of results) {
    if (result.type !== "tool_result") continue;
    const index = parts.findLastIndex((part) => {
      return isObject(part) && part.toolCallId === result.toolCallId && part.state === "input-available";
    });
    if (index !== -1) parts[index] = { ...(parts[index] as Fields), ...outcomeOf(result) };
  }
}
