import { styleText } from "node:util";
import { cutToWidth } from "./display-width.ts";

export type Format = Parameters<typeof styleText>[0];

/** Columns of a terminal that does not say. */
const WIDTH_UNKNOWN = 80;

/** The output streams, as far as commands need to know them. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Whether it shows 16 colors; false where NO_COLOR, TERM or the like forbid them. Terminals only. */
  hasColors?(): boolean;
}

/**
 * Where a command writes: results to stdout, everything else to stderr.
 *
 * Colors appear on a terminal only, and not where NO_COLOR is set. Progress is one line on stderr that is written over
 * again and again, and is wiped before anything else is written; it too appears on a terminal only.
 */
export class Terminal {
  /** Columns a line may take; undefined where nobody is watching, and lines may be as long as they like. */
  readonly width: number | undefined;
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  readonly #colored: boolean;
  #onReaderGone: (() => void) | undefined;
  #isReaderGone = false;
  #progressShown = false;

  constructor(stdout: OutputStream, stderr: OutputStream, env: Readonly<Record<string, string | undefined>>) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#colored = stdout.isTTY === true && stdout.hasColors?.() === true;
    const columns = Number(env.COLUMNS);
    this.width =
      Number.isInteger(columns) && columns > 0 ? columns : stdout.isTTY ? stdout.columns || WIDTH_UNKNOWN : undefined;
  }

  /** A line, or lines, of the result. */
  print(text: string): void {
    this.#wipeProgress();
    this.#stdout.write(`${text}\n`);
  }

  /** A piece of a line of the result, as it comes. */
  write(text: string): void {
    this.#wipeProgress();
    this.#stdout.write(text);
  }

  /** A line that is not part of the result. */
  note(text: string): void {
    this.#wipeProgress();
    this.#stderr.write(`${text}\n`);
  }

  /** Replace the line that says how far the work is. */
  progress(text: string): void {
    if (this.#stderr.isTTY !== true) return;
    this.#wipeProgress();
    this.#stderr.write(cutToWidth(text, (this.#stderr.columns || WIDTH_UNKNOWN) - 1));
    this.#progressShown = true;
  }

  style(format: Format, text: string): string {
    // Asked here and not in `styleText`: Node 20's looks at the stream for single formats only.
    return this.#colored ? styleText(format, text, { validateStream: false }) : text;
  }

  /** Have it called when nobody reads the results any more; at once if that is so already. */
  whenReaderGone(act: () => void): void {
    this.#onReaderGone = act;
    if (this.#isReaderGone) act();
  }

  /** Whoever read stdout is gone. */
  readerGone(): void {
    this.#isReaderGone = true;
    this.#onReaderGone?.();
  }

  #wipeProgress(): void {
    if (this.#progressShown) this.#stderr.write("\r\x1b[K");
    this.#progressShown = false;
  }
}

/**
 * The terminal of this process. A reader that has seen enough, `| head`, ends neither the work nor in a stack trace, but what
 * works on and on is told of it; a result that cannot be written, as on a full disk, is a failure.
 */
export function processTerminal(): Terminal {
  const terminal = new Terminal(process.stdout, process.stderr, process.env);
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", ({ code, message }: NodeJS.ErrnoException) => {
      if (code === "EPIPE") {
        if (stream === process.stdout) terminal.readerGone();
        return;
      }
      if (stream === process.stdout) process.stderr.write(`coppice: The output cannot be written: ${message}.\n`);
      process.exit(1);
    });
  }
  return terminal;
}
