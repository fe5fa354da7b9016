import { HOOK_EVENTS } from "../hooks/firing.ts";

/** The words after `hook` that are for people. All other words are events of agents. */
export const HOOK_ACTIONS = ["on", "off", "status"];

export interface HookWords {
  event: string | undefined;
  agent: string | undefined;
  db: string | undefined;
}

/**
 * Reads the words of an agent's call, such as `hook prompt --agent codex`. Unknown options, which a newer version may have, are
 * ignored, because an agent cannot correct its call.
 *
 * @returns undefined for any other command, and for a call that a person may have mistyped: it names no agent and no known event.
 */
export function hookWords(argv: readonly string[]): HookWords | undefined {
  const [command, event] = argv;
  if (command !== "hook" || event === undefined || event.startsWith("-") || HOOK_ACTIONS.includes(event))
    return undefined;
  const agent = optionOf(argv, "--agent");
  if (agent === undefined && !HOOK_EVENTS.some((known) => known === event)) return undefined;
  return { event, agent, db: optionOf(argv, "--db") };
}

function optionOf(argv: readonly string[], option: string): string | undefined {
  const given = argv.find((word) => word.startsWith(`${option}=`));
  if (given !== undefined) return given.slice(option.length + 1) || undefined;
  const at = argv.indexOf(option);
  return (at >= 0 && argv[at + 1]) || undefined;
}
