import type { Part, ToolResultPart } from "../../core/message.ts";
import { wellFormed } from "../../core/well-formed.ts";
import { type AnyMessage, CallNames, isContent, partsOf } from "../shared/message.ts";
import { type Fields, isObject, ownOf } from "../shared/own.ts";
import type { GeminiConversation } from "./from.ts";
import { partOfAssistant, partOfContent } from "./parts.ts";
import { partsOfResult } from "./responses.ts";

export interface ToGeminiOptions {
  /**
   * The signature for calls without one. By default none is added. Gemini 3 refuses unsigned calls of the current turn. Its
   * documentation gives `skip_thought_signature_validator` for calls of other models.
   */
  missingSignature?: string;
}

interface OpenContent {
  fields: Fields;
  form: Fields;
  role: AnyMessage["role"];
  parts: unknown[];
}

/**
 * Converts our messages, usually those of a rendered context, to `contents` and `systemInstruction` of a `generateContent`
 * request. Consecutive messages of one role become one content. Results and user messages stay apart.
 *
 * Reasoning of other models is left out. Data becomes text, and so do files in a result that Gemini does not take. Names that
 * it refuses are replaced. Messages without any content left are dropped.
 */
export function toGemini(
  messages: readonly AnyMessage[],
  { missingSignature }: ToGeminiOptions = {},
): GeminiConversation {
  const system: { fields: Fields; parts: unknown[] } = { fields: {}, parts: [] };
  const drafts: OpenContent[] = [];
  const calls = new AnsweredCalls();
  for (const message of wellFormed(messages)) {
    const { fields, form } = ownOf(message.metadata, "gemini");
    const { role } = message;
    const given = partsOf(message);
    if (role === "system") {
      Object.assign(system.fields, fields);
      system.parts.push(...given.filter(isContent).map((part) => partOfContent(part, false)));
      continue;
    }
    const parts =
      role === "tool" ? calls.answer(given.filter((part) => part.type === "tool_result")) : calls.read(given, role);
    const last = drafts.at(-1);
    const isJoined = (form.joined ?? last?.role === role) === true;
    if (isJoined && last !== undefined && (last.role === "assistant") === (role === "assistant")) {
      last.parts.push(...parts);
      last.role = role;
    } else if (parts.length > 0 || given.length === 0) drafts.push({ fields, form, role, parts });
  }
  const conversation = {
    ...(system.parts.length > 0 && { systemInstruction: { ...system.fields, parts: system.parts } }),
    contents: drafts.map((draft) => {
      if (missingSignature !== undefined) sign(draft.parts, missingSignature);
      return closeContent(draft, calls.inOrder(draft.parts));
    }),
  };
  return conversation as unknown as GeminiConversation;
}

function closeContent({ fields, form, role }: OpenContent, parts: unknown[]): Fields {
  const isBare = parts.length === 0 && form.parts === "absent";
  const theirs = form.role === "function" ? "function" : role === "assistant" ? "model" : "user";
  return { ...fields, ...(form.role !== "absent" && { role: theirs }), ...(!isBare && { parts }) };
}

/** Signs the first call of a content, which is enough for all its calls. */
function sign(parts: unknown[], thoughtSignature: string): void {
  const isCall = (part: unknown): part is Fields => isObject(part) && "functionCall" in part;
  const calls = parts.filter(isCall);
  if (calls.length === 0 || calls.some((call) => "thoughtSignature" in call)) return;
  parts[parts.findIndex(isCall)] = { ...calls[0], thoughtSignature };
}

/** Matches responses with calls. A response needs the name of its call, and also its id if the call has one. */
class AnsweredCalls {
  readonly #names = new CallNames();
  /** Our ids of the newest calls that have no id in Gemini's format, in order. */
  #unnamed: string[] = [];
  /** For each response, the index of its call in `#unnamed`, and the files that follow it. */
  readonly #callIndexes = new Map<unknown, number>();
  readonly #files = new Map<unknown, readonly unknown[]>();

  read(given: readonly Part[], role: AnyMessage["role"]): unknown[] {
    this.#names.learn(given);
    const calls = given.filter((part) => part.type === "tool_call");
    if (calls.length > 0) {
      const unnamed = calls.filter((part) => ownOf(part, "gemini").form.id === "absent");
      this.#unnamed = unnamed.map((part) => part.toolCallId);
    }
    if (role === "assistant") return given.map(partOfAssistant).filter((part) => part !== undefined);
    return given.filter(isContent).map((part) => partOfContent(part));
  }

  answer(results: readonly ToolResultPart[]): unknown[] {
    return results.map((part) => {
      const callIndex = this.#unnamed.indexOf(part.toolCallId);
      const [response, ...files] = partsOfResult(part, this.#names.nameFor(part), callIndex === -1);
      this.#files.set(response, files);
      if (callIndex !== -1) this.#callIndexes.set(response, callIndex);
      return response;
    });
  }

  /** Sorts responses without ids like their calls, because Gemini matches the two by name and order. */
  inOrder(parts: readonly unknown[]): unknown[] {
    const indexOf = (part: unknown): number => this.#callIndexes.get(part)!;
    const waiting = parts.filter((part) => this.#callIndexes.has(part)).sort((a, b) => indexOf(a) - indexOf(b));
    const ordered = parts.map((part) => {
      if (!this.#callIndexes.has(part)) return part;
      const [next] = waiting.splice(
        waiting.findIndex((other) => nameOf(other) === nameOf(part)),
        1,
      );
      return next;
    });
    return ordered.flatMap((part) => [part, ...(this.#files.get(part) ?? [])]);
  }
}

function nameOf(part: unknown): string {
  return (part as { functionResponse: { name: string } }).functionResponse.name;
}
