import type { Content } from "@google/genai";
import type { Part } from "../../core/message.ts";
import { type AdaptedMessage, refuse, splitByRole } from "../shared/message.ts";
import { asObject, type Fields, keepInMetadata } from "../shared/own.ts";
import { assistantPartOf, contentOfPart } from "./parts.ts";
import { readResult, withFileAfter } from "./responses.ts";

/** The fields of a `generateContent` request that hold the conversation. `systemInstruction` goes into `config`. */
export interface GeminiConversation {
  systemInstruction?: Content;
  contents: Content[];
}

/**
 * Converts contents of Gemini. A model content becomes one message. The function responses of a user content, with the files
 * that follow them, become one message, and its other parts another. Each part of the system instruction becomes a message.
 * Unknown fields, such as thought signatures, are kept under `gemini` in the part or in `metadata`, and `toGemini` restores
 * them. Calls without ids get `name_0`, `name_1`, …, and responses without ids answer them in order.
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
      const marks = index === 0 ? { ...form, joined } : { joined };
      return { ...run, ...keepInMetadata("gemini", index === 0 ? fields : {}, marks) };
    });
  }

  #said(parts: readonly unknown[]): AdaptedMessage {
    const ids = new Set(parts.map((part) => asObject(asObject(part).functionCall).id));
    const numbered = namesWithNumbers();
    const said = parts.map((part) =>
      assistantPartOf(part, (name) => {
        let id = numbered(name);
        while (ids.has(id)) id = numbered(name);
        return id;
      }),
    );
    const calls = said.filter((part) => part.type === "tool_call");
    this.#waiting = calls.map(({ name, toolCallId }) => ({ name, id: toolCallId }));
    return { role: "assistant", parts: said };
  }

  #answeredAndAsked(given: readonly unknown[]): AdaptedMessage[] {
    const numbered = namesWithNumbers();
    const idFor = (name: string): string => {
      const id = numbered(name);
      return this.#waiting.find((call) => call.name === name)?.id ?? id;
    };
    const parts: Part[] = [];
    for (const block of given) {
      const result = readResult(asObject(block), idFor);
      if (result !== undefined) this.#answer(result.toolCallId);
      const part = result ?? contentOfPart(block);
      const last = parts.at(-1);
      if (last?.type === "tool_result" && part.type === "file") parts.splice(-1, 1, withFileAfter(last, part));
      else parts.push(part);
    }
    return splitByRole(parts, "user");
  }

  #answer(id: string): void {
    const index = this.#waiting.findIndex((call) => call.id === id);
    if (index !== -1) this.#waiting.splice(index, 1);
  }
}

function namesWithNumbers(): (name: string) => string {
  const counts = new Map<string, number>();
  return (name) => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    return `${name}_${count}`;
  };
}

/** Some clients leave the role out for the user, and older ones use `function` for responses. */
function formOfRole(role: unknown, path: string): "absent" | "function" | undefined {
  if (role === undefined) return "absent";
  if (role === "function") return role;
  if (role !== "user" && role !== "model") refuse(`${path}.role`, `Gemini has no role ${JSON.stringify(role)}`);
  return undefined;
}
