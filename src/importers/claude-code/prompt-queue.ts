import type { JsonObject } from "../lines.ts";
import type { Conversation, Draft } from "./conversation.ts";

/**
 * Prompts typed while the agent was busy. Claude Code notes each in a `queue-operation` line, and what became of it:
 *
 *     enqueue   typed; only this line surely holds the words
 *     dequeue   sent as a turn of its own: a `user` line with the same words follows
 *     remove    handed to the agent in the middle of its turn: newer versions write an `attachment` with the words,
 *               older ones nothing at all
 *     popAll    taken back into the editor, to be sent changed, unchanged or never
 *
 * So each prompt is a message from the start, moves to where it was handed over, and is taken back once the same words
 * appear on a line of their own.
 */
export class PromptQueue {
  readonly #conversation: Conversation;
  /** Typed and not handed over, oldest first. */
  #waiting: Draft[] = [];
  /** Handed over: the next prompt may be the line with their words, a later one is the user repeating himself. */
  #taken: Draft[] = [];

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  /** @returns Whether the operation is one of those above. */
  apply(line: JsonObject, number: number): boolean {
    switch (line.operation) {
      case "enqueue": {
        const draft = line.content === undefined ? undefined : this.#conversation.note(line, number);
        if (draft !== undefined) this.#waiting.push(draft);
        return true;
      }
      case "dequeue":
      case "remove": {
        const taken = this.#waiting.find((draft) => textOf(draft) === line.content) ?? this.#waiting[0];
        if (taken === undefined) return true;
        this.#waiting = this.#waiting.filter((draft) => draft !== taken);
        this.#taken.push(taken);
        this.#conversation.moveToEnd(taken);
        return true;
      }
      case "popAll":
        this.#taken = this.#taken.concat(this.#waiting);
        this.#waiting = [];
        return true;
      default:
        return false;
    }
  }

  /** Take note of a prompt on a line of its own. */
  see(prompt: Draft): void {
    const isTwin = (draft: Draft) => textOf(draft) === textOf(prompt);
    const twin = this.#taken.find(isTwin) ?? this.#waiting.find(isTwin);
    if (twin === undefined) {
      this.#taken = [];
      return;
    }
    // One message, under the name it had before the line was there: a file may be read again when it has grown.
    prompt.message.id = twin.message.id;
    this.#conversation.remove(twin);
    this.#taken = this.#taken.filter((draft) => draft !== twin);
    this.#waiting = this.#waiting.filter((draft) => draft !== twin);
  }
}

function textOf({ message }: Draft): string {
  return message.parts
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("\n")
    .trim();
}
