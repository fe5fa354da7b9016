import type { Store } from "../../../src/index.ts";
import { titleOfSession } from "../../../src/models/title.ts";

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** What answers may show: the lines of every stored text, every time, every message, and what requests are called. */
export class Stored {
  readonly #lines = new Set<string>();
  readonly #times = new Set<number>();
  readonly #messages = new Set<string>();
  /** The words of the messages at each seq. A story quotes sentences of a message after its number. */
  readonly #wordsAt = new Map<number, string[][]>();

  constructor(store: Store, answers: readonly string[]) {
    for (const answer of answers) this.#add(JSON.parse(answer));
    for (const table of ["messages", "summaries", "clusters", "themes", "sessions"])
      for (const row of store.query(`SELECT * FROM ${table}`)) this.#add(row as Json);
    // A session without a title is named after its first request, and damage may hide the first.
    for (const { text } of store.query("SELECT text FROM messages WHERE role = 'user'"))
      this.#add(titleOfSession(null, text as string));
    for (const row of store.query("SELECT seq, text FROM messages")) {
      const { seq, text } = row as { seq: number; text: string };
      this.#wordsAt.set(seq, [...(this.#wordsAt.get(seq) ?? []), wordsOf(text)]);
    }
  }

  #add(value: Json): void {
    eachValue(value, (leaf, key) => {
      if (typeof leaf === "string") for (const line of linesOf(leaf)) this.#lines.add(line);
      if (typeof leaf === "number" && key.endsWith("Ms")) this.#times.add(leaf);
    });
    for (const message of messagesIn(value)) this.#messages.add(sayingOf(message));
  }

  /** Hits show a part of a line. */
  #hasLine(line: string): boolean {
    if (this.#lines.has(line)) return true;
    const [, seq, told] = /^(\d+) (?:user|agent|summary): (.+)$/.exec(line) ?? [];
    if (told !== undefined) return this.#hasTold(Number(seq), wordsOf(told));
    const part = line.replace(/^…|…$/g, "").trim();
    return part.length > 0 && [...this.#lines].some((known) => known.includes(part));
  }

  /** True if a message at the seq has the words in this order. */
  #hasTold(seq: number, told: readonly string[]): boolean {
    return (this.#wordsAt.get(seq) ?? []).some((words) => {
      let next = 0;
      return told.every((word) => {
        next = words.indexOf(word, next) + 1;
        return next > 0;
      });
    });
  }

  /** Returns what of an answer is not as it was stored, or not in order; undefined if there is nothing. Others may be missing. */
  wrongIn(json: string): string | undefined {
    const value = JSON.parse(json) as Json;
    const wrong: string[] = [];
    eachValue(value, (leaf, key) => {
      if (typeof leaf === "string") wrong.push(...linesOf(leaf).filter((line) => !this.#hasLine(line)));
      if (typeof leaf === "number" && key.endsWith("Ms") && !this.#times.has(leaf)) wrong.push(`${key} ${leaf}`);
    });
    const sayings = messagesIn(value).map(sayingOf);
    wrong.push(...sayings.filter((saying) => !this.#messages.has(saying)));
    return wrong[0] ?? (isInOrder(value) ? undefined : "the order");
  }
}

type StoredMessage = { readonly [key: string]: Json; readonly sessionId: string; readonly seq: number };

/** Who said a message, and when. Its texts are compared line by line. */
function sayingOf({ sessionId, seq, role, name, createdAtMs }: StoredMessage): string {
  return JSON.stringify([sessionId, seq, role, name, createdAtMs]);
}

function isMessage(value: Json): value is StoredMessage {
  return typeof value === "object" && value !== null && "seq" in value && "role" in value && "createdAtMs" in value;
}

function messagesIn(value: Json): StoredMessage[] {
  if (typeof value !== "object" || value === null) return [];
  const inside = Object.values(value).flatMap(messagesIn);
  return isMessage(value) ? [value, ...inside] : inside;
}

/** True if the messages of each list are in the order of the conversation. Hits, which have a score, are in another one. */
function isInOrder(value: Json): boolean {
  if (typeof value !== "object" || value === null) return true;
  const list = Array.isArray(value) ? (value as Json[]).filter((one) => isMessage(one)) : [];
  const rises = list.every((message, at) => {
    const before = list[at - 1];
    return "score" in message || before?.sessionId !== message.sessionId || before.seq < message.seq;
  });
  return rises && Object.values(value).every(isInOrder);
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}

function eachValue(value: Json, visit: (leaf: Json, key: string) => void, key = ""): void {
  if (typeof value !== "object" || value === null) visit(value, key);
  else for (const [name, inner] of Object.entries(value)) eachValue(inner, visit, Array.isArray(value) ? key : name);
}

/** The lines of a text, and those of JSON and markup in it. Handles and bare numbers, such as counts, are left out. */
function linesOf(text: string): string[] {
  const lines = text.replace(/(cluster|theme|subject|span):\d+(@\d+)?/g, "").split(/\n|\\n|[<>"]/);
  return lines.filter((line) => !/^[\d\s-]*$/.test(line));
}
