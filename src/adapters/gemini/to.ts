import type { ToolResultPart } from "../../core/message.ts";
import { type Fields, isObject, ownOf } from "../shared/own.ts";
import { CallNames, isContent, partsOf, type Speech } from "../shared/speech.ts";
import type { GeminiConversation } from "./from.ts";
import { partOfContent, partOfSaid } from "./parts.ts";
import { partsOfResult } from "./responses.ts";

export interface ToGeminiOptions {
  /**
   * A signature for calls that have none. Gemini 3 refuses calls of the current turn without one; where another model
   * made them, its documentation has `skip_thought_signature_validator` put in its place. None is put unless given.
   */
  missingSignature?: string;
}

/** A content that is being written. */
interface Draft {
  fields: Fields;
  form: Fields;
  role: Speech["role"];
  parts: unknown[];
}

/**
 * Our messages, those of a rendered context above all, as `contents` and `systemInstruction` of a `generateContent`
 * request. Messages of one role that follow each other are one content, since Gemini joins nothing itself; results and
 * what a user says stay apart.
 *
 * Thoughts of other models are left out; words stand for data, and for files beside a result that Gemini does not take.
 * Names that it refuses become others. A message of which nothing is left is left out.
 */
export function toGemini(messages: readonly Speech[], { missingSignature }: ToGeminiOptions = {}): GeminiConversation {
  const system: { fields: Fields; parts: unknown[] } = { fields: {}, parts: [] };
  const drafts: Draft[] = [];
  const calls = new Calls();
  for (const message of messages) {
    const { fields, form } = ownOf(message.metadata, "gemini");
    const { role } = message;
    const given = partsOf(message);
    if (role === "system") {
      Object.assign(system.fields, fields);
      system.parts.push(...given.filter(isContent).map((part) => partOfContent(part, false)));
      continue;
    }
    const parts =
      role === "tool" ? calls.answer(given.filter((part) => part.type === "tool_result")) : calls.read(message);
    const last = drafts.at(-1);
    const isJoined = (form.joined ?? last?.role === role) === true;
    if (isJoined && last !== undefined && (last.role === "assistant") === (role === "assistant")) {
      last.parts.push(...parts);
      last.role = role;
    } else if (parts.length > 0 || given.length === 0) drafts.push({ fields, form, role, parts });
  }
  if (missingSignature !== undefined) for (const draft of drafts) sign(draft, missingSignature);
  const instruction = { ...system.fields, parts: system.parts };
  const conversation = {
    ...(system.parts.length > 0 && { systemInstruction: instruction }),
    contents: drafts.map((draft) => contentOf({ ...draft, parts: calls.inOrder(draft.parts) })),
  };
  return conversation as unknown as GeminiConversation;
}

function contentOf({ fields, form, role, parts }: Draft): Fields {
  const isBare = parts.length === 0 && form.parts === "absent";
  const theirs = form.role === "function" ? "function" : role === "assistant" ? "model" : "user";
  return { ...fields, ...(form.role !== "absent" && { role: theirs }), ...(!isBare && { parts }) };
}

/** The first call of a content carries the signature of all. */
function sign({ parts }: Draft, thoughtSignature: string): void {
  const calls = parts.filter((part): part is Fields => isObject(part) && "functionCall" in part);
  const [first] = calls;
  if (first === undefined || calls.some((call) => "thoughtSignature" in call)) return;
  parts[parts.indexOf(first)] = { ...first, thoughtSignature };
}

/** Knows which calls have been made: a response has the function's name, and an id if its call has one. */
class Calls {
  readonly #names = new CallNames();
  /** In the order of the newest calls: ids that Gemini was not told. */
  #unnamed: string[] = [];
  /** By the response: the place of its call among those, and the files behind it. */
  readonly #places = new Map<unknown, number>();
  readonly #files = new Map<unknown, readonly unknown[]>();

  read(message: Speech): unknown[] {
    const given = partsOf(message);
    this.#names.learn(given);
    const calls = given.flatMap((part) => (part.type === "tool_call" ? [part] : []));
    if (calls.length > 0) {
      this.#unnamed = calls.flatMap((part) => (ownOf(part, "gemini").form.id === "absent" ? [part.toolCallId] : []));
    }
    if (message.role === "assistant") return given.map(partOfSaid).filter((part) => part !== undefined);
    return given.filter(isContent).map((part) => partOfContent(part));
  }

  answer(results: readonly ToolResultPart[]): unknown[] {
    return results.map((part) => {
      const place = this.#unnamed.indexOf(part.toolCallId);
      const [response, ...files] = partsOfResult(part, this.#names.nameFor(part), place === -1);
      this.#files.set(response, files);
      if (place !== -1) this.#places.set(response, place);
      return response;
    });
  }

  /** With the files of responses. Without ids, the first response of a name answers the first call of it: those of one name stand as their calls do. */
  inOrder(parts: readonly unknown[]): unknown[] {
    const byName = new Map<string, unknown[]>();
    for (const part of parts) if (this.#places.has(part)) byName.set(nameOf(part), []);
    for (const part of [...parts].sort((left, right) => this.#placeOf(left) - this.#placeOf(right))) {
      if (this.#places.has(part)) byName.get(nameOf(part))!.push(part);
    }
    const ordered = parts.map((part) => (this.#places.has(part) ? byName.get(nameOf(part))!.shift() : part));
    return ordered.flatMap((part) => [part, ...(this.#files.get(part) ?? [])]);
  }

  #placeOf(part: unknown): number {
    return this.#places.get(part) ?? -1;
  }
}

function nameOf(part: unknown): string {
  return (part as { functionResponse: { name: string } }).functionResponse.name;
}
