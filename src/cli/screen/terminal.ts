import { setImmediate as nextTurn } from "node:timers/promises";
import { styleText } from "node:util";
import { visibleText } from "../../core/markup.ts";
import { cutToWidth } from "./display-width.ts";
import { oneLine } from "./text.ts";

export type Format = Parameters<typeof styleText>[0];

export const COLOR_CHOICES = ["auto", "always", "never"] as const;
export type ColorChoice = (typeof COLOR_CHOICES)[number];

const WIDTH_UNKNOWN = 80;

/** The shortest time between two updates, in milliseconds. */
const PROGRESS_INTERVAL_MS = 100;

/** Stands for the escape character of a format until it is written. It is random, so that no stored text can hold it. */
const FORMAT_ESCAPE = `\x1b${Math.random()}`;

/** A format that a terminal has put into a text. */
const FORMAT = new RegExp(`${FORMAT_ESCAPE.replace(".", "\\.")}\\[[\\d;]*m`, "g");

/** The event loop runs after this many lines, so that a closed pipe is noticed. */
const LINES_PER_TURN = 256;

export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Returns true for a terminal with 16 colors, unless NO_COLOR or TERM forbids them. */
  hasColors?(): boolean;
  /** True if the reader has not taken everything yet. */
  readonly writableNeedDrain?: boolean;
  once?(event: "drain", act: () => void): unknown;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Writes results to stdout, and everything else to stderr.
 *
 * A terminal that can show colors gets them, unless NO_COLOR or TERM=dumb is set. FORCE_COLOR turns colors on in pipes too.
 * `--color` overrides all three. Progress is one line on stderr, on terminals only. Each update overwrites it, and any other
 * output removes it.
 */
export class Terminal {
  #stdout: OutputStream;
  #stderr: OutputStream;
  readonly #env: Environment;
  #colors: ColorChoice = "auto";
  #onReaderGone: (() => void) | undefined;
  #isReaderGone = false;
  #wake: (() => void) | undefined;
  #printedCount = 0;
  #progressShown = false;
  #progressAtMs = Number.NEGATIVE_INFINITY;

  constructor(stdout: OutputStream, stderr: OutputStream, env: Environment) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#env = env;
  }

  /** In columns. Undefined if the output is not a terminal. */
  get width(): number | undefined {
    const columns = Number(this.#env.COLUMNS);
    if (Number.isInteger(columns) && columns > 0) return columns;
    return this.#stdout.isTTY ? this.#stdout.columns || WIDTH_UNKNOWN : undefined;
  }

  /** The most columns of a line: infinite if the output is not a terminal. */
  get columns(): number {
    return this.width ?? Number.POSITIVE_INFINITY;
  }

  /** True if a person sees the results, and no program reads them. */
  get isScreen(): boolean {
    return this.#stdout.isTTY === true;
  }

  /** Returns the value of an environment variable; undefined if it is empty. */
  variable(name: string): string | undefined {
    return this.#env[name] || undefined;
  }

  /** Sends further output to a pager, which shows it on this terminal. @returns a function that switches back. */
  redirect(pager: Pick<OutputStream, "write" | "writableNeedDrain" | "once">): () => void {
    const [stdout, stderr] = [this.#stdout, this.#stderr];
    const { isTTY, columns } = stdout;
    const screen = {
      isTTY: isTTY === true,
      columns: columns || WIDTH_UNKNOWN,
      hasColors: () => stdout.hasColors?.() === true,
    };
    this.#stdout = this.#stderr = Object.assign(pager, screen);
    return () => {
      [this.#stdout, this.#stderr] = [stdout, stderr];
    };
  }

  set colors(choice: ColorChoice) {
    this.#colors = choice;
  }

  print(text: string): void {
    this.#wipeProgress();
    this.#stdout.write(shown(`${text}\n`));
  }

  /** Waits for the reader, so that long results do not pile up in memory. @returns false if nobody reads any more. */
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

  /** Prints a line on stderr. */
  note(text: string): void {
    this.#wipeProgress();
    this.#stderr.write(`${shown(text)}\n`);
  }

  /** Prints what to type next, unless the results go to a pipe. */
  hint(text: string): void {
    if (this.width !== undefined) this.note(this.styleNote("dim", text));
  }

  get showsProgress(): boolean {
    return this.#stderr.isTTY === true;
  }

  /** Shows the progress. Updates within a tenth of a second are dropped. */
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

  /** Formats a text for stderr. `style` formats a text for stdout. */
  styleNote(format: Format, text: string): string {
    return this.#styled(this.#stderr, format, text);
  }

  /** True if `style` colors. */
  get hasColors(): boolean {
    return this.#isColored(this.#stdout);
  }

  /** Calls `act` when nobody reads the results any more, or at once if that is already so. */
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

/** Returns a text without what `style` and `styleNote` have put into it. */
export function withoutFormats(text: string): string {
  return text.replace(FORMAT, "");
}

/** Replaces control characters, except those of `style` and `styleNote`. */
function shown(text: string): string {
  return text.split(FORMAT_ESCAPE).map(visibleText).join("\x1b");
}

/**
 * Returns the terminal of this process. If a reader such as `head` closes the pipe, the command goes on, unless it asked
 * `whenReaderGone` to stop it. If a result cannot be written, for example to a full disk, the process ends with an error.
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
