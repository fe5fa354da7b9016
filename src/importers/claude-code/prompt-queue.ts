import type { Branch } from "../branch.ts";
import type { MessageEntry } from "../entry.ts";
import type { JsonObject } from "../lines.ts";
import { derivedId, stringOf } from "../values.ts";

/** A prompt in the queue. If the branch gave up waiting, its entry has no `hold` and is not moved any more. */
interface QueuedPrompt {
  words: string;
  entry: MessageEntry;
}

/**
 * The prompts that the user typed while the agent was busy. Claude Code writes a `queue-operation` line for each prompt, and
 * another one for its outcome:
 *
 *     enqueue   It was typed. In most versions, only this line is sure to hold the words.
 *     dequeue   It was sent as a turn of its own. A `user` line with the same words follows.
 *     remove    The agent got it in the middle of its turn. Newer versions write an `attachment` with the words, before or
 *               after this line; older ones write nothing; the newest repeat the words here.
 *     popAll    It was taken back into the editor, to be sent changed, unchanged or never.
 *
 * So each prompt becomes a message when it is typed. The message moves to the line at which the agent got the prompt, and is
 * dropped if the same words appear on a line of their own.
 */
export class PromptQueue {
  readonly #branch: Branch;
  /** Oldest first. */
  #waiting: QueuedPrompt[] = [];
  /** Handed over. If the next prompt has the same words, it is the same prompt; a later one is a repetition by the user. */
  #handedOver: QueuedPrompt[] = [];
  /** Digests of the words of every prompt so far, queued or not. */
  readonly #said = new Set<string>();

  constructor(branch: Branch) {
    this.#branch = branch;
  }

  /** @param addNote  Adds the words of the line as a message. @returns false for an unknown operation. */
  apply(line: JsonObject, addNote: () => MessageEntry | undefined): boolean {
    switch (line.operation) {
      case "enqueue": {
        const entry = line.content === undefined ? undefined : addNote();
        if (entry !== undefined) this.#waiting.push(this.#queued(entry, "queued"));
        return true;
      }
      case "dequeue":
      case "remove": {
        const named = stringOf(line.content)?.trim();
        const prompt = named === undefined ? this.#waiting[0] : this.#waiting.find(({ words }) => words === named);
        if (prompt === undefined) {
          // It was typed before this file begins.
          const entry = named && !this.#said.has(derivedId(named)) && addNote();
          if (entry) this.#handedOver.push(this.#queued(entry, "handed-over"));
          return true;
        }
        this.#waiting = this.#waiting.filter((other) => other !== prompt);
        this.#handOver(prompt);
        if (prompt.entry.hold !== undefined) this.#branch.moveToEnd(prompt.entry);
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

  /** Looks in the queue for a prompt that has a line of its own. If it is there, one of the two messages is dropped. */
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
      // The message keeps the id it had before this line was written, because the file may have been read then.
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

  /** Returns the words of a prompt, and remembers that they were said. */
  #remember({ message }: MessageEntry): string {
    const texts = message.parts.map((part) => (part.type === "text" ? part.text : ""));
    const words = texts.join("\n").trim();
    this.#said.add(derivedId(words));
    return words;
  }
}
