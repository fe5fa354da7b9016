import { Option } from "commander";
import { projectNamer } from "../../session/aids/project-meant.ts";
import type { Unreadable } from "../../session/moving/export.ts";
import type { Session } from "../../session/session.ts";
import type { Command } from "../command.ts";
import { unreadableFailure } from "../failure.ts";
import { type PageOptions, pageRead, SESSIONS_PAGE, SESSIONS_PAGE_OPTIONS, timeOption } from "../options.ts";
import { idsShown } from "../screen/short-ids.ts";
import { type Column, tableLines } from "../screen/table.ts";
import type { Terminal } from "../screen/terminal.ts";
import { oneLine } from "../screen/text.ts";
import { PROJECT_OPTION, type ScopeFlags, scopeOf } from "../stores/scope.ts";
import { forkCommand, hideCommand, nameCommand, tagCommand } from "./session-changes.ts";

type SessionOverview = ReturnType<Session["info"]>;

interface SessionsFlags extends PageOptions, Pick<ScopeFlags, "project" | "since"> {
  tag?: string;
  hidden?: true;
}

const HINT =
  "The others are listed. `coppice verify` says what is damaged, and `coppice export` saves what can be read.";

export const sessionsCommand: Command<SessionsFlags> = {
  usage: "sessions",
  aliases: ["ls", "list"],
  summary: "List the sessions, the most recently used first; name, tag, hide or fork one.",
  details:
    "A session without a title is shown by its first user message. ↳ marks a session that another one started. " +
    "Its tags follow. A terminal shows the beginnings of long ids, which every command accepts. A pipe gets whole ids, and a tab " +
    `between columns. A page has ${SESSIONS_PAGE} sessions. Hidden sessions are left out.\n` +
    "With --json: an array of sessions, with their tags, counts, times, origin and parent.",
  options: [
    PROJECT_OPTION,
    timeOption("since", "only sessions used from then on: 2026-11-01, yesterday, last week, 7d", "first"),
    new Option("--tag <tag>", "only sessions with this tag"),
    new Option("--hidden", "hidden sessions, too"),
    ...SESSIONS_PAGE_OPTIONS,
  ],
  paged: true,
  subcommands: [nameCommand, tagCommand, hideCommand, forkCommand],
  examples: ["", "--project web --since 2026-11-01", "--limit 5", "--offset 50", "--tag release", "--json"],

  async run({ options, loadStores, terminal, json }) {
    const { tag, hidden = false, limit, offset } = options;
    const store = (await loadStores()).openToRead();
    const unreadable: Unreadable[] = [];
    const found = store.sessions({
      onUnreadable: (damaged) => void unreadable.push(damaged),
      ...scopeOf(store, options),
      ...(tag !== undefined && { tag }),
      hidden,
      offset,
      limit: limit + 1, // one more shows whether there are more
    });
    const { shown, more } = pageRead(found, options, ", --since or --project");
    if (more !== undefined && json) terminal.note(more);
    return {
      value: shown,
      lines: sessionLines(shown, more, { idOf: idsShown(store, terminal), projectOf: projectNamer(store) }, terminal),
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
      value: titleOf,
      widthMin: 32,
      paint: (cell, { title }) => (title === null ? terminal.style("dim", cell) : cell),
    },
    { header: "Messages", value: ({ messageCount }) => messageCount },
    { header: "Tokens", value: ({ tokenCount }) => tokenCount, expendable: true },
    { header: "Themes", value: ({ themeCount }) => themeCount, expendable: true },
    { header: "Last message", value: ({ updatedAtMs }) => new Date(updatedAtMs) },
  ];
}

function titleOf(session: SessionOverview): string {
  const arrow = session.parentSessionId === null ? [] : ["↳"];
  const tags = session.tags.map((tag) => `#${oneLine(tag)}`);
  const by = session.author === null ? [] : [`(by ${oneLine(session.author)})`];
  const name = oneLine(session.name ?? (session.messageCount === 0 ? "(no messages)" : ""));
  return [...arrow, name, ...tags, ...by].join(" ");
}

function* sessionLines(
  shown: readonly SessionOverview[],
  more: string | undefined,
  names: Names,
  terminal: Terminal,
): Generator<string> {
  const [first] = shown;
  if (first === undefined) return terminal.note("No sessions.");
  yield* tableLines(columnsOf(names, terminal), shown, terminal);
  if (more !== undefined) terminal.note(more);
  const { id: newest } = shown.find(({ messageCount }) => messageCount > 0) ?? first;
  const id = oneLine(names.idOf(newest));
  terminal.hint(`Next: coppice show ${id}, or coppice resume ${id}`);
}
