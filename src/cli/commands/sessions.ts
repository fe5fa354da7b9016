import { Option } from "commander";
import type { Unreadable } from "../../session/export.ts";
import { projectMeant, projectNamer } from "../../session/project-meant.ts";
import type { Session } from "../../session/session.ts";
import { sessionName } from "../../session/session-name.ts";
import type { Command } from "../command.ts";
import { timeOption, wholeNumberOption } from "../options.ts";
import { shortIds } from "../short-ids.ts";
import { type Column, tableLines } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, oneLine } from "../text.ts";
import { unreadableFailure } from "../unreadable.ts";

type SessionOverview = ReturnType<Session["info"]>;

interface SessionsFlags {
  project?: string;
  since?: number;
  limit?: number;
}

/** A terminal shows this many sessions unless `--limit` is given. */
const SCREEN_LIMIT = 50;

const HINT =
  "The others are listed. `coppice verify` says what is damaged, and `coppice export` saves what can be read.";

export const sessionsCommand: Command<SessionsFlags> = {
  usage: "sessions",
  aliases: ["ls", "list"],
  summary: "List the sessions, the most recently used first.",
  details:
    "A session without a title is shown by its first user message. ↳ marks a session that another one started. " +
    "A terminal shows the beginnings of long ids, which every command accepts, and at most " +
    `${SCREEN_LIMIT} sessions unless --limit is given. A pipe gets all sessions, with a tab between columns. ` +
    "With --json: an array of sessions, with their counts, times, origin and parent.",
  options: [
    new Option("--project <project>", "by name or path: only the sessions of this project"),
    timeOption("since", "only sessions used from then on: 2026-11-01, yesterday, last week, 7d", "first"),
    wholeNumberOption("limit", "most sessions", 0),
  ],
  paged: true,
  examples: ["", "--project web --since 2026-11-01", "--limit 5", "--json"],

  async run({ options: { project, since, limit }, loadStores, terminal, json }) {
    const store = (await loadStores()).openToRead();
    const isOnScreen = terminal.width !== undefined && !json;
    const shownMax = limit ?? (isOnScreen ? SCREEN_LIMIT : undefined);
    const unreadable: Unreadable[] = [];
    const found = store.sessions({
      onUnreadable: (damaged) => void unreadable.push(damaged),
      ...(project !== undefined && { project: projectMeant(store, project) }),
      ...(since !== undefined && { sinceMs: since }),
      ...(shownMax !== undefined && { limit: shownMax + 1 }), // one more shows whether there are more
    });
    const shown = shownMax === undefined ? found : found.slice(0, shownMax);
    const idOf = isOnScreen ? shortIds(store.sessionIds({ prefix: "" })) : (id: string): string => id;
    return {
      value: shown,
      lines: sessionLines(shown, found.length > shown.length, { idOf, projectOf: projectNamer(store) }, terminal),
      failure: unreadableFailure("STORE_CORRUPT", unreadable, HINT),
    };
  },
};

interface Names {
  idOf: (id: string) => string;
  projectOf: ReturnType<typeof projectNamer>;
}

function columnsOf({ idOf, projectOf }: Names, terminal: Terminal): Column<SessionOverview>[] {
  return [
    { header: "Session", value: ({ id }) => oneLine(idOf(id)), paint: (cell) => terminal.style("cyan", cell) },
    { header: "Project", value: ({ project }) => oneLine(projectOf(project)), widthMin: 8, expendable: true },
    {
      header: "Title",
      value: (session) => `${session.parentSessionId === null ? "" : "↳ "}${oneLine(sessionName(session) ?? "")}`,
      widthMin: 20,
      paint: (cell, { title }) => (title === null ? terminal.style("dim", cell) : cell),
    },
    { header: "Messages", value: ({ messageCount }) => messageCount },
    { header: "Tokens", value: ({ tokenCount }) => tokenCount, expendable: true },
    { header: "Themes", value: ({ themeCount }) => themeCount, expendable: true },
    { header: "Last message", value: ({ updatedAtMs }) => new Date(updatedAtMs) },
  ];
}

function* sessionLines(
  shown: readonly SessionOverview[],
  isMore: boolean,
  names: Names,
  terminal: Terminal,
): Generator<string> {
  const [first] = shown;
  if (first === undefined) return terminal.note("No sessions.");
  yield* tableLines(columnsOf(names, terminal), shown, terminal);
  if (isMore)
    terminal.hint(`The newest ${formatCount(shown.length, "session")}; there are more: --limit, --since, --project`);
  const id = oneLine(names.idOf(first.id));
  terminal.hint(`Next: coppice show ${id}, or coppice resume ${id}`);
}
