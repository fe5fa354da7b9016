import type { UIMessage } from "ai";
import type { Part } from "../../core/message.ts";
import { type Fields, isObject, keepInMetadata, ownOf } from "../shared/own.ts";
import { type AdaptedMessage, partsOf, refuse, type Speech } from "../shared/speech.ts";
import { contentOfUiPart, outcomeOf, saidInUiPart, uiPartOf } from "./ui-parts.ts";

/**
 * UI messages of the AI SDK, as `useChat` keeps them, as ours. An assistant's holds all steps of its turn: each becomes a
 * message, and the results in it another. What is there for the page alone is kept under `aiSdkUi`, and `toUiMessages`
 * puts it back; ids too, and they do not become ours, as a UI message grows under its id.
 *
 * @throws {StoreError} `MESSAGE_INVALID` for a role that there is not, and for parts that are no list.
 */
export function fromUiMessages(messages: UIMessage | readonly UIMessage[]): AdaptedMessage[] {
  return [messages].flat().flatMap((message, index) => messagesOf(message as unknown as Fields, `messages[${index}]`));
}

function messagesOf({ role, parts, ...fields }: Fields, path: string): AdaptedMessage[] {
  if (!Array.isArray(parts)) return refuse(`${path}.parts`, "it is no list");
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

/** Parts between the marks of steps. A mark that nothing follows is a part like others. */
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

/** A UI message that is being written. */
interface Draft {
  fields: Fields;
  role: Speech["role"];
  parts: unknown[];
}

/**
 * Our messages as UI messages, to show them: the steps of a turn are one message of the assistant's, and results stand in
 * the parts of their calls. Messages that came from elsewhere are called `message-0`, `message-1`, … by their places.
 * Results without a call are left out, as there is no part for them.
 */
export function toUiMessages(messages: readonly Speech[]): UIMessage[] {
  const drafts: Draft[] = [];
  messages.forEach((message, index) => {
    const { fields, form } = ownOf(message.metadata, "aiSdkUi");
    const parts = partsOf(message);
    const last = drafts.at(-1);
    if (message.role === "tool") {
      if (last !== undefined) answer(last, parts);
      return;
    }
    const said = parts.map(uiPartOf);
    if (message.role === "assistant" && form.step !== false) said.unshift({ type: "step-start" });
    const isNext = message.role === "assistant" && last?.role === "assistant" && fields.id === undefined;
    if (isNext) last.parts.push(...said);
    else drafts.push({ fields: { id: `message-${index}`, ...fields }, role: message.role, parts: said });
  });
  return drafts.map(({ fields, role, parts }) => ({ ...fields, role, parts })) as unknown as UIMessage[];
}

/** Ids repeat: the newest call of an id that waits is meant. */
function answer({ parts }: Draft, results: readonly Part[]): void {
  for (const result of results) {
    if (result.type !== "tool_result") continue;
    const index = parts.findLastIndex((part) => {
      return isObject(part) && part.toolCallId === result.toolCallId && part.state === "input-available";
    });
    if (index !== -1) parts[index] = { ...(parts[index] as Fields), ...outcomeOf(result) };
  }
}
