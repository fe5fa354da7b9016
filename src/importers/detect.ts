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
