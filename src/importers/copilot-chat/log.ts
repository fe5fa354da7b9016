import type { JsonValue } from "../../core/message.ts";
import { readDocument } from "../documents.ts";
import { peek } from "../head.ts";
import type { ImportFile } from "../importer.ts";
import { type DamagedLine, headObjects, isObject, type JsonObject, readJsonLines } from "../lines.ts";
import { objectOf, stringOf } from "../values.ts";

/** A field of a session, or one of its requests: a prompt with its response. */
export interface SessionItem {
  line: number;
  key: string;
  value: JsonValue;
  /** Every line that tells something of a request. */
  lines?: readonly number[];
  /** The id of the request before it, when the user sent it. Undefined if nothing can have been taken back. */
  after?: string | null;
  /** True if the file may end within what was saved of it at once. */
  isOpen?: boolean;
  isLast?: boolean;
  /** Set after the last request if some were taken back: the ids of all others. */
  kept?: ReadonlySet<string | null>;
}

interface Request {
  lines: number[];
  value: JsonValue;
  after: string | null;
}

const HEAD_BYTES = 1024 * 1024;
/** The most requests of a session, and items of a list in one. It bounds what a damaged index can make. */
const INDEX_MAX = 1_000_000;

const [INITIAL, SET, PUSH, DELETE] = [0, 1, 2, 3];

/** Returns true for the beginning of a log. Its first line is the session as it was, and may be long. */
export function isLog(head: string): boolean {
  return /^\s*\{"kind":0,"v":\{/.test(head) || headObjects(head).some(isChange);
}

function isChange({ kind, k, v }: JsonObject): boolean {
  return typeof kind === "number" && kind <= DELETE && (kind === INITIAL ? isObject(v) : Array.isArray(k));
}

/** Reads a session: one document, or a log of its changes. */
export async function* readSession(file: ImportFile): AsyncGenerator<SessionItem | DamagedLine> {
  const { head, chunks } = await peek(file.chunks, HEAD_BYTES);
  if (isLog(head.toString("utf8").replace(/^\uFEFF/, ""))) yield* readLog({ ...file, chunks });
  else {
    for await (const element of readDocument({ ...file, chunks })) {
      if ("problem" in element) yield element;
      else if (element.key !== undefined) yield { line: element.line, key: element.key, value: element.value };
      else yield { line: element.line, problem: "expected a field of a session" };
    }
  }
}

async function* readLog(file: ImportFile): AsyncGenerator<SessionItem | DamagedLine> {
  const log = new SessionLog();
  for await (const found of readJsonLines(file)) {
    if ("isPause" in found) continue;
    const problem = "problem" in found ? found.problem : log.apply(found.value, found.line);
    if (problem !== undefined) yield { line: found.line, problem };
  }
  yield* log.items();
}

/** Makes a session from the log of its changes. Requests that the user took back stay, where they were sent. */
class SessionLog {
  readonly #fields: JsonObject = {};
  readonly #sent: Request[] = [];
  /** The requests of the conversation as it is now, by their index in the log. */
  readonly #current: Request[] = [];
  #newest: Request | undefined;

  /** Returns the reason why an entry cannot be applied. */
  apply(entry: JsonObject, line: number): string | undefined {
    if (!isChange(entry)) return "expected an entry of a log";
    const { kind, k, v = null, i } = entry;
    this.#newest = undefined;
    if (kind === INITIAL) {
      const { requests, ...fields } = v as JsonObject;
      Object.assign(this.#fields, fields);
      this.#put(0, requests, line);
      return undefined;
    }
    const [field, index, ...path] = k as JsonValue[];
    if (field !== "requests") return change(this.#fields, k as JsonValue[], entry);
    if (index === undefined) {
      this.#put(kind === PUSH ? indexOf(i, this.#current.length) : 0, v, line);
      return undefined;
    }
    const at = indexOf(index, -1);
    if (at === -1) return `k[1]: expected an index, got ${JSON.stringify(index)}`;
    if (path.length === 0) {
      const rest = this.#current.slice(at + 1);
      this.#put(at, [v], line);
      this.#current.push(...rest);
      return undefined;
    }
    this.#current[at] ??= this.#send({}, at, line);
    const request = this.#current[at];
    if (request.lines.at(-1) !== line) request.lines.push(line);
    // A save writes the changes of a request before the additions to its response.
    if (kind === SET) this.#newest = request;
    if (!isObject(request.value)) request.value = {};
    return change(request.value, path, entry);
  }

  *items(): Generator<SessionItem> {
    for (const [key, value] of Object.entries(this.#fields)) yield { line: 1, key, value };
    for (const request of this.#sent) {
      const { lines, value, after } = request;
      const when = { after, isOpen: request === this.#newest, isLast: request === this.#sent.at(-1) };
      yield { line: lines[0]!, key: "requests", value, lines, ...when };
    }
    const current = new Set(this.#current);
    if (this.#sent.every((request) => current.has(request))) return;
    yield { line: 1, key: "requests", value: null, kept: new Set(this.#current.map((one) => idOf(one?.value))) };
  }

  /** Replaces the requests from an index on. */
  #put(index: number, values: JsonValue | undefined, line: number): void {
    const known = new Map(this.#current.splice(index).map((request) => [idOf(request.value), request]));
    for (const value of Array.isArray(values) ? values : []) {
      const id = idOf(value);
      const same = id === null ? undefined : known.get(id);
      if (same !== undefined) {
        same.value = value;
        same.lines.push(line);
      }
      this.#current.push(same ?? this.#send(value, this.#current.length, line));
    }
  }

  #send(value: JsonValue, index: number, line: number): Request {
    const request = { lines: [line], value, after: idOf(this.#current[index - 1]?.value) };
    this.#sent.push(request);
    return request;
  }
}

function idOf(request: JsonValue | undefined): string | null {
  return stringOf(objectOf(request).requestId) ?? null;
}

function indexOf(value: JsonValue | undefined, otherwise: number): number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < INDEX_MAX ? Number(value) : otherwise;
}

/** Applies a change to the value at a path. What is missing on the way, because a line is damaged, is made. */
function change(root: JsonObject, path: readonly JsonValue[], { kind, v = null, i }: JsonObject): string | undefined {
  let target = root as JsonObject | JsonValue[];
  for (const [depth, key] of path.entries()) {
    const isList = Array.isArray(target);
    const at = isList ? indexOf(key, -1) : String(key);
    if (at === -1 || at === "__proto__") return `k: ${JSON.stringify(key)} is no place in the session`;
    const held = target as Record<string | number, JsonValue>;
    if (depth < path.length - 1) {
      const next = held[at];
      if (typeof next !== "object" || next === null) held[at] = typeof path[depth + 1] === "number" ? [] : {};
      target = held[at] as JsonObject | JsonValue[];
    } else if (kind === DELETE) delete held[at];
    else if (kind === SET) held[at] = v;
    else {
      const list = Array.isArray(held[at]) ? held[at] : [];
      list.splice(indexOf(i, list.length));
      for (const item of Array.isArray(v) ? v : []) list.push(item);
      held[at] = list;
    }
  }
  return undefined;
}
