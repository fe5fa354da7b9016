import { cutToWidth } from "./display-width.ts";
import type { Terminal } from "./terminal.ts";
import { oneLine } from "./text.ts";

/** Returns the name of a session as the first line about it. */
export function headline(name: string, terminal: Terminal): string {
  return terminal.style("bold", cutToWidth(oneLine(name), terminal.columns));
}
