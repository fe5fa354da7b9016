import { oneOf } from "../../core/options.ts";
import type { AnyCommand, Command } from "../command.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** A command with its own flags and what it does. Only commands without a parent have subcommands. */
interface Completed {
  name: string;
  subcommands: readonly Completed[];
  flags: readonly Flag[];
  summary: string;
}

interface Flag {
  long: string;
  /** True if the next word is its value, and no command. */
  takesValue: boolean;
}

const COMMON_FLAGS: readonly Flag[] = [
  { long: "--db", takesValue: true },
  { long: "--json", takesValue: false },
  { long: "--color", takesValue: true },
  { long: "--help", takesValue: false },
];

/** Each script first finds the command and its subcommand among the words, whatever flags stand between them. */
const SCRIPTS: Record<(typeof SHELLS)[number], (commands: readonly Completed[]) => string[]> = {
  bash: (commands) => [
    "_coppice() {",
    '  local word="$' + '{COMP_WORDS[COMP_CWORD]}" path="" names="" flags="" one isValue=""',
    '  for one in "$' + '{COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    if [ -n "$isValue" ]; then isValue=""; continue; fi',
    `    case "$one" in ${withValues(commands).join("|")}) isValue=1; continue ;; esac`,
    '    case "$path $one" in',
    `      ${pathsOf(commands).join("|")}) path="$path $one" ;;`,
    "    esac",
    "  done",
    '  if [ -n "$isValue" ]; then COMPREPLY=(); return; fi',
    '  case "$path" in',
    `    "") names="${namesOf(commands).join(" ")}" ;;`,
    ...everyOf(commands).map(
      ([path, { subcommands, flags }]) =>
        `    " ${path}") names="${namesOf(subcommands).join(" ")}" flags="${longsOf(flags).join(" ")}" ;;`,
    ),
    "  esac",
    '  case "$word" in -*) names="$flags" ;; esac',
    '  COMPREPLY=($(compgen -W "$names" -- "$word"))',
    "}",
    "complete -o default -F _coppice coppice",
  ],
  zsh: (commands) => [
    "#compdef coppice",
    "_coppice() {",
    "  local -a names flags",
    '  local path_="" one isValue=""',
    '  for one in "$' + '{(@)words[2,CURRENT-1]}"; do',
    '    if [[ -n "$isValue" ]]; then isValue=""; continue; fi',
    `    case "$one" in ${withValues(commands).join("|")}) isValue=1; continue ;; esac`,
    '    case "$path_ $one" in',
    `      ${pathsOf(commands).join("|")}) path_="$path_ $one" ;;`,
    "    esac",
    "  done",
    '  case "$path_" in',
    `    "") names=(${described(commands)}) ;;`,
    ...everyOf(commands).map(
      ([path, { subcommands, flags }]) =>
        `    " ${path}") names=(${described(subcommands)}) flags=(${longsOf(flags).join(" ")}) ;;`,
    ),
    "  esac",
    '  if [[ -n "$isValue" ]]; then _files; return; fi',
    '  if [[ "$words[CURRENT]" == -* ]]; then compadd -- $flags; return; fi',
    "  if (( $#names )); then _describe command names; else _files; fi",
    "}",
    "compdef _coppice coppice",
  ],
  fish: (commands) => [
    "function __coppice_at",
    "  set -l found",
    "  set -l is_value",
    "  for one in (commandline -opc)[2..]",
    '    if test -n "$is_value"; set is_value; continue; end',
    `    switch $one; case ${withValues(commands).join(" ")}; set is_value 1; continue; end`,
    `    switch "$found $one"; case ${pathsOf(commands).join(" ")}; set found "$found $one"; end`,
    "  end",
    '  test -z "$is_value" -a "$found" = "$argv"',
    "end",
    ...commands.map((one) => fishName("", one)),
    ...everyOf(commands).flatMap(([path, { subcommands, flags }]) => [
      ...subcommands.map((one) => fishName(` ${path}`, one)),
      ...flags.map((flag) => `${fishAt(` ${path}`)} ${fishOf(flag)}`),
    ]),
  ],
};

/** @param commands  Returns all commands, including this one. */
export function completionCommand(commands: () => readonly AnyCommand[]): Command {
  return {
    usage: "completion <shell>",
    summary: "Print a script that completes commands and options in a shell.",
    details:
      "Save the script where the shell looks for completions, or source it from ~/.bashrc or ~/.zshrc. With --json: {shell, script}.",
    argument: SHELLS.join(", "),
    examples: [
      "bash > ~/.coppice-completion",
      "zsh > ~/.zfunc/_coppice",
      "fish > ~/.config/fish/completions/coppice.fish",
    ],

    run({ args: [typed] }) {
      const shell = oneOf("the shell", typed as (typeof SHELLS)[number], SHELLS);
      const lines = SCRIPTS[shell](
        commands()
          .filter(({ isHidden }) => isHidden !== true)
          .map(completed),
      );
      return { value: { shell, script: `${lines.join("\n")}\n` }, lines };
    },
  };
}

function completed({ usage, subcommands = [], options = [], summary }: AnyCommand): Completed {
  return {
    name: usage.split(" ")[0]!,
    subcommands: subcommands.map(completed),
    flags: [
      ...options.flatMap(({ long, required, optional }) => (long ? [{ long, takesValue: required || optional }] : [])),
      ...COMMON_FLAGS,
    ],
    summary,
  };
}

function namesOf(commands: readonly Completed[]): string[] {
  return commands.map(({ name }) => name);
}

/** Returns every command and subcommand with its full name, such as `hub push`. */
function everyOf(commands: readonly Completed[]): [path: string, command: Completed][] {
  return commands.flatMap((command) => [
    [command.name, command] as [string, Completed],
    ...command.subcommands.map((one): [string, Completed] => [`${command.name} ${one.name}`, one]),
  ]);
}

function longsOf(flags: readonly Flag[]): string[] {
  return flags.map(({ long }) => long);
}

/** Returns the options whose value is the next word. */
function withValues(commands: readonly Completed[]): string[] {
  const flags = everyOf(commands).flatMap(([, command]) => command.flags);
  return [...new Set(longsOf(flags.filter(({ takesValue }) => takesValue)))];
}

function fishOf({ long, takesValue }: Flag): string {
  return `-l ${long.slice(2)}${takesValue ? " -r" : ""}`;
}

/** Returns the patterns of a shell's `case` for the full names. */
function pathsOf(commands: readonly Completed[]): string[] {
  return everyOf(commands).map(([path]) => `" ${path}"`);
}

function described(commands: readonly Completed[]): string {
  return commands.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(" ");
}

/** The beginning of a line of fish that is for one place in the command line, such as ` hub push`. */
function fishAt(path: string): string {
  return `complete -c coppice -n '__coppice_at "${path}"'`;
}

function fishName(path: string, { name, summary }: Completed): string {
  return `${fishAt(path)} -f -a ${name} -d ${quoted(summary)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
