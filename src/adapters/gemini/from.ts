import type { Content } from "@google/genai";
import type { Part, ToolResultPart } from "../../core/message.ts";
import { type Fields, isObject, keepInMetadata } from "../shared/own.ts";
import { type AdaptedMessage, refuse } from "../shared/speech.ts";
import { contentOfPart, partOfModel } from "./parts.ts";
import { resultOfPart, withFileBehind } from "./responses.ts";

/** What of a `generateContent` request is the conversation. `systemInstruction` belongs into `config`. */
export interface GeminiConversation {
  systemInstruction?: Content;
  contents: Content[];
}

/**
 * Contents of Gemini's as ours: what the model says is a message; what the user says is one, and the responses to calls
 * in it, with the files behind them, are another; each part of the system's instruction is one. Whatever we have no place for, signatures of thoughts
 * above all, is kept under `gemini`, in a part or in `metadata`, and `toGemini` puts it back.
 *
 * Where calls have no ids, `name_0`, `name_1` stand for them, and responses answer them in their order.
 *
 * @param contents  Those of a conversation, or one, such as `candidates[0].content` of a reply.
 * @throws {StoreError} `MESSAGE_INVALID` for a role that there is not.
 */
export function fromGemini(contents: Content | readonly Content[] | GeminiConversation): AdaptedMessage[] {
  const { systemInstruction, contents: said } =
    "contents" in contents ? contents : { systemInstruction: undefined, contents: [contents].flat() };
  const reader = new Reader();
  const ours = said.flatMap((content, index) => reader.read(content as unknown as Fields, `contents[${index}]`));
  return [...systemMessages(systemInstruction as Fields | undefined), ...ours];
}

function systemMessages(instruction: Fields | undefined): AdaptedMessage[] {
  const { parts, ...fields } = instruction ?? {};
  if (!Array.isArray(parts)) return [];
  return parts.map((part, index) => ({
    role: "system",
    parts: [contentOfPart(part)],
    ...keepInMetadata("gemini", index === 0 ? fields : {}),
  }));
}

/** Reads contents in order: what answers what, and what follows what, is seen from those before. */
class Reader {
  #lastRole: string | undefined;
  /** Of the model's last content: calls without an answer yet. */
  #waiting: { name: string; id: string }[] = [];

  read({ role, parts, ...fields }: Fields, path: string): AdaptedMessage[] {
    if (parts !== undefined && !Array.isArray(parts)) refuse(`${path}.parts`, "it is no list");
    const given = (parts ?? []) as unknown[];
    const form = { parts: parts === undefined ? "absent" : undefined, role: formOfRole(role, path) };
    const runs = role === "model" ? [this.#said(given)] : this.#answeredAndAsked(given);
    return runs.map((run, index) => {
      // Neighbors of one role are joined on their way back, unless they were apart.
      const isApart = index === 0 && run.role === this.#lastRole;
      this.#lastRole = run.role;
      const joined = index > 0 ? true : isApart ? false : undefined;
      const kept =
        index === 0 ? keepInMetadata("gemini", fields, { ...form, joined }) : keepInMetadata("gemini", {}, { joined });
      return { ...run, ...kept };
    });
  }

  #said(parts: readonly unknown[]): AdaptedMessage {
    const ids = new Set(parts.map(idOfCall));
    const counts = new Map<string, number>();
    const said = parts.map((part) =>
      partOfModel(part, (name) => {
        let id: string;
        do {
          const count = counts.get(name) ?? 0;
          counts.set(name, count + 1);
          id = `${name}_${count}`;
        } while (ids.has(id));
        return id;
      }),
    );
    this.#waiting = said.flatMap((part) =>
      part.type === "tool_call" ? [{ name: part.name, id: part.toolCallId }] : [],
    );
    return { role: "assistant", parts: said };
  }

  #answeredAndAsked(parts: readonly unknown[]): AdaptedMessage[] {
    const counts = new Map<string, number>();
    const idFor = (name: string): string => {
      const count = counts.get(name) ?? 0;
      counts.set(name, count + 1);
      return this.#waiting.find((call) => call.name === name)?.id ?? `${name}_${count}`;
    };
    const runs: { role: "tool" | "user"; parts: Part[] }[] = [];
    for (const part of parts) {
      const result = resultOfPart(part, idFor);
      if (result !== undefined) this.#answer(result.toolCallId);
      const last = runs.at(-1);
      const grown = last?.role === "tool" ? withFileBehind(last.parts.at(-1) as ToolResultPart, part) : undefined;
      const ours: Part = result ?? contentOfPart(part);
      const role = result === undefined ? "user" : "tool";
      if (grown !== undefined) last!.parts.splice(-1, 1, grown);
      else if (last?.role === role) last.parts.push(ours);
      else runs.push({ role, parts: [ours] });
    }
    return runs.length > 0 ? runs : [{ role: "user", parts: [] }];
  }

  #answer(id: string): void {
    const index = this.#waiting.findIndex((call) => call.id === id);
    if (index !== -1) this.#waiting.splice(index, 1);
  }
}

function idOfCall(part: unknown): unknown {
  return isObject(part) && isObject(part.functionCall) ? part.functionCall.id : undefined;
}

/** Some send none for the user, and `function` is what responses came from once. */
function formOfRole(role: unknown, path: string): "absent" | "function" | undefined {
  if (role === undefined) return "absent";
  if (role === "function") return role;
  if (role !== "user" && role !== "model") refuse(`${path}.role`, `Gemini has no role ${JSON.stringify(role)}`);
  return undefined;
}
