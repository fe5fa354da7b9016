import { Option } from "commander";
import type { Session } from "../../session/session.ts";
import type { Command } from "../command.ts";
import { type Column, tableLines } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { formatNumber, formatTime, oneLine } from "../text.ts";

type SessionOverview = ReturnType<Session["info"]>;

const COLUMNS: readonly Column<SessionOverview>[] = [
  { header: "Session", text: ({ id }) => id, widthMin: 36, cut: "start" },
  { header: "Project", text: ({ project }) => oneLine(project ?? ""), widthMin: 8, expendable: true },
  {
    header: "Title",
    text: ({ title, parentSessionId }) => `${parentSessionId === null ? "" : "↳ "}${oneLine(title ?? "")}`,
    widthMin: 20,
  },
  { header: "Messages", text: ({ messageCount }) => formatNumber(messageCount), align: "right" },
  { header: "Tokens", text: ({ tokenCount }) => formatNumber(tokenCount), align: "right", expendable: true },
  { header: "Themes", text: ({ themeCount }) => formatNumber(themeCount), align: "right", expendable: true },
  { header: "Last message", text: ({ updatedAtMs }) => formatTime(updatedAtMs), expendable: true },
];

/** `sessions` lists what the store holds. */
export const sessions: Command<{ project?: string }> = {
  name: "sessions",
  summary: "List the sessions, the most recently used first.",
  details:
    "↳ marks what another session has started. With --json: an array of sessions, with their counts, times, origin and parent.",
  options: [new Option("--project <name>", "only the sessions of this project")],
  examples: ["", "--project web", "--json"],

  run({ options, stores, terminal }) {
    const found = stores.openToRead().sessions(options);
    return { value: found, lines: lines(found, terminal) };
  },
};

function* lines(found: readonly SessionOverview[], terminal: Terminal): Generator<string> {
  if (found.length === 0) terminal.note("No sessions.");
  else yield* tableLines(COLUMNS, found, terminal);
}
