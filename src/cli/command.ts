import type { Option } from "commander";
import type { Failure } from "./failure.ts";
import type { OpenedStores } from "./opened-stores.ts";
import type { Terminal } from "./terminal.ts";

/**
 * One word of the command line. It translates what was typed into calls of the library, and what comes back into a
 * value and lines; it decides nothing itself.
 *
 * Its module is loaded for every command and for help, so what takes time to load, it loads when it is run.
 */
export interface Command<Options = object> extends CommandWords {
  run(call: Call<Options>): Output | Promise<Output>;
}

/** A command that begins before the code that opens stores is loaded, which takes longer than all else. */
export interface EarlyCommand<Options = object> extends CommandWords {
  runEarly(call: EarlyCall<Options>): Output | Promise<Output>;
}

/** What is typed, and what help says of it. */
export interface CommandWords {
  name: string;
  summary: string;
  /** What the summary leaves open, for `--help`. */
  details?: string;
  /** In commander's notation: `<session>` must be given, `[path]` may be, `<paths...>` are one or more. */
  arguments?: readonly { name: string; meaning: string }[];
  options?: readonly Option[];
  /** What one would type after the command's name. */
  examples: readonly string[];
}

/** A command that was typed. */
interface TypedCommand<Options> {
  /** The arguments, those of `<paths...>` one by one. */
  args: readonly string[];
  options: Options;
  terminal: Terminal;
  /** Whether the value is wanted, and stderr is to stay empty but for a failure. */
  json: boolean;
}

/** With everything it needs to run. */
export interface Call<Options> extends TypedCommand<Options> {
  /** Opens the store. It is closed when the output has been printed. */
  stores: OpenedStores;
}

/** The same for a command that asks for the stores when it needs them. */
export interface EarlyCall<Options> extends TypedCommand<Options> {
  loadStores: () => Promise<OpenedStores>;
}

export interface Output {
  /** What `--json` prints. */
  value?: unknown;
  /** In its place, the elements of the array that `--json` prints, where there may be more than memory holds. */
  elements?: Iterable<unknown>;
  /** What is printed otherwise. Asked for only then, and no faster than they are read. */
  lines: Iterable<string>;
  /** Why this is no success although there is something to print; asked when that is done. */
  failure?: Failure | (() => Failure | undefined) | undefined;
}

/** A command among others: what its options parse to is its own business. */
// biome-ignore lint/suspicious/noExplicitAny: commander gives options as it parsed them.
export type AnyCommand = Command<any> | EarlyCommand<any>;

/** Commands that help lists under one heading. */
export interface CommandGroup {
  heading: string;
  commands: readonly AnyCommand[];
}
