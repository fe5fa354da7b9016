import { projectAt } from "../core/project.ts";

export const HOOK_AGENTS = ["claude-code", "codex", "gemini-cli", "opencode", "pi"] as const;
export type HookAgent = (typeof HOOK_AGENTS)[number];

export const HOOK_EVENTS = [
  "session-start",
  "prompt",
  "turn-end",
  "before-action",
  "before-compaction",
  "after-compaction",
] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

/** One call of a hook by an agent. */
export interface Firing {
  agent: HookAgent;
  event: HookEvent;
  /** The agent's own name of its session; "" if it gave none. */
  sessionId: string;
  /** The folder that the agent works in. */
  cwd: string;
  /** The project of that folder; undefined if nothing tells it. */
  project: string | undefined;
  /** Why the session starts: `startup`, `resume`, `clear` or `compact`. */
  source: string;
  prompt: string;
  transcriptPath: string | undefined;
  /** The tool call that an agent is about to make; undefined at other events. */
  call: { name: string; args: unknown } | undefined;
}

/** Returns true for events whose answer is read with the store's own code. Loading it takes longer than the rest of a hook. */
export function isFromStore({ event, source }: Pick<Firing, "event" | "source">): boolean {
  return event === "prompt" || (event === "session-start" && source !== "compact");
}

/** A placeholder that the agent did not fill in. */
const PLACEHOLDER = /^\$\{\w+\}$/;

/**
 * Reads the input that an agent gives a hook. All agents use the same names of fields. A field that is not a string counts as
 * absent.
 *
 * @returns undefined for an agent or event that is not known.
 */
export function firingOf(
  agent: string | undefined,
  event: string | undefined,
  input: Readonly<Record<string, unknown>>,
): Firing | undefined {
  const textOf = (key: string): string => {
    const value = input[key];
    return typeof value === "string" && !PLACEHOLDER.test(value) ? value : "";
  };
  const isKnown = isOneOf(HOOK_AGENTS, agent) && isOneOf(HOOK_EVENTS, event);
  if (!isKnown) return undefined;
  const cwd = textOf("cwd") || process.cwd();
  return {
    agent,
    event,
    sessionId: textOf("session_id"),
    cwd,
    project: projectAt(cwd),
    source: textOf("source"),
    prompt: textOf("prompt"),
    transcriptPath: textOf("transcript_path") || undefined,
    call: textOf("tool_name") === "" ? undefined : { name: textOf("tool_name"), args: input.tool_input },
  };
}

function isOneOf<T extends string>(words: readonly T[], word: string | undefined): word is T {
  return words.includes(word as T);
}
