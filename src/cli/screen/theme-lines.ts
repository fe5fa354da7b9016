import type { NearTheme } from "../../session/aids/near-themes.ts";
import { isSame } from "../../session/aids/session-name.ts";
import { cutToWidth, displayWidth } from "./display-width.ts";
import type { Terminal } from "./terminal.ts";
import { formatCount, formatTime, oneLine } from "./text.ts";

const INDENT = "  ";

/** Yields two lines for each theme: what it is about with its handle, and where it was said. */
export function* themeLines(
  themes: readonly NearTheme[],
  terminal: Terminal,
  idOf: (sessionId: string) => string,
): Generator<string> {
  for (const { theme, label, title, project, agent, author, atMs, sessionId, messageCount } of themes) {
    const room = terminal.columns - displayWidth(theme) - INDENT.length;
    const about = cutToWidth(oneLine(label || title || sessionId), room);
    yield `${terminal.style("bold", about)}${INDENT}${terminal.style("dim", theme)}`;
    const facts = [
      project,
      agent,
      author && `by ${author}`,
      formatTime(atMs).split(" ")[0],
      `session ${idOf(sessionId)}`,
      formatCount(messageCount, "message"),
      isSame(label, title) ? null : title,
    ];
    const line = INDENT + facts.flatMap((fact) => (fact ? [oneLine(fact)] : [])).join(" · ");
    yield terminal.style("dim", cutToWidth(line, terminal.columns));
  }
}
