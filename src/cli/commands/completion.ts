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
    `    case "$one" in ${withValues(commands)}) isValue=1; continue ;; esac`,
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
    `    case "$one" in ${withValues(commands)}) isValue=1; continue ;; esac`,
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
    ...commands.map(
      ({ name, summary }) => `complete -c coppice -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    ),
    ...commands.flatMap(({ name, subcommands, flags }) => {
      const isHere = seen(name);
      const isAlone = subcommands.length === 0 ? isHere : `${isHere}; and not ${seen(...namesOf(subcommands))}`;
      return [
        ...subcommands.map((one) => `complete -c coppice -n '${isAlone}' -f -a ${one.name} -d ${quoted(one.summary)}`),
        ...flags.map((flag) => `complete -c coppice -n '${isAlone}' ${fishOf(flag)}`),
        ...subcommands.flatMap((one) =>
          one.flags.map((flag) => `complete -c coppice -n '${isHere}; and ${seen(one.name)}' ${fishOf(flag)}`),
        ),
      ];
    }),
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

/** Returns the pattern of a shell's `case` for the options whose value is the next word. */
function withValues(commands: readonly Completed[]): string {
  const flags = everyOf(commands).flatMap(([, command]) => command.flags);
  return [...new Set(longsOf(flags.filter(({ takesValue }) => takesValue)))].join("|");
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

function seen(...names: readonly string[]): string {
  return `__fish_seen_subcommand_from ${names.join(" ")}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
