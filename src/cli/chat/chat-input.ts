import { createInterface, type Interface, type Key } from "node:readline";

/** After this, a terminal marks the beginning and end of pasted text, if it can. */
const MARK_PASTES = "\x1b[?2004h";
const MARK_NO_PASTES = "\x1b[?2004l";

/** `stop` for Ctrl-C; `leave` if the process has to end. */
export type Interruption = "stop" | "leave";

/**
 * Reads lines from a person or a pipe, and notices interruptions. Pasted text is one line, even with line breaks. Lines
 * that are typed while a reply is printed are kept until it ends. After `close`, signals have their usual effect again.
 */
export class ChatInput {
  /** Called for Ctrl-C and SIGINT (`stop`), and for SIGTERM and SIGHUP (`leave`). */
  onInterrupt: (interruption: Interruption) => void = () => {};
  readonly isTerminal: boolean;
  readonly #reader: Interface;
  readonly #lines: string[] = [];
  readonly #release: () => void;
  #isPasting = false;
  #pasted: string[] = [];
  #isOpen = true;
  #wake: (() => void) | undefined;

  /** @param echo  The terminal that shows the prompt and what is typed. */
  constructor(
    input: NodeJS.ReadableStream,
    echo: NodeJS.WritableStream | undefined,
    signals: Pick<NodeJS.EventEmitter, "on" | "off">,
  ) {
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
    input.on("keypress", onKey); // emitted by readline for a terminal
    const marks = process.env.TERM === "dumb" ? undefined : echo; // a dumb terminal would show them
    marks?.write(MARK_PASTES);
    this.#release = () => {
      for (const [signal, listener] of listened) signals.off(signal, listener);
      input.off("keypress", onKey);
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

  /** Returns the next line or the pasted lines; undefined at the end of the input. */
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

  close(): void {
    this.#release();
    this.#reader.close();
  }
}
