import type { Branch } from "../branch.ts";
import type { MessageEntry } from "../entry.ts";
import type { JsonObject } from "../lines.ts";
import { derivedId, stringOf } from "../values.ts";

/** If the branch gives up waiting, it removes the entry's `hold`, and the entry is not moved any more. */
interface QueuedPrompt {
  words: string;
  entry: MessageEntry;
  /** True if the agent got it in the middle of its turn. */
  isRemoved?: boolean;
}

/**
 * The prompts that the user typed while the agent was busy. Claude Code writes a `queue-operation` line for each prompt, and
 * another line for its outcome:
 *
 *     enqueue   The user typed it. In most versions, only this line is sure to hold the words.
 *     dequeue   It was sent as a new turn. A `user` line with the same words follows.
 *     remove    The agent got it in the middle of its turn. Newer versions write an `attachment` with the words, before or
 *               after this line; older versions write nothing; the newest repeat the words here.
 *     popAll    The user took it back into the editor.
 *
 * If a turn cannot begin, its prompt is enqueued and dequeued again and again, without a `user` line. It stays one message.
 *
 * So each prompt becomes a message when it is typed. The message moves to the line at which the agent got the prompt. It is
 * dropped if the same words are on another line.
 */
export class PromptQueue {
  readonly #branch: Branch;
  #waiting: QueuedPrompt[] = [];
  /** Prompts that the agent got. The next prompt with equal words is the same prompt. Any later one was typed again. */
  #handedOver: QueuedPrompt[] = [];
  readonly #said = new Set<string>();

  constructor(branch: Branch) {
    this.#branch = branch;
  }

  /** @param addNote  Adds the words of the line as a message. @returns false for an unknown operation. */
  apply(line: JsonObject, addNote: () => MessageEntry | undefined): boolean {
    switch (line.operation) {
      case "enqueue": {
        if (this.#putBack(stringOf(line.content)?.trim())) return true;
        const entry = line.content === undefined ? undefined : addNote();
        if (entry !== undefined) this.#waiting.push(this.#queued(entry, "queued"));
        return true;
      }
      case "dequeue":
      case "remove": {
        const named = stringOf(line.content)?.trim();
        const prompt = named === undefined ? this.#waiting[0] : this.#waiting.find(({ words }) => words === named);
        if (prompt === undefined) {
          // The prompt was typed before this file begins.
          const entry = named && !this.#said.has(derivedId(named)) && addNote();
          if (entry) this.#handedOver.push(this.#queued(entry, "handed-over"));
          return true;
        }
        this.#waiting = this.#waiting.filter((other) => other !== prompt);
        const isFirst = prompt.entry.hold === "queued";
        prompt.isRemoved = line.operation === "remove";
        this.#handOver(prompt);
        if (isFirst) this.#branch.moveToEnd(prompt.entry);
        return true;
      }
      case "popAll":
        for (const prompt of this.#waiting) this.#handOver(prompt);
        this.#waiting = [];
        return true;
      default:
        return false;
    }
  }

  /**
   * Claude Code puts a prompt back if the turn that it should begin fails. Returns true if these words are such a prompt. A prompt
   * that the agent got in the middle of its turn was put back only if nothing came after it.
   */
  #putBack(words: string | undefined): boolean {
    const prompt = this.#handedOver.find(
      (one) => one.words === words && (one.isRemoved !== true || this.#branch.isNewest(one.entry)),
    );
    if (prompt === undefined) return false;
    this.#handedOver = this.#handedOver.filter((other) => other !== prompt);
    this.#waiting.push(prompt);
    return true;
  }

  /** Handles a prompt on its own line. If the prompt is also in the queue, one of the two messages is dropped. */
  see(prompt: MessageEntry): void {
    const words = this.#remember(prompt);
    const isTwin = (queued: QueuedPrompt) => queued.words === words;
    const twin = this.#handedOver.find(isTwin) ?? this.#waiting.find(isTwin);
    if (twin === undefined) {
      for (const { entry } of this.#handedOver) delete entry.hold;
      this.#handedOver = [];
      return;
    }
    if (twin.entry.hold === undefined) this.#branch.drop(prompt);
    else {
      // The file may have been read before this line was written. The message keeps the id that it had then.
      prompt.message.id = twin.entry.message.id;
      this.#branch.drop(twin.entry);
    }
    this.#handedOver = this.#handedOver.filter((queued) => queued !== twin);
    this.#waiting = this.#waiting.filter((queued) => queued !== twin);
  }

  #queued(entry: MessageEntry, hold: "queued" | "handed-over"): QueuedPrompt {
    entry.hold = hold;
    return { words: this.#remember(entry), entry };
  }

  #handOver(prompt: QueuedPrompt): void {
    if (prompt.entry.hold !== undefined) prompt.entry.hold = "handed-over";
    this.#handedOver.push(prompt);
  }

  #remember({ message }: MessageEntry): string {
    const texts = message.parts.map((part) => (part.type === "text" ? part.text : ""));
    const words = texts.join("\n").trim();
    this.#said.add(derivedId(words));
    return words;
  }
}
