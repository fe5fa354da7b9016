import type { Content } from "@google/genai";
import type { Part, ToolResultPart } from "../../core/message.ts";
import { type AdaptedMessage, refuse } from "../shared/message.ts";
import { type Fields, isObject, keepInMetadata } from "../shared/own.ts";
import { contentOfPart, partOfModel } from "./parts.ts";
import { resultOfPart, withFileBehind } from "./responses.ts";

/** The fields of a `generateContent` request that hold the conversation. `systemInstruction` goes into `config`. */
export interface GeminiConversation {
  systemInstruction?: Content;
  contents: Content[];
}

/**
 * Converts contents of Gemini. A model content becomes one message. A user content becomes one message for its function
 * responses, with the files that follow them, and another for everything else. Each part of the system instruction
 * becomes a message. Fields that we do not know, such as thought signatures, are kept under `gemini` in the part or in
 * `metadata`, and `toGemini` restores them.
 *
 * Calls without ids get `name_0`, `name_1`, …, and responses without ids answer them in order.
 *
 * @param contents  A conversation, a list, or one content such as `candidates[0].content` of a reply.
 * @throws {StoreError} `MESSAGE_INVALID` for an unknown role.
 */
export function fromGemini(contents: Content | readonly Content[] | GeminiConversation): AdaptedMessage[] {
  const { systemInstruction, contents: said } =
    "contents" in contents ? contents : { systemInstruction: undefined, contents: [contents].flat() };
  const reader = new ContentReader();
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

/** Reads contents in order. It remembers the unanswered calls and the last role. */
class ContentReader {
  #lastRole: string | undefined;
  /** Unanswered calls of the model's last content. */
  #waiting: { name: string; id: string }[] = [];

  read({ role, parts, ...fields }: Fields, path: string): AdaptedMessage[] {
    if (parts !== undefined && !Array.isArray(parts)) refuse(`${path}.parts`, "it is not a list");
    const given = (parts ?? []) as unknown[];
    const form = { parts: parts === undefined ? "absent" : undefined, role: formOfRole(role, path) };
    const runs = role === "model" ? [this.#said(given)] : this.#answeredAndAsked(given);
    return runs.map((run, index) => {
      // `toGemini` joins neighbors of one role. This mark keeps separate contents separate.
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

/** Some clients leave the role out for the user, and older ones use `function` for responses. */
function formOfRole(role: unknown, path: string): "absent" | "function" | undefined {
  if (role === undefined) return "absent";
  if (role === "function") return role;
  if (role !== "user" && role !== "model") refuse(`${path}.role`, `Gemini has no role ${JSON.stringify(role)}`);
  return undefined;
}
