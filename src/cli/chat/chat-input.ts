import { createInterface, type Interface, type Key } from "node:readline";

/** Has a terminal mark the beginning and the end of what is pasted; those that cannot do it pass it over. */
const MARK_PASTES = "\x1b[?2004h";
const MARK_NO_PASTES = "\x1b[?2004l";

/** What signals of the process are listened to on; `process` itself. */
export interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  off(signal: NodeJS.Signals, listener: () => void): unknown;
}

export interface ChatInputOptions {
  input: NodeJS.ReadableStream;
  /** Where what is typed is echoed, and the prompt is shown: a terminal, or nothing. */
  echo: NodeJS.WritableStream | undefined;
  signals: SignalSource;
}

/** That somebody wants the work to stop: Ctrl-C, or that the process is to end. */
export type Interruption = "stop" | "leave";

/**
 * Lines that a person types, or that come through a pipe, and the ways to interrupt.
 *
 * What is pasted into a terminal is one with the line that ends it, however many lines it has. What is typed while a reply is
 * being written waits for its turn. Once it is closed, signals have their usual effect again:
 * whoever will not wait for the end can force it.
 */
export class ChatInput {
  /** Called for Ctrl-C and SIGINT (`stop`), and for SIGTERM and SIGHUP (`leave`). */
  onInterrupt: (interruption: Interruption) => void = () => {};
  readonly isTerminal: boolean;
  readonly #reader: Interface;
  readonly #lines: string[] = [];
  readonly #release: () => void;
  #isReleased = false;
  #isPasting = false;
  /** Lines that were pasted and wait for the end of the last one. */
  #pasted: string[] = [];
  #isOpen = true;
  #wake: (() => void) | undefined;

  constructor({ input, echo, signals }: ChatInputOptions) {
    this.isTerminal = echo !== undefined;
    this.#reader = createInterface({ input, terminal: this.isTerminal, ...(echo !== undefined && { output: echo }) });
    const stop = (): void => this.onInterrupt("stop");
    const leave = (): void => this.onInterrupt("leave");
    const listened = [
      ["SIGINT", stop],
      ["SIGTERM", leave],
      ["SIGHUP", leave],
    ] as const;
    for (const [signal, listener] of listened) signals.on(signal, listener);
    const onKey = (_: string | undefined, { name }: Key): void => {
      if (name === "paste-start" || name === "paste-end") this.#isPasting = name === "paste-start";
    };
    input.on("keypress", onKey); // which readline emits, for a terminal
    const marks = process.env.TERM === "dumb" ? undefined : echo; // it would show them
    marks?.write(MARK_PASTES);
    this.#release = () => {
      for (const [signal, listener] of listened) signals.off(signal, listener);
      input.off("keypress", onKey);
      if (this.#isReleased) return;
      this.#isReleased = true;
      marks?.write(MARK_NO_PASTES);
    };
    this.#reader.on("SIGINT", stop); // a terminal in raw mode sends no signal
    this.#reader.on("line", (line) => {
      this.#pasted.push(line);
      if (this.#isPasting) return;
      this.#lines.push(this.#pasted.join("\n").replace(/\n$/, ""));
      this.#pasted = [];
      this.#wake?.();
    });
    this.#reader.on("close", () => {
      this.#isOpen = false;
      this.#wake?.();
    });
  }

  /** The next line, or lines that were pasted; undefined when there will be none. */
  async next(prompt: string): Promise<string | undefined> {
    if (this.isTerminal && this.#isOpen) {
      this.#reader.setPrompt(prompt);
      this.#reader.prompt(true);
    }
    while (this.#lines.length === 0 && this.#isOpen) {
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }
    return this.#lines.shift();
  }

  /** Read no more. */
  close(): void {
    this.#release();
    this.#reader.close();
  }
}
