import type { JsonValue, Part } from "../core/message.ts";
import { itemsOf, type ListedMessage, readConversations, timeOf } from "./conversations.ts";
import { headElements } from "./documents.ts";
import { type MessageEntry, messageEntry, resultEntry } from "./entry.ts";
import { callPart, dataPartOf, resultContentOf, resultPart, textParts, thoughtParts } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import type { JsonObject } from "./lines.ts";
import { derivedId, listOf, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

/** Reads trajectories in ATIF, the Agent Trajectory Interchange Format of Harbor: an object with `steps`, or one on each line. */
export const atif: Importer = {
  name: "atif",

  detect: (head) =>
    headElements(head).some(({ key, value }) => key === "schema_version" && /^ATIF-v/.test(String(value))),

  read: (file) => readConversations(file, { name: "atif", messageOf: itemsOf("steps"), about, entriesOf }),
};

function about({ session_id, agent }: JsonObject) {
  const { name, version, model_name, extra } = objectOf(agent);
  const folder = stringOf(listOf(objectOf(extra).cwds)[0]);
  const metadata = saidOf({ agent: name, version, model: model_name, cwd: folder });
  const externalId = stringOf(session_id);
  return { folder, metadata, ...(externalId !== undefined && { externalId }) };
}

/** Steps are numbered anew in each file of a trajectory that goes on in another one, so a step is known by what it says. */
function entriesOf({ line, value }: ListedMessage, { schema_version, agent }: JsonObject): MessageEntry[] | string {
  if (!/^ATIF-v1\b/.test(String(schema_version))) {
    return `expected version 1 of ATIF, got ${JSON.stringify(schema_version ?? null)}`;
  }
  const { source, message, reasoning_content, tool_calls, observation, metrics, model_name, timestamp } = value;
  const time = timeOf(value);
  const calls = objectsOf(tool_calls);
  const id = derivedId(timestamp, source, message, calls);
  const parts = contentOf(message);
  if (source === "user" || source === "system") return [messageEntry(line, source, id, parts, time)];
  if (source !== "agent") return `unknown source of a step: ${JSON.stringify(source ?? null)}`;
  const { prompt_tokens, completion_tokens, cached_tokens, cost_usd } = objectOf(metrics);
  const usage = saidOf({ prompt_tokens, completion_tokens, prompt_tokens_details: saidOf({ cached_tokens }) });
  const facts = saidOf({ model: model_name ?? objectOf(agent).model_name, usage, cost: cost_usd });
  const called = calls.map((call) => callPart(call.tool_call_id, call.function_name, call.arguments, call));
  const said = [...thoughtParts(reasoning_content), ...parts, ...called];
  const entries = said.length === 0 ? [] : [messageEntry(line, "assistant", id, said, time, facts)];
  return [...entries, ...objectsOf(objectOf(observation).results).map(resultOf)];

  /** Returns a result. Some agents do not say of which call it is, and give what a terminal shows. */
  function resultOf(result: JsonObject, index: number): MessageEntry {
    const { source_call_id, content, subagent_trajectory_ref } = result;
    const shown = contentOf(content ?? (subagent_trajectory_ref === undefined ? "" : [subagent_trajectory_ref]));
    const only = calls.length === 1 ? calls[0]!.tool_call_id : undefined;
    const toolCallId = stringOf(source_call_id) ?? stringOf(only);
    if (toolCallId === undefined) return messageEntry(line, "user", `${id}:${index}`, injected(shown), time);
    return resultEntry(line, id, resultPart(toolCallId, resultContentOf(shown)), time);
  }
}

function contentOf(content: JsonValue | undefined): Part[] {
  return listOf(content).flatMap((block): Part[] => {
    const text = typeof block === "string" ? block : objectOf(block).text;
    if (typeof text === "string") return textParts(text);
    const { type, source } = objectOf(block);
    const { path, media_type } = objectOf(source);
    if (type !== "image" || !stringOf(path)) return [dataPartOf(block)];
    return [{ type: "file", mediaType: stringOf(media_type) ?? "image/png", url: path as string }];
  });
}
