import { setImmediate as nextTurn } from "node:timers/promises";
import { styleText } from "node:util";
import { printable } from "../core/markup.ts";
import { cutToWidth } from "./display-width.ts";
import { oneLine } from "./text.ts";

export type Format = Parameters<typeof styleText>[0];

export const COLOR_CHOICES = ["auto", "always", "never"] as const;
export type ColorChoice = (typeof COLOR_CHOICES)[number];

const WIDTH_UNKNOWN = 80;

/** The shortest time between two updates of the progress line, in milliseconds. */
const PROGRESS_INTERVAL_MS = 100;

/** Stands for the escape character of a format until it is written. It is random, so that no stored text can hold it. */
const FORMAT_ESCAPE = `\x1b${Math.random()}`;

/** After this many lines, the event loop runs, so that a closed pipe is noticed. */
const LINES_PER_TURN = 256;

/** The part of an output stream that commands use. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Terminals only. Returns true if the terminal shows 16 colors, and NO_COLOR and TERM allow them. */
  hasColors?(): boolean;
  /** True if the reader has not yet taken everything that was written. */
  readonly writableNeedDrain?: boolean;
  once?(event: "drain", act: () => void): unknown;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Writes the output of commands: results to stdout, everything else to stderr. Everything that is written is made printable here,
 * so that no text of a message, id or file name can control the terminal.
 *
 * A stream has colors if it is a terminal that shows them, unless NO_COLOR or TERM=dumb forbids them. FORCE_COLOR turns
 * colors on in pipes too, and `--color` overrides all of that. Progress is one line on stderr, on terminals only. It is
 * overwritten by each update and wiped before anything else is written.
 */
export class Terminal {
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  readonly #env: Environment;
  #colors: ColorChoice = "auto";
  #onReaderGone: (() => void) | undefined;
  #isReaderGone = false;
  #wake: (() => void) | undefined;
  #printedCount = 0;
  #isMidLine = false;
  #progressShown = false;
  #progressAtMs = Number.NEGATIVE_INFINITY;

  constructor(stdout: OutputStream, stderr: OutputStream, env: Environment) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#env = env;
  }

  /** The columns that a line may take; undefined if the output is not a terminal, where lines may have any length. */
  get width(): number | undefined {
    const columns = Number(this.#env.COLUMNS);
    if (Number.isInteger(columns) && columns > 0) return columns;
    return this.#stdout.isTTY ? this.#stdout.columns || WIDTH_UNKNOWN : undefined;
  }

  set colors(choice: ColorChoice) {
    this.#colors = choice;
  }

  print(text: string): void {
    this.write(`${text}\n`);
  }

  /** Writes a piece of the result without ending the line. */
  write(text: string): void {
    if (text === "") return;
    this.#wipeProgress();
    this.#stdout.write(shown(text));
    this.#isMidLine = !text.endsWith("\n");
  }

  /** Ends the line of the result, if one was begun. */
  endLine(): void {
    if (this.#isMidLine) this.write("\n");
  }

  /**
   * Waits until the reader has taken the results. Without this, long results pile up in memory.
   *
   * @returns false if nobody reads any more.
   */
  async taken(): Promise<boolean> {
    this.#printedCount += 1;
    if (this.#stdout.writableNeedDrain === true && !this.#isReaderGone) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#stdout.once?.("drain", resolve);
      });
    } else if (this.#printedCount % LINES_PER_TURN === 0) await nextTurn();
    return !this.#isReaderGone;
  }

  /** Prints a line that is not part of the result. */
  note(text: string): void {
    this.endLine();
    this.#wipeProgress();
    this.#stderr.write(`${shown(text)}\n`);
  }

  /** Prints what to type next, if a person sees the results. */
  hint(text: string): void {
    if (this.width !== undefined) this.note(this.styleNote("dim", text));
  }

  get showsProgress(): boolean {
    return this.#stderr.isTTY === true;
  }

  /** Replaces the progress line, at most ten times a second. Updates in between are dropped. */
  progress(text: string): void {
    const now = performance.now();
    if (!this.showsProgress || now - this.#progressAtMs < PROGRESS_INTERVAL_MS) return;
    this.#wipeProgress();
    this.#stderr.write(cutToWidth(oneLine(text), (this.#stderr.columns || WIDTH_UNKNOWN) - 1));
    this.#progressShown = true;
    this.#progressAtMs = now;
  }

  endProgress(): void {
    this.#wipeProgress();
    this.#progressAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Formats a text for stdout. The result is for this terminal alone: only `write` turns it into escape sequences. */
  style(format: Format, text: string): string {
    return this.#styled(this.#stdout, format, text);
  }

  /** Formats a text for stderr, where `style` formats one for stdout. */
  styleNote(format: Format, text: string): string {
    return this.#styled(this.#stderr, format, text);
  }

  /** Registers a callback for when nobody reads the results any more. It is called at once if that is already so. */
  whenReaderGone(act: () => void): void {
    this.#onReaderGone = act;
    if (this.#isReaderGone) act();
  }

  readerGone(): void {
    this.#isReaderGone = true;
    this.#wake?.();
    this.#onReaderGone?.();
  }

  #styled(stream: OutputStream, format: Format, text: string): string {
    // In Node 20, `styleText` checks the stream only for single formats.
    if (!this.#isColored(stream)) return text;
    const [before, after] = styleText(format, "\0", { validateStream: false })
      .replaceAll("\x1b", FORMAT_ESCAPE)
      .split("\0");
    return `${before}${text}${after}`;
  }

  #isColored(stream: OutputStream): boolean {
    if (this.#colors !== "auto") return this.#colors === "always";
    const { FORCE_COLOR: forced, NO_COLOR: forbidden } = this.#env;
    if (forced !== undefined) return forced !== "0" && forced !== "false";
    return !forbidden && stream.isTTY === true && stream.hasColors?.() === true;
  }

  #wipeProgress(): void {
    if (this.#progressShown) this.#stderr.write("\r\x1b[K");
    this.#progressShown = false;
  }
}

/** Replaces what a terminal would obey, except the formats. */
function shown(text: string): string {
  return text.split(FORMAT_ESCAPE).map(printable).join("\x1b");
}

/**
 * Returns the terminal of this process. A reader that closes the pipe, such as `head`, does not end the work, but endless
 * work can register for it (`whenReaderGone`). A result that cannot be written, as on a full disk, is a failure.
 */
export function processTerminal(): Terminal {
  const terminal = new Terminal(process.stdout, process.stderr, process.env);
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", ({ code, message }: NodeJS.ErrnoException) => {
      if (code === "EPIPE") {
        if (stream === process.stdout) terminal.readerGone();
        return;
      }
      if (stream === process.stdout)
        process.stderr.write(shown(`coppice: The output cannot be written: ${message}.\n`));
      process.exit(1);
    });
  }
  return terminal;
}
