import { isObject, type JsonObject } from "./lines.ts";

/** Lines that are looked at. A file whose first hundred lines are all damaged is not recognized. */
const HEAD_LINES = 100;

/** Returns the JSON objects among the first lines of a file. Lines that are cut short or damaged are skipped. */
export function* headObjects(head: string): Generator<JsonObject> {
  for (const line of head.split("\n", HEAD_LINES)) {
    try {
      const value: unknown = JSON.parse(line);
      if (isObject(value)) yield value;
    } catch {}
  }
}

/**
 * Closes the brackets and quotes that the last line of a head leaves open, so that a first line of a hundred megabytes can be
 * parsed. The last text in it may be cut short.
 */
export function closedHead(head: string): string {
  const open: string[] = [];
  let isInString = false;
  let end = head.length;
  for (let index = head.lastIndexOf("\n") + 1; index < end; index++) {
    const character = head[index];
    if (isInString && character === "\\") {
      const escaped = index + (head[index + 1] === "u" ? 5 : 1);
      // An escape that is cut through is removed.
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
