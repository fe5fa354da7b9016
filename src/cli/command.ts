import type { Option } from "commander";
import type { Failure } from "./failure.ts";
import type { OpenedStores } from "./opened-stores.ts";
import type { Terminal } from "./terminal.ts";

export interface CommandGroup {
  heading: string;
  commands: readonly AnyCommand[];
}

/**
 * One command of the command line. It translates what was typed into calls of the library, and the results into a value
 * and lines. It decides nothing itself.
 */
export interface Command<Options = object> {
  /** In commander's notation: the name, then `<argument>` if required, `[argument]` if optional, with `...` if repeatable. */
  usage: string;
  summary: string;
  argument?: string;
  details?: string;
  options?: readonly Option[];
  /** Words to type after the command's name. */
  examples: readonly string[];
  run(call: Call<Options>): Output | Promise<Output>;
}

// biome-ignore lint/suspicious/noExplicitAny: commander gives options as it parsed them.
export type AnyCommand = Command<any>;

export interface Call<Options> {
  args: readonly string[];
  options: Options;
  terminal: Terminal;
  /** True if only the value is wanted. Then stderr stays empty unless the command fails. */
  json: boolean;
  /** Loads the code that opens stores, which takes most of a command's time. The stores are closed after the output. */
  loadStores: () => Promise<OpenedStores>;
}

export interface Output {
  value?: unknown;
  /** The elements of the array that `--json` prints instead of `value`, if there may be more than memory holds. */
  elements?: Iterable<unknown>;
  /** The lines that are printed without `--json`. They are made one by one, as fast as they are read. */
  lines: Iterable<string>;
  /** Why the command failed although it has output. A function is called after the output was printed. */
  failure?: Failure | (() => Failure | undefined) | undefined;
}
