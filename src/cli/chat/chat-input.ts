import { createInterface, type Interface } from "node:readline";

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
 * What is typed while a reply is being written waits for its turn. Once it is closed, signals have their usual effect again:
 * whoever will not wait for the end can force it.
 */
export class ChatInput {
  /** Called for Ctrl-C and SIGINT (`stop`), and for SIGTERM and SIGHUP (`leave`). */
  onInterrupt: (interruption: Interruption) => void = () => {};
  readonly isTerminal: boolean;
  readonly #reader: Interface;
  readonly #lines: string[] = [];
  readonly #release: () => void;
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
    this.#release = () => {
      for (const [signal, listener] of listened) signals.off(signal, listener);
    };
    this.#reader.on("SIGINT", stop); // a terminal in raw mode sends no signal
    this.#reader.on("line", (line) => {
      this.#lines.push(line);
      this.#wake?.();
    });
    this.#reader.on("close", () => {
      this.#isOpen = false;
      this.#wake?.();
    });
  }

  /** The next line; undefined when there will be none. */
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
