import type { DataPart, FilePart, JsonValue, Part, TextPart } from "../../core/message.ts";
import { dataPartOf } from "../file-parts.ts";
import type { JsonObject } from "../lines.ts";
import { objectOf, objectsOf, stringOf } from "../values.ts";

/**
 * The `content` of a record: a text, a part of the Gemini API or a list of both. Fields of a part that ours does not have,
 * such as `thoughtSignature`, stay in it under their own names; a part we have none for becomes data.
 */
export function partsOf(role: "user" | "assistant", content: JsonValue | undefined): Part[] {
  if (content === undefined || content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (Array.isArray(content) ? content : [content]).map((part) => partOf(role, part));
}

function partOf(role: "user" | "assistant", part: JsonValue): Part {
  if (typeof part === "string") return { type: "text", text: part };
  const { text, thought, functionCall, ...fields } = objectOf(part);
  if (typeof text === "string" && thought === true && role === "assistant") {
    return { type: "reasoning", ...fields, text };
  }
  const call = objectOf(functionCall);
  if (role === "assistant" && stringOf(call.id) && stringOf(call.name)) {
    const { id, name, args, ...rest } = call;
    return { type: "tool_call", ...fields, ...rest, toolCallId: id as string, name: name as string, args: args ?? {} };
  }
  return plainPartOf(part);
}

function plainPartOf(part: JsonValue): TextPart | FilePart | DataPart {
  const { text, inlineData, fileData, ...fields } = objectOf(part);
  if (typeof text === "string") return { type: "text", ...fields, text };
  const { data, mimeType, displayName } = objectOf(inlineData);
  const named = stringOf(displayName) === undefined ? {} : { name: displayName as string };
  if (typeof data === "string" && stringOf(mimeType)) {
    return { type: "file", ...fields, ...named, mediaType: mimeType as string, data };
  }
  const { fileUri, mimeType: fileType } = objectOf(fileData);
  if (typeof fileUri === "string" && stringOf(fileType)) {
    return { type: "file", ...fields, mediaType: fileType as string, url: fileUri };
  }
  return dataPartOf(part);
}

/** Thoughts as the CLI lists them beside a message: `{ subject, description, timestamp }`. */
export function thoughtPartsOf(thoughts: JsonValue | undefined): Part[] {
  return objectsOf(thoughts).map(({ subject, description, ...rest }) => {
    const text = [subject, description].filter((words) => typeof words === "string" && words !== "").join("\n\n");
    return { type: "reasoning", ...rest, text };
  });
}

/** A call of a record's `toolCalls`. */
export function callPartOf({ id, name, args }: { id: string } & JsonObject): Part {
  return { type: "tool_call", toolCallId: id, name: stringOf(name) ?? "unknown", args: args ?? {} };
}

/** What a tool answered, where it has. A call that was cancelled or failed may have no answer but its status. */
export function resultPartOf(call: JsonObject): Part | undefined {
  const { id, name, result, status, resultDisplay } = call;
  const isDone = status === "success" || status === "error" || status === "cancelled";
  if (!stringOf(id) || (isNothing(result) && !isDone)) return undefined;
  const part: Part = {
    type: "tool_result",
    toolCallId: id as string,
    content: isNothing(result) ? shownOf(resultDisplay, status) : answerOf(id as string, result!),
  };
  if (stringOf(name)) part.name = name as string;
  if (status === "error" || status === "cancelled") part.isError = true;
  return part;
}

/** The answers among the parts of a turn that hands them to the model. */
export function answersIn(content: JsonValue | undefined): Part[] {
  return objectsOf(content).flatMap(({ functionResponse }): Part[] => {
    const { id, name } = objectOf(functionResponse);
    if (!stringOf(id)) return [];
    const answer = resultPartOf({ id: id as string, name: name ?? null, result: [{ functionResponse }] as JsonValue });
    return answer === undefined ? [] : [answer];
  });
}

function answerOf(id: string, result: JsonValue): string | (TextPart | FilePart | DataPart)[] {
  if (typeof result === "string") return result;
  const parts = Array.isArray(result) ? result : [result];
  const contents = parts.flatMap((part): (string | TextPart | FilePart | DataPart)[] => {
    const { functionResponse } = objectOf(part);
    if (functionResponse === undefined) return [plainPartOf(part)];
    const { id: answered, response, parts: media } = objectOf(functionResponse);
    if (answered !== undefined && answered !== id) return [dataPartOf(part)];
    return [responseOf(response), ...objectsOf(media).map(plainPartOf)];
  });
  if (contents.length === 1 && typeof contents[0] === "string") return contents[0];
  return contents.map((content) => (typeof content === "string" ? { type: "text", text: content } : content));
}

/** `{ output: "…" }` and `{ error: "…" }` are their text; any other answer is its JSON. */
function responseOf(response: JsonValue | undefined): string {
  const fields = objectOf(response);
  const keys = Object.keys(fields);
  const [only] = keys;
  if (keys.length === 1 && (only === "output" || only === "error") && typeof fields[only] === "string") {
    return fields[only];
  }
  return response === undefined ? "" : JSON.stringify(response);
}

function shownOf(resultDisplay: JsonValue | undefined, status: JsonValue | undefined): string {
  return typeof resultDisplay === "string" && resultDisplay !== "" ? resultDisplay : String(status);
}

function isNothing(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}
