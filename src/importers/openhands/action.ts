import type { Part } from "../../core/message.ts";
import { type ListedMessage, timeOf } from "../conversations.ts";
import { type MessageEntry, messageEntry } from "../entry.ts";
import { callPart, dataPartOf, filePartOf, functionCallOf, resultPart, textParts } from "../file-parts.ts";
import { injected } from "../injected.ts";
import type { JsonObject } from "../lines.ts";
import { listOf, objectOf, objectsOf, saidOf, stringOf } from "../values.ts";
import { spokenOf } from "./event.ts";

/** Actions and observations about the program. The words of the action `think` are in it. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "agent_state_changed",
  "change_agent_state",
  "condensation_request",
  "loop_recovery",
  "null",
  "pause",
  "recall",
  "resume",
  "start",
  "stop",
  "success",
  "think",
]);

/** Fields of an action that are no arguments of it. */
const ABOUT = ["action", "action_risk", "blocking", "confirmation_state", "hidden", "id", "is_confirmed", "is_input"];

export function isAction(value: JsonObject): boolean {
  const { role, action, observation, timestamp, source, args, extras, content, thought } = value;
  if (role !== undefined || (action === undefined) === (observation === undefined)) return false;
  if (observation !== undefined) return typeof observation === "string" && (extras ?? content) !== undefined;
  if (typeof action !== "string") return false;
  return timestamp === undefined ? (content ?? thought) !== undefined : source !== undefined && args !== undefined;
}

/** Returns a function that reads the actions and observations that OpenHands had before its version 1. */
export function actionReader(): (message: ListedMessage) => MessageEntry[] | string {
  /** The newest call. Some files do not say which one an observation answers. */
  let newest = "";
  return ({ line, id, value }) => {
    const { action, observation, source = "agent", tool_call_metadata, cause } = value;
    const time = timeOf(value);
    const { tool_call_id, function_name, model_response } = objectOf(tool_call_metadata);
    const say = (role: MessageEntry["message"]["role"], parts: Part[], about: JsonObject = {}): MessageEntry[] =>
      parts.length === 0 ? [] : [messageEntry(line, role, id, parts, time, about)];
    if (stringOf(observation)) {
      if (observation === "recall") return say("user", injected(recalledIn(objectOf(value.extras))));
      if (BOOKKEEPING.has(observation)) return [];
      const content = stringOf(value.content) ?? "";
      const toolCallId = stringOf(tool_call_id) ?? (cause === undefined ? newest : `call-${cause}`);
      if (toolCallId === "" || (observation === "error" && cause === undefined && !tool_call_id))
        return say("user", injected(textParts(content)));
      const isError = value.success === false || observation === "error";
      return say("tool", [resultPart(toolCallId, content, { isError: isError || undefined })]);
    }
    const args = objectOf(value.args ?? value);
    const words = textParts(args.thought);
    switch (action) {
      case "message": {
        const images = listOf(args.image_urls).map((url) => filePartOf(String(url), "image/*"));
        return say(value.source === "agent" ? "assistant" : "user", [...textParts(args.content), ...images]);
      }
      case "system":
        return say("system", textParts(args.content));
      case "finish": {
        const texts = [args.thought, args.final_thought].filter((text) => stringOf(text));
        const spoken = [...new Set(texts.length > 0 ? texts : [value.message])];
        return say("assistant", spoken.flatMap(textParts));
      }
      case "think":
        return say(
          "assistant",
          words.map((part) => ({ ...part, type: "reasoning" }) as Part),
        );
      case "condensation":
        return say("user", textParts(args.summary), { isCompactSummary: true });
      default: {
        if (BOOKKEEPING.has(action)) return [];
        if (!stringOf(action)) return "expected an action or an observation";
        if (source === "user") return say("user", [dataPartOf(value)]);
        newest = stringOf(tool_call_id) ?? `call-${value.id ?? id}`;
        const { choices, model, usage } = objectOf(model_response);
        const calls = objectsOf(choices).flatMap(({ message }) => objectsOf(objectOf(message).tool_calls));
        const sent = calls.find((call) => call.id === tool_call_id);
        const own = Object.entries(args).filter(([name]) => !ABOUT.includes(name) && name !== "thought");
        const call =
          sent === undefined
            ? callPart(newest, stringOf(function_name) ?? action, Object.fromEntries(own), value)
            : functionCallOf(sent);
        return say("assistant", [...words, ...spokenOf(call)], saidOf({ model, usage }));
      }
    }
  };
}

/** Returns what was found in the memory and given to the model. */
function recalledIn({ repo_instructions, microagent_knowledge, additional_agent_instructions }: JsonObject): Part[] {
  const texts = [
    repo_instructions,
    additional_agent_instructions,
    ...objectsOf(microagent_knowledge).map(({ content }) => content),
  ];
  return texts.flatMap(textParts);
}
