/** The words after `hook` that are for people. All other words are events of agents. */
export const HOOK_ACTIONS = ["on", "off", "status"];

export interface HookWords {
  event: string | undefined;
  agent: string | undefined;
  db: string | undefined;
}

/** Options with a value, which is none of the words that are looked for. */
const VALUED = ["--agent", "--db", "--color", "--project"];

/**
 * Reads the words of an agent's call, such as `hook prompt --agent codex`. Unknown options, which a newer version may have, are
 * ignored, and so is a missing event, because an agent cannot correct its call, and may take a failure for a refusal.
 *
 * @param isTyped  True if a person may have typed it: agents give no terminal as input.
 * @returns undefined for any other command, and for a call that a person may have mistyped: it names no agent.
 */
export function hookWords(
  argv: readonly string[],
  isTyped: () => boolean = () => process.stdin.isTTY === true,
): HookWords | undefined {
  const [command, event] = argv.filter((word, index) => !word.startsWith("-") && !VALUED.includes(argv[index - 1]!));
  if (command !== "hook" || argv.some((word) => word === "--help" || word === "-h")) return undefined;
  if (event !== undefined && HOOK_ACTIONS.includes(event)) return undefined;
  const agent = optionOf(argv, "--agent");
  if (agent === undefined && isTyped()) return undefined;
  return { event, agent, db: optionOf(argv, "--db") };
}

function optionOf(argv: readonly string[], option: string): string | undefined {
  const given = argv.find((word) => word.startsWith(`${option}=`));
  if (given !== undefined) return given.slice(option.length + 1) || undefined;
  const at = argv.indexOf(option);
  return (at >= 0 && argv[at + 1]) || undefined;
}
