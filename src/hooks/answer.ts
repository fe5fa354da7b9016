import type { Firing, HookAgent, HookEvent } from "./firing.ts";

/** The answer of a hook. */
export interface HookText {
  /** The text for the model. */
  text: string;
  /** One line for the person, where the agent shows one. */
  line: string;
}

/** The names of events whose output the agent reads as context. With any other name, its schema refuses the answer. */
const CONTEXT_EVENTS: Record<HookAgent, Partial<Record<HookEvent, string>>> = {
  "claude-code": { "session-start": "SessionStart", prompt: "UserPromptSubmit", "before-action": "PreToolUse" },
  codex: { "session-start": "SessionStart", prompt: "UserPromptSubmit" },
  "gemini-cli": { "session-start": "SessionStart", prompt: "BeforeAgent" },
  opencode: {},
  pi: {},
};

/** Returns true if the agent passes a text on to its model at this event. Otherwise none has to be made. */
export function takesText({ agent, event }: Pick<Firing, "agent" | "event">): boolean {
  if (event === "turn-end") return false;
  return (
    (isOfPlugin(agent) && event !== "before-action") ||
    isPlain({ agent, event }) ||
    CONTEXT_EVENTS[agent][event] !== undefined
  );
}

/** Returns what to print, in the agent's own schema; "" to print nothing. */
export function answerOf({ agent, event }: Pick<Firing, "agent" | "event">, said: HookText | undefined): string {
  if (isOfPlugin(agent)) return JSON.stringify(said === undefined ? {} : { text: said.text });
  if (said === undefined || !takesText({ agent, event })) return "";
  if (isPlain({ agent, event })) return said.text;
  const hookSpecificOutput = { hookEventName: CONTEXT_EVENTS[agent][event], additionalContext: said.text };
  return JSON.stringify({ hookSpecificOutput, systemMessage: said.line });
}

/** Returns true for agents whose plugin calls the hook and adds its text to the request. */
function isOfPlugin(agent: HookAgent): boolean {
  return agent === "opencode" || agent === "pi";
}

/** Returns true if the answer is plain text. Claude Code adds it to its request for the summary of a compaction. */
function isPlain({ agent, event }: Pick<Firing, "agent" | "event">): boolean {
  return agent === "claude-code" && event === "before-compaction";
}
