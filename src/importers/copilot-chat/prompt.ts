import type { JsonValue, Part } from "../../core/message.ts";
import { type MessageEntry, messageEntry } from "../entry.ts";
import { dataPartOf } from "../file-parts.ts";
import { injected } from "../injected.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { derivedId, millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

/** Returns the message of the user. @param added  What was added to earlier prompts, which is not repeated. */
export function promptOf(request: JsonObject, id: string, line: number, added: Set<string>): MessageEntry[] {
  const { message, variableData, timestamp, modeInfo, slashCommand, isSystemInitiated } = request;
  const words = typeof message === "string" ? message : wordsIn(objectOf(message));
  const context = objectsOf(objectOf(variableData).variables).filter((variable) => {
    const key = derivedId(variable);
    const isNew = variable.automaticallyAdded !== true || !added.has(key);
    added.add(key);
    return isNew;
  });
  const said: Part[] = words === "" ? [] : [{ type: "text", text: words }];
  const images = context.filter(({ kind }) => kind === "image").map(imageOf);
  const others = injected(context.filter(({ kind }) => kind !== "image").map(contextPart));
  const parts = [...others, ...(isSystemInitiated === true ? injected(said) : said), ...images];
  if (parts.length === 0) return [];
  const about = saidOf({ mode: objectOf(modeInfo).kind, command: objectOf(slashCommand).name });
  return [messageEntry(line, "user", id, parts, millisecondsOf(timestamp), about)];
}

function wordsIn({ text, parts }: JsonObject): string {
  if (typeof text === "string") return text;
  return objectsOf(parts)
    .map((part) => stringOf(part.text) ?? "")
    .join("");
}

/** Returns what the editor or the user put beside the words: a text, or where it stands. */
function contextPart(variable: JsonObject): Part {
  const { kind, name, value } = variable;
  if (typeof value === "string" && value !== "") return { type: "text", text: value, ...saidOf({ kind, name }) };
  const path = pathIn(value);
  return dataPartOf(path === undefined ? variable : saidOf({ kind, name, path, range: objectOf(value).range }));
}

/** Returns the bytes of an image, which stand in an object by their index. */
function imageOf(image: JsonObject): Part {
  const { name, mimeType, value } = image;
  const bytes = isObject(value) ? Object.values(value) : [];
  const isImage = bytes.length > 0 && bytes.every((byte) => typeof byte === "number");
  const data = typeof value === "string" ? value : isImage ? Buffer.from(bytes as number[]).toString("base64") : "";
  if (data === "") return dataPartOf(image);
  return { type: "file", mediaType: stringOf(mimeType) ?? "image/png", data, ...saidOf({ name }) };
}

/** Returns the path in an address, or in a place in a file. */
export function pathIn(value: JsonValue | undefined): string | undefined {
  const { fsPath, path, uri, location } = objectOf(value);
  return (
    stringOf(fsPath) ?? stringOf(path) ?? (isObject(uri) || isObject(location) ? pathIn(uri ?? location) : undefined)
  );
}
