import { derivedId } from "../derived-id.ts";
import type { Draft } from "../draft.ts";
import type { JsonObject } from "../lines.ts";
import { stringOf } from "../values.ts";
import type { Conversation } from "./conversation.ts";

/** A prompt in the queue. `draft` is undefined once it was let go: then it is a message where it stands. */
interface Queued {
  words: string;
  draft: Draft | undefined;
}

/**
 * Prompts typed while the agent was busy. Claude Code notes each in a `queue-operation` line, and what became of it:
 *
 *     enqueue   typed; in most versions only this line surely holds the words
 *     dequeue   sent as a turn of its own: a `user` line with the same words follows
 *     remove    handed to the agent in the middle of its turn: newer versions write an `attachment` with the words,
 *               before or after it, older ones nothing at all; the newest say the words here, too
 *     popAll    taken back into the editor, to be sent changed, unchanged or never
 *
 * So each prompt is a message from the start, moves to where it was handed over, and is taken back once the same words
 * appear on a line of their own.
 */
export class PromptQueue {
  readonly #conversation: Conversation;
  /** Typed and not handed over, oldest first. */
  #waiting: Queued[] = [];
  /** Handed over: the next prompt may be the line with their words, a later one is the user repeating himself. */
  #taken: Queued[] = [];
  /** Digests of the words of every prompt so far, queued or not. */
  readonly #said = new Set<string>();

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  /** @returns Whether the operation is one of those above. */
  apply(line: JsonObject, number: number): boolean {
    switch (line.operation) {
      case "enqueue": {
        const draft = line.content === undefined ? undefined : this.#conversation.note(line, number);
        if (draft !== undefined) this.#waiting.push(this.#queued(draft));
        return true;
      }
      case "dequeue":
      case "remove": {
        const named = stringOf(line.content)?.trim();
        const taken = named === undefined ? this.#waiting[0] : this.#waiting.find(({ words }) => words === named);
        if (taken === undefined) {
          // It was typed before this file begins.
          const draft = named && !this.#said.has(derivedId(named)) && this.#conversation.note(line, number);
          if (draft) this.#taken.push(this.#queued(draft));
          return true;
        }
        this.#waiting = this.#waiting.filter((queued) => queued !== taken);
        this.#taken.push(taken);
        if (taken.draft !== undefined) this.#conversation.moveToEnd(taken.draft);
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

  /** Whether it is not yet known where a draft belongs. */
  holds(draft: Draft): boolean {
    const isDraft = (queued: Queued) => queued.draft === draft;
    return this.#waiting.some(isDraft) || this.#taken.some(isDraft);
  }

  /** Whether a draft is still to be handed over, and will stand there. */
  isWaiting(draft: Draft): boolean {
    return this.#waiting.some((queued) => queued.draft === draft);
  }

  /** Leave every prompt where it stands: too much has been said behind it for it to be held. */
  letGo(): void {
    for (const queued of [...this.#waiting, ...this.#taken]) queued.draft = undefined;
  }

  /** Take note of a prompt on a line of its own. */
  see(prompt: Draft): void {
    const { words: promptWords } = this.#queued(prompt);
    const isTwin = ({ words }: Queued) => words === promptWords;
    const twin = this.#taken.find(isTwin) ?? this.#waiting.find(isTwin);
    if (twin === undefined) {
      this.#taken = [];
      return;
    }
    // One message, under the name it had before the line was there: a file may be read again when it has grown.
    if (twin.draft === undefined) this.#conversation.remove(prompt);
    else {
      prompt.message.id = twin.draft.message.id;
      this.#conversation.remove(twin.draft);
    }
    this.#taken = this.#taken.filter((queued) => queued !== twin);
    this.#waiting = this.#waiting.filter((queued) => queued !== twin);
  }

  #queued(draft: Draft): Queued {
    const words = wordsOf(draft);
    this.#said.add(derivedId(words));
    return { words, draft };
  }
}

function wordsOf({ message }: Draft): string {
  return message.parts
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("\n")
    .trim();
}
