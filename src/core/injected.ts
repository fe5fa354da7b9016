import type { Part } from "./message.ts";

/** Agents write the name of the server before that of the tool: `mcp__coppice__recall`, `coppice_recall`. */
const OWN_SERVER = /(?:^|[^a-z])coppice[_.:-]/i;
const OWN_TOOL = /[_.:-](?:recall|expand|get_context|recap|past_work|lost|list_sessions|list_subjects|hook|append)$/i;

/** A command line that reads the store, at the beginning of a command. */
const OWN_COMMAND =
  /(?:^|[;&|(\n])[ \t]*(?:npx\s+(?:-\S+\s+)*)?coppice\s+(?:recall|expand|show|resume|recap|file|fix|how|friction|lost|subjects?|sessions|forest|export)\b/;
const COMMAND_ARGUMENTS = ["command", "cmd", "script"];

/** True for a part that nobody said: one marked as `injected`, or a call of Coppice. The message keeps it; all that is derived from its `text` does not. */
export function isInjected(part: Part): boolean {
  return part.injected === true || (part.type === "tool_call" && isOwnCall(part.name, part.args));
}

function isOwnCall(name: string, args: unknown): boolean {
  if (OWN_TOOL.test(name) && OWN_SERVER.test(name)) return true;
  if (typeof args !== "object" || args === null) return false;
  return COMMAND_ARGUMENTS.some((key) => {
    const value = (args as Record<string, unknown>)[key];
    const command = Array.isArray(value) ? value.join(" ") : value;
    return typeof command === "string" && command.includes("coppice") && OWN_COMMAND.test(command);
  });
}
