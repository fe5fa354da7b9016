import type { Option } from "commander";
import type { Failure } from "./failure.ts";
import type { Terminal } from "./screen/terminal.ts";
import type { OpenedStores } from "./stores/opened-stores.ts";

export interface CommandGroup {
  heading: string;
  commands: readonly AnyCommand[];
}

/** One command. It translates the typed words into calls of the library, and results into a value and lines. */
export interface Command<Options = object> {
  /** In commander's notation: the name, then `<required>`, `[optional]` and `[repeatable...]` arguments. */
  usage: string;
  summary: string;
  /** True if help does not list it. */
  isHidden?: boolean;
  /** Other names that people try. Help shows the first. */
  aliases?: readonly string[];
  /** What the argument is; a list for several arguments. */
  argument?: string | readonly string[];
  details?: string;
  options?: readonly Option[];
  /** Commands that are run by this one's name and theirs, such as `hub push`. */
  subcommands?: readonly AnyCommand[];
  /** True if long output goes to a pager. */
  paged?: boolean;
  /** Example arguments, without the command's name. */
  examples: readonly string[];
  run(call: Call<Options>): Output | Promise<Output>;
}

// biome-ignore lint/suspicious/noExplicitAny: commander gives options as it parsed them.
export type AnyCommand = Command<any>;

export interface Call<Options> {
  args: readonly string[];
  options: Options;
  terminal: Terminal;
  /** True for `--json`: only the value is printed, and stderr stays empty unless the command fails. */
  json: boolean;
  /** The store that the command is about. It need not exist. */
  storePath: string;
  /** Loads the code that opens stores, which is slow. The stores are closed after the output. */
  loadStores: () => Promise<OpenedStores>;
}

export interface Output {
  value?: unknown;
  /** For `--json`, the elements of an array that may not fit into memory. They replace `value`. */
  elements?: Iterable<unknown>;
  /** Lines to print without `--json`. Each is made when the one before it is printed. */
  lines: Iterable<string>;
  /** Set if the command failed although it has output. A function is called after the output was printed. */
  failure?: Failure | (() => Failure | undefined) | undefined;
}
