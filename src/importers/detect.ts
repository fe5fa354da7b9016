import { isObject, type JsonObject } from "./lines.ts";

/** Lines that are looked at: a file whose first hundred lines are all damaged is not recognized. */
const HEAD_LINES = 100;

/** The JSON objects among the lines of a file's beginning. What is cut short or damaged is passed over. */
export function* headObjects(head: string): Generator<JsonObject> {
  for (const line of head.split("\n", HEAD_LINES)) {
    try {
      const value: unknown = JSON.parse(line);
      if (isObject(value)) yield value;
    } catch {}
  }
}

/**
 * The beginning of a file whose last line is cut short, with what that line opened closed: so a first line of a hundred
 * megabytes shows what stands at its beginning. What it says last may be half of what it would say.
 */
export function closedHead(head: string): string {
  const open: string[] = [];
  let isInString = false;
  let end = head.length;
  for (let index = head.lastIndexOf("\n") + 1; index < end; index++) {
    const character = head[index];
    if (isInString && character === "\\") {
      const escaped = index + (head[index + 1] === "u" ? 5 : 1);
      // What was cut through is no part of the text.
      if (escaped >= end) end = index;
      index = escaped;
    } else if (character === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (character === "{") open.push("}");
    else if (character === "[") open.push("]");
    else if (character === "}" || character === "]") open.pop();
  }
  return `${head.slice(0, end)}${isInString ? '"' : ""}${open.reverse().join("")}`;
}
