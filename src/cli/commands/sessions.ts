import { Option } from "commander";
import type { Session } from "../../session/session.ts";
import type { Command } from "../command.ts";
import { timeOption, wholeNumberOption } from "../options.ts";
import { shortIds } from "../short-ids.ts";
import { type Column, tableLines } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, oneLine } from "../text.ts";

type SessionOverview = ReturnType<Session["info"]>;

interface SessionsFlags {
  project?: string;
  since?: number;
  limit?: number;
}

/** Sessions on a screen, unless told otherwise. */
const SCREEN_LIMIT = 50;

/** `sessions` lists what the store holds. */
export const sessions: Command<SessionsFlags> = {
  name: "sessions",
  summary: "List the sessions, the most recently used first.",
  details:
    "Of a session without a title, how its user began. ↳ marks what another session has started. " +
    "A terminal shows the beginnings of long ids, which every command takes for the whole, and at most " +
    `${SCREEN_LIMIT} sessions unless --limit is given; a pipe gets all of them, with one tab between two columns. ` +
    "With --json: an array of sessions, with their counts, times, origin and parent.",
  options: [
    new Option("--project <name>", "only the sessions of this project"),
    timeOption("since", "only sessions that were used on this day, or at this time, or later", "first"),
    wholeNumberOption("limit", "most sessions", 0),
  ],
  examples: ["", "--project web --since 2026-11-01", "--limit 5", "--json"],

  run({ options: { project, since, limit }, stores, terminal, json }) {
    const store = stores.openToRead();
    const isOnScreen = terminal.width !== undefined && !json;
    const shownMax = limit ?? (isOnScreen ? SCREEN_LIMIT : undefined);
    const found = store.sessions({
      ...(project !== undefined && { project }),
      ...(since !== undefined && { sinceMs: since }),
      ...(shownMax !== undefined && { limit: shownMax + 1 }), // one more, to know whether there is one
    });
    const shown = shownMax === undefined ? found : found.slice(0, shownMax);
    const idOf = isOnScreen ? shortIds(store.sessionIds({ prefix: "" })) : (id: string): string => id;
    return { value: shown, lines: lines(shown, found.length > shown.length, idOf, terminal) };
  },
};

function columnsOf(idOf: (id: string) => string, terminal: Terminal): Column<SessionOverview>[] {
  return [
    { header: "Session", value: ({ id }) => oneLine(idOf(id)), paint: (cell) => terminal.style("cyan", cell) },
    { header: "Project", value: ({ project }) => oneLine(project ?? ""), widthMin: 8, expendable: true },
    {
      header: "Title",
      value: ({ title, opening, parentSessionId }) =>
        `${parentSessionId === null ? "" : "↳ "}${oneLine(title ?? opening ?? "")}`,
      widthMin: 20,
      paint: (cell, { title }) => (title === null ? terminal.style("dim", cell) : cell),
    },
    { header: "Messages", value: ({ messageCount }) => messageCount },
    { header: "Tokens", value: ({ tokenCount }) => tokenCount, expendable: true },
    { header: "Themes", value: ({ themeCount }) => themeCount, expendable: true },
    { header: "Last message", value: ({ updatedAtMs }) => new Date(updatedAtMs) },
  ];
}

function* lines(
  shown: readonly SessionOverview[],
  isMore: boolean,
  idOf: (id: string) => string,
  terminal: Terminal,
): Generator<string> {
  const [first] = shown;
  if (first === undefined) {
    terminal.note("No sessions.");
    return;
  }
  yield* tableLines(columnsOf(idOf, terminal), shown, terminal);
  const hints = [`Next: coppice show ${oneLine(idOf(first.id))}, or coppice resume ${oneLine(idOf(first.id))}`];
  if (isMore)
    hints.unshift(`The newest ${formatCount(shown.length, "session")}; there are more: --limit, --since, --project`);
  for (const hint of hints) terminal.hint(hint);
}
