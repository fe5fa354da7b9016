import { createInterface, type Interface, type Key } from "node:readline";

/** Makes a terminal mark the beginning and the end of pasted text. Terminals that cannot do it ignore this. */
const MARK_PASTES = "\x1b[?2004h";
const MARK_NO_PASTES = "\x1b[?2004l";

/** `stop` for Ctrl-C; `leave` if the process has to end. */
export type Interruption = "stop" | "leave";

/**
 * Reads lines from a person or a pipe, and notices interruptions.
 *
 * Pasted text is one line, however many line breaks it has. Lines that are typed during a reply wait for their turn. After
 * `close`, signals have their usual effect again, so that a person can end the process by force.
 */
export class ChatInput {
  /** Called for Ctrl-C and SIGINT (`stop`), and for SIGTERM and SIGHUP (`leave`). */
  onInterrupt: (interruption: Interruption) => void = () => {};
  readonly isTerminal: boolean;
  readonly #reader: Interface;
  readonly #lines: string[] = [];
  readonly #release: () => void;
  #isPasting = false;
  /** Pasted lines, until the last of them ends. */
  #pasted: string[] = [];
  #isOpen = true;
  #wake: (() => void) | undefined;

  /**
   * @param echo  The terminal that echoes what is typed and shows the prompt, if there is one.
   * @param signals  The source of signals, which is `process` itself.
   */
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

  /** Returns the next line, or pasted lines as one; undefined at the end of the input. */
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
