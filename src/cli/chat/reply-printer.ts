import type { Terminal } from "../terminal.ts";
import { printable } from "../text.ts";

/** Prints a reply piece by piece, with control characters made visible. */
export class ReplyPrinter {
  readonly #terminal: Terminal;
  /** A carriage return whose line feed may come with the next piece. */
  #held = "";
  #isMidLine = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  write(piece: string): void {
    const text = this.#held + piece;
    this.#held = text.endsWith("\r") ? "\r" : "";
    this.#print(printable(text.slice(0, text.length - this.#held.length)));
  }

  /** Ends the line, if one was begun. */
  end(): void {
    this.#print(printable(this.#held));
    this.#held = "";
    if (this.#isMidLine) this.#print("\n");
  }

  #print(text: string): void {
    if (text === "") return;
    this.#terminal.write(text);
    this.#isMidLine = !text.endsWith("\n");
  }
}
