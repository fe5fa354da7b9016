import { fromGemini } from "../../adapters/gemini.ts";
import type { ReplyPart } from "../chat-model.ts";
import type { ChunkPart } from "./reply.ts";

/**
 * Joins the chunks of a streamed reply into parts.
 *
 * Gemini refuses a call of the current turn without the thought signature that came with it. So a signature stays in its
 * part. A signature that comes alone at the end of a stream goes to the first call, or to the text if there is no call.
 */
export class ReplyParts {
  readonly #received: ChunkPart[] = [];

  /** The parts so far, as the Gemini adapter converts them. */
  get parts(): ReplyPart[] {
    const [message] = fromGemini({ role: "model", parts: this.#received as object[] });
    return message!.parts as ReplyPart[];
  }

  /** True while there is only white space and reasoning. */
  get isEmpty(): boolean {
    return !this.#received.some(
      ({ functionCall, text, thought }) => functionCall || (!thought && /\S/.test(text ?? "")),
    );
  }

  /** @returns the new text. */
  add(chunk: readonly ChunkPart[]): string {
    let said = "";
    for (const { text, thought, thoughtSignature, functionCall } of chunk) {
      const signed = thoughtSignature ? { thoughtSignature } : {};
      if (functionCall) {
        const { id, name, args } = functionCall;
        this.#received.push({ functionCall: { ...(id && { id }), name, args: args ?? {} }, ...signed });
      } else if (text) {
        this.#join(text, thought === true, signed);
        if (thought !== true) said += text;
      } else if (thoughtSignature) this.#sign(thoughtSignature);
    }
    return said;
  }

  #join(text: string, thought: boolean, signed: object): void {
    const last = this.#received.at(-1);
    const isSame = last?.text !== undefined && (last.thought === true) === thought;
    if (isSame) Object.assign(last, { text: `${last.text}${text}` }, signed);
    else this.#received.push({ text, ...(thought && { thought }), ...signed });
  }

  #sign(thoughtSignature: string): void {
    const call = this.#received.find(({ functionCall }) => functionCall);
    const part = call ?? this.#received.findLast(({ text, thought }) => text && !thought);
    if (part !== undefined) part.thoughtSignature ??= thoughtSignature;
  }
}
