import type { JsonValue } from "../../core/message.ts";
import type { ReplyPart } from "../chat-model.ts";
import type { ChunkPart } from "./chat-chunk.ts";

/**
 * The parts of a reply, put together from the pieces in which it comes.
 *
 * A signature proves to Gemini what it thought before it said or called something; it is refused a call of the current turn
 * without its own. So it stays in the part it came with, and one that comes by itself, as the last thing of a stream, goes
 * to the first call, or where nothing is called to the text.
 */
export class ReplyParts {
  readonly parts: ReplyPart[] = [];
  #callCount = 0;

  /** Nothing but white space and thoughts. */
  get isEmpty(): boolean {
    return !this.parts.some((part) => part.type === "tool_call" || (part.type === "text" && /\S/.test(part.text)));
  }

  /** @returns the text that is new. */
  add(pieces: readonly ChunkPart[]): string {
    let said = "";
    for (const { text, thought, thoughtSignature, functionCall } of pieces) {
      const signed = thoughtSignature ? { thoughtSignature } : {};
      if (functionCall) {
        const { id, name, args } = functionCall;
        // Ids of one's own may repeat from reply to reply: results answer calls of their own step.
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
