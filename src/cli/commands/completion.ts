import { oneOf } from "../../core/options.ts";
import type { AnyCommand, Command } from "../command.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** A command, what may follow it (its subcommands, then its flags and theirs), and what it does. */
interface Completed {
  name: string;
  subcommands: string[];
  flags: string[];
  summary: string;
}

const COMMON_FLAGS = ["--db", "--json", "--color", "--help"];

const SCRIPTS: Record<(typeof SHELLS)[number], (commands: readonly Completed[]) => string[]> = {
  bash: (commands) => [
    "_coppice() {",
    '  local word="$' + '{COMP_WORDS[COMP_CWORD]}"',
    `  local below="" names="${namesOf(commands).join(" ")}"`,
    '  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "$names" -- "$word")); return; fi',
    '  case "$' + '{COMP_WORDS[1]}" in',
    ...commands.map(({ name, subcommands, flags }) => {
      const below = subcommands.length > 0 ? `[ "$COMP_CWORD" -eq 2 ] && below="${subcommands.join(" ")}"; ` : "";
      return `    ${name}) ${below}names="${flags.join(" ")}" ;;`;
    }),
    "  esac",
    '  case "$word" in -*) below="$names" ;; esac',
    '  COMPREPLY=($(compgen -W "$below" -- "$word"))',
    "}",
    "complete -o default -F _coppice coppice",
  ],
  zsh: (commands) => [
    "#compdef coppice",
    "_coppice() {",
    "  local -a names flags below",
    `  names=(${commands.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(" ")})`,
    "  if (( CURRENT == 2 )); then _describe command names; return; fi",
    '  case "$words[2]" in',
    ...commands.map(
      ({ name, subcommands, flags }) => `    ${name}) flags=(${flags.join(" ")}) below=(${subcommands.join(" ")}) ;;`,
    ),
    "  esac",
    '  if [[ "$words[CURRENT]" == -* ]]; then compadd -- $flags; return; fi',
    "  if (( CURRENT == 3 )); then compadd -- $below; fi",
    "  _files",
    "}",
    "compdef _coppice coppice",
  ],
  fish: (commands) => [
    ...commands.map(
      ({ name, summary }) => `complete -c coppice -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    ),
    ...commands.flatMap(({ name, subcommands }) =>
      subcommands.map((one) => `complete -c coppice -n '__fish_seen_subcommand_from ${name}' -a ${one}`),
    ),
    ...commands.flatMap(({ name, flags }) =>
      flags.map((flag) => `complete -c coppice -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`),
    ),
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
          .map((command) => ({
            name: nameOf(command),
            subcommands: (command.subcommands ?? []).map(nameOf),
            flags: [...new Set([command, ...(command.subcommands ?? [])].flatMap(flagsOf)), ...COMMON_FLAGS],
            summary: command.summary,
          })),
      );
      return { value: { shell, script: `${lines.join("\n")}\n` }, lines };
    },
  };
}

function nameOf({ usage }: AnyCommand): string {
  return usage.split(" ")[0]!;
}

function flagsOf({ options = [] }: AnyCommand): string[] {
  return options.flatMap(({ long }) => long ?? []);
}

function namesOf(commands: readonly Completed[]): string[] {
  return commands.map(({ name }) => name);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
