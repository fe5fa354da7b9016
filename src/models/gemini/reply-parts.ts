import type { JsonValue } from "../../core/message.ts";
import type { ReplyPart } from "../chat-model.ts";
import type { ChunkPart } from "./reply.ts";

/**
 * Joins the chunks of a streamed reply into parts.
 *
 * Gemini refuses a call of the current turn without the thought signature that came with it. So a signature stays in its
 * part. A signature that comes alone at the end of a stream goes to the first call, or to the text if there is no call.
 */
export class ReplyParts {
  readonly parts: ReplyPart[] = [];
  #callCount = 0;

  /** True while there is only white space and reasoning. */
  get isEmpty(): boolean {
    return !this.parts.some((part) => part.type === "tool_call" || (part.type === "text" && /\S/.test(part.text)));
  }

  /** @returns the new text. */
  add(pieces: readonly ChunkPart[]): string {
    let said = "";
    for (const { text, thought, thoughtSignature, functionCall } of pieces) {
      const signed = thoughtSignature ? { thoughtSignature } : {};
      if (functionCall) {
        const { id, name, args } = functionCall;
        // Our own ids may repeat in the next reply, because results answer calls of their own step.
        const call = { toolCallId: id ?? `call_${this.#callCount++}`, name, args: (args ?? {}) as JsonValue };
        this.parts.push({ type: "tool_call", ...call, ...(id && { id }), ...signed });
      } else if (text) {
        this.#join(thought === true ? "reasoning" : "text", text, signed);
        if (thought !== true) said += text;
      } else if (thoughtSignature) this.#sign(thoughtSignature);
    }
    return said;
  }

  #join(type: "text" | "reasoning", text: string, signed: object): void {
    const last = this.parts.at(-1);
    if (last?.type === type) this.parts[this.parts.length - 1] = { ...last, text: last.text + text, ...signed };
    else this.parts.push({ type, text, ...signed });
  }

  #sign(thoughtSignature: string): void {
    const call = this.parts.find(({ type }) => type === "tool_call");
    const part = call ?? this.parts.findLast(({ type }) => type === "text");
    if (part !== undefined && part.thoughtSignature === undefined) part.thoughtSignature = thoughtSignature;
  }
}
