import { statSync } from "node:fs";
import { basename, dirname, join, posix, win32 } from "node:path";
import type { JsonValue, Part } from "../core/message.ts";
import type { Branch } from "./branch.ts";
import { fileNameOf } from "./conversations.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import { dataPartOf, resultTextOf } from "./file-parts.ts";
import { peek } from "./head.ts";
import type { Importer } from "./importer.ts";
import { injected, wordsWithin } from "./injected.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines, valueIn } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, listOf, millisecondsOf, objectOf, saidOf, stringOf } from "./values.ts";

/**
 * Reads the conversations of Antigravity, `~/.gemini/antigravity*\/brain/<id>/.system_generated/logs/transcript_full.jsonl`. In
 * `transcript.jsonl` beside it, long texts are cut; it is only read if the whole one is missing or empty.
 */
export const antigravity: Importer = {
  name: "antigravity",
  isFollowable: true,

  detect: (head) =>
    headObjects(head).some(
      ({ step_index, source, type, status, role }) =>
        typeof step_index === "number" &&
        role === undefined &&
        [source, type, status].every((word) => /^[A-Z_]+$/.test(stringOf(word) ?? "")),
    ),

  async *read(file) {
    const { chunks, close } = await peek(file.chunks, 1);
    const isCut = basename(file.path) === "transcript.jsonl";
    const whole = isCut && statSync(join(dirname(file.path), "transcript_full.jsonl"), { throwIfNoEntry: false });
    if (whole && whole.size > 0) await close();
    else yield* new StepTranslator(file).translate(readJsonLines({ ...file, chunks }));
  },
};

/** Translates steps. What neither the user nor the model said is marked as injected. */
class StepTranslator extends Translator<JsonLine> {
  /** The calls of the newest response that have no result yet. Steps do not say which call they answer. */
  #calls: string[] = [];

  protected override read({ value: step, line }: JsonLine): string | undefined {
    const { step_index, source, type, status, created_at, content, thinking, error, tool_calls } = step;
    if (!stringOf(type)) return "type: expected a string";
    const id = typeof step_index === "number" ? `step ${step_index}` : derivedId(step);
    const about = saidOf({ type, status: status === "DONE" ? undefined : status });
    const add = (role: MessageEntry["message"]["role"], parts: Part[], metadata: JsonObject = about): void => {
      if (parts.length === 0) return;
      this.open().add([messageEntry(line, role, id, parts, millisecondsOf(created_at), metadata)]);
    };
    const said = [...textsOf(error), ...textsOf(content)];
    if (type === "PLANNER_RESPONSE") {
      const calls = listOf(tool_calls).map((call, index) => callOf(call, `${id}.${index}`));
      this.#calls = calls.flatMap((call) => (call.type === "tool_call" ? [call.toolCallId] : []));
      const thoughts = textsOf(thinking).map((part) =>
        part.type === "text" ? { type: "reasoning" as const, text: part.text } : part,
      );
      add("assistant", [...thoughts, ...said, ...calls], saidOf({ status: about.status }));
      const root = this.branches()?.root;
      const folder = calls.map(({ args }) => objectOf(args as JsonValue).Cwd).find(isAbsolutePath);
      if (root !== undefined && folder !== undefined) root.session.folder ??= folder;
    } else if (type === "USER_INPUT") add("user", said.flatMap(wordsIn), {});
    else if (source === "MODEL" || (type === "ERROR_MESSAGE" && this.#calls.length > 0)) {
      const isError = source !== "MODEL" || status === "ERROR";
      const text = [error, content].map(resultTextOf).filter((one) => one !== "");
      const result: Part = { type: "tool_result", toolCallId: this.#calls.shift() ?? id, content: text.join("\n") };
      add("tool", [isError ? { ...result, isError } : result]);
    } else if (type === "CHECKPOINT") add("user", said, { ...about, isCompactSummary: true });
    else add("user", injected(said));
  }

  /** The first command tells in which folder the agent works. */
  protected override isReady({ session }: Branch, isFull: boolean): boolean {
    return isFull || session.folder !== undefined;
  }

  protected override session(): SessionFacts {
    const folders = dirname(this.file.path).split(/[\\/]/);
    const home = folders.lastIndexOf(".system_generated");
    return { externalId: folders[home - 1] ?? fileNameOf(this.file.path), source: "antigravity", metadata: {} };
  }
}

function isAbsolutePath(value: JsonValue | undefined): value is string {
  return typeof value === "string" && (posix.isAbsolute(value) || win32.isAbsolute(value));
}

function textsOf(content: JsonValue | undefined): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return listOf(content).map(dataPartOf);
}

/** Returns a call. Antigravity writes each argument as JSON in a text. What is no JSON stays a text. */
function callOf(call: JsonValue, toolCallId: string): Part {
  const { name, args, ...rest } = objectOf(call);
  if (!stringOf(name) || Object.keys(rest).length > 0) return dataPartOf(call);
  const given = isObject(args)
    ? Object.fromEntries(Object.entries(args).map(([key, value]) => [key, decoded(value)]))
    : args;
  return { type: "tool_call", toolCallId, name: name as string, args: given ?? {} };
}

/** A number that JavaScript cannot hold stays a text. */
function decoded(given: JsonValue): JsonValue {
  const value = typeof given === "string" ? valueIn(given, given) : given;
  return typeof value === "number" && String(value) !== given ? given : value;
}

/** Marks what stands around the request of the user. What the user says of a document stands before it. */
function wordsIn(part: Part): Part[] {
  const at = part.type === "text" ? part.text.indexOf("<USER_REQUEST>") : -1;
  if (part.type !== "text" || at <= 0) return wordsWithin("USER_REQUEST", part);
  const request: Part = { ...part, text: part.text.slice(at) };
  return [{ ...part, text: part.text.slice(0, at) }, ...wordsWithin("USER_REQUEST", request)];
}
