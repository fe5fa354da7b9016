import { fromGemini } from "../../adapters/gemini.ts";
import { type AdaptedMessage, argsObject } from "../../adapters/shared/message.ts";
import type { JsonValue, Part } from "../../core/message.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { derivedId, objectOf, objectsOf, stringOf } from "../values.ts";

/** A call in the `toolCalls` of a record, with an id even if the record gives none. */
export type RecordedCall = JsonObject & { id: string };

type Contents = Parameters<typeof fromGemini>[0];

/** Returns the messages in a record. Adds the calls of `toolCalls` that the content does not show, and their results. */
export function messagesOf({ type, content }: JsonObject, calls: readonly RecordedCall[]): AdaptedMessage[] {
  const said = identified(partsIn(content), calls);
  if (type === "user") return fromGemini({ role: "user", parts: said } as Contents);
  const shown = new Set(said.map((part) => objectOf(objectOf(part).functionCall).id));
  const others = calls.filter(({ id }) => !shown.has(id)).map(callPartOf);
  const contents = [{ role: "model", parts: [...said, ...others] }];
  const answers = calls.flatMap(answersOf);
  if (answers.length > 0) contents.push({ role: "user", parts: answers });
  return fromGemini(contents as Contents);
}

/** Returns the thoughts that the CLI lists beside a message: `{ subject, description, timestamp }`. */
export function thoughtPartsOf(thoughts: JsonValue | undefined): Part[] {
  return objectsOf(thoughts).map(({ subject, description, ...rest }) => {
    const text = [subject, description].filter((words) => typeof words === "string" && words !== "").join("\n\n");
    return { type: "reasoning", ...rest, text };
  });
}

/** The content may be a text, a part, or a list of both. */
function partsIn(content: JsonValue | undefined): JsonValue[] {
  if (content === undefined || content === null || content === "") return [];
  return (Array.isArray(content) ? content : [content]).map((part) =>
    typeof part === "string" ? { text: part } : part,
  );
}

/**
 * Gives every call and response an id. A call takes the id of the call in `calls` with its name, or else one from its content.
 */
function identified(parts: readonly JsonValue[], calls: readonly RecordedCall[]): JsonValue[] {
  const waiting = [...calls];
  return parts.map((part) => {
    const fields = objectOf(part);
    const kind = ["functionCall", "functionResponse"].find((key) => isObject(fields[key]));
    if (kind === undefined) return part;
    const { id, name, ...inner } = objectOf(fields[kind]);
    if (kind === "functionCall" && !stringOf(name)) return part;
    const index = waiting.findIndex((call) => (id === undefined ? call.name === name : call.id === id));
    const [call] = kind === "functionCall" && index !== -1 ? waiting.splice(index, 1) : [];
    return { ...fields, [kind]: { id: id ?? call?.id ?? derivedId(part), name: name ?? "unknown", ...inner } };
  });
}

function callPartOf({ id, name, args }: RecordedCall): JsonValue {
  return { functionCall: { id, name: stringOf(name) ?? "unknown", args: argsObject(args) as JsonObject } };
}

/** Returns the results of a call, if it has ended. A call that failed or was cancelled may have only its status. */
function answersOf(call: RecordedCall): JsonValue[] {
  const { id, result, status, resultDisplay } = call;
  const name = stringOf(call.name) ?? "unknown";
  const isFailed = status === "error" || status === "cancelled";
  const answer = (text: string): JsonValue => {
    return { functionResponse: { id, name, response: isFailed ? { error: text } : { output: text } } };
  };
  const parts = partsIn(result);
  if (parts.length === 0) {
    if (!isFailed && status !== "success") return [];
    return [answer(stringOf(resultDisplay) ?? String(status))];
  }
  if (parts.some((part) => isObject(objectOf(part).functionResponse))) {
    return parts.map((part) => {
      const { functionResponse, ...fields } = objectOf(part);
      return isObject(functionResponse) ? { ...fields, functionResponse: { id, name, ...functionResponse } } : part;
    });
  }
  const words = objectsOf(parts).flatMap(({ text }) => stringOf(text) ?? []);
  return [answer(words.join("\n")), ...parts.filter((part) => stringOf(objectOf(part).text) === undefined)];
}
