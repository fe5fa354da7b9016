import { setImmediate as nextTurn } from "node:timers/promises";
import { styleText } from "node:util";
import { cutToWidth } from "./display-width.ts";

export type Format = Parameters<typeof styleText>[0];

/** When colors are shown: on terminals that have them, or whatever stands behind the stream, or not at all. */
export const COLOR_CHOICES = ["auto", "always", "never"] as const;
export type ColorChoice = (typeof COLOR_CHOICES)[number];

/** Columns of a terminal that does not say. */
const WIDTH_UNKNOWN = 80;

/** A person sees no more pictures of progress than this, and a slow connection has better things to carry. */
const PROGRESS_INTERVAL_MS = 100;

/** Lines after which a pipe that takes everything at once is let to say that its reader has gone. */
const LINES_PER_TURN = 256;

/** The output streams, as far as commands need to know them. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Whether it shows 16 colors; false where NO_COLOR, TERM or the like forbid them. Terminals only. */
  hasColors?(): boolean;
  /** Whether more has been written than its reader has taken yet. */
  readonly writableNeedDrain?: boolean;
  once?(event: "drain", act: () => void): unknown;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Where a command writes: results to stdout, everything else to stderr.
 *
 * Each stream has colors if it is a terminal that shows them and neither NO_COLOR nor TERM=dumb forbids them; FORCE_COLOR
 * turns them on in pipes, too, and `--color` overrules all of that. Progress is one line on stderr that is written over
 * again and again, and is wiped before anything else is written; it appears on a terminal only.
 */
export class Terminal {
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  readonly #env: Environment;
  readonly #now: () => number;
  #colors: ColorChoice = "auto";
  #onReaderGone: (() => void) | undefined;
  #isReaderGone = false;
  #wake: (() => void) | undefined;
  #printedCount = 0;
  #progressShown = false;
  #progressAtMs = Number.NEGATIVE_INFINITY;

  /** @param now  A clock in milliseconds. */
  constructor(
    stdout: OutputStream,
    stderr: OutputStream,
    env: Environment,
    now: () => number = () => performance.now(),
  ) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#env = env;
    this.#now = now;
  }

  /** Columns a line may take now; undefined where nobody is watching, and lines may be as long as they like. */
  get width(): number | undefined {
    const columns = Number(this.#env.COLUMNS);
    if (Number.isInteger(columns) && columns > 0) return columns;
    return this.#stdout.isTTY ? this.#stdout.columns || WIDTH_UNKNOWN : undefined;
  }

  set colors(choice: ColorChoice) {
    this.#colors = choice;
  }

  /** A line, or lines, of the result. */
  print(text: string): void {
    this.write(`${text}\n`);
  }

  /** A piece of a line of the result, as it comes. */
  write(text: string): void {
    this.#wipeProgress();
    this.#stdout.write(text);
  }

  /**
   * Wait until the reader of the results has taken them: what is printed without that piles up in memory.
   *
   * @returns false where nobody reads any more.
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

  /** A line that is not part of the result. */
  note(text: string): void {
    this.#wipeProgress();
    this.#stderr.write(`${text}\n`);
  }

  /** What to type next, for a person who looks at the results. */
  hint(text: string): void {
    if (this.width !== undefined) this.note(this.styleNote("dim", text));
  }

  /** Whether anybody sees progress. */
  get showsProgress(): boolean {
    return this.#stderr.isTTY === true;
  }

  /** Replace the line that says how far the work is; at most ten times a second, what comes between is passed over. */
  progress(text: string): void {
    const now = this.#now();
    if (!this.showsProgress || now - this.#progressAtMs < PROGRESS_INTERVAL_MS) return;
    this.#wipeProgress();
    this.#stderr.write(cutToWidth(text, (this.#stderr.columns || WIDTH_UNKNOWN) - 1));
    this.#progressShown = true;
    this.#progressAtMs = now;
  }

  /** The work is over, and its line of progress goes. */
  endProgress(): void {
    this.#wipeProgress();
    this.#progressAtMs = Number.NEGATIVE_INFINITY;
  }

  /** As part of the result. */
  style(format: Format, text: string): string {
    return this.#styled(this.#stdout, format, text);
  }

  /** For `note`. */
  styleNote(format: Format, text: string): string {
    return this.#styled(this.#stderr, format, text);
  }

  /** Have it called when nobody reads the results any more; at once if that is so already. */
  whenReaderGone(act: () => void): void {
    this.#onReaderGone = act;
    if (this.#isReaderGone) act();
  }

  /** Whoever read stdout is gone. */
  readerGone(): void {
    this.#isReaderGone = true;
    this.#wake?.();
    this.#onReaderGone?.();
  }

  #styled(stream: OutputStream, format: Format, text: string): string {
    // Asked here and not in `styleText`: Node 20's looks at the stream for single formats only.
    return this.#isColored(stream) ? styleText(format, text, { validateStream: false }) : text;
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
