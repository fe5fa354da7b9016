import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import { projectNamer } from "../../session/project-meant.ts";
import { sessionNames } from "../../session/session-name.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { cutToWidth } from "../display-width.ts";
import { findProject } from "../find-project.ts";
import { wholeNumberOption } from "../options.ts";
import { shortIds } from "../short-ids.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, oneLine } from "../text.ts";
import { countsOf, extentLine, timesFor, titleLine } from "../topic-lines.ts";

type SubjectInfo = ReturnType<Store["subjects"]>[number];

interface SubjectsFlags {
  project?: string;
  limit: number;
}

const LIMIT_DEFAULT = 20;

export const subjectsCommand: Command<SubjectsFlags> = {
  usage: "subjects",
  summary: "List the subjects that came up in several sessions.",
  details:
    "The largest subject comes first, and each is listed with its sessions and their times. Clusters get subjects when " +
    "they are settled. All clusters of a session are settled at the latest when it has been idle for longer than it was " +
    "active, or for thirty days. `expand` accepts each handle. With --json: an array of subjects, each with its sessions.",
  options: [
    new Option("--project <project>", "by name or path: only the subjects of this project"),
    wholeNumberOption("limit", "most subjects printed", 0, PAGE_LIMIT_MAX).default(LIMIT_DEFAULT),
  ],
  paged: true,
  examples: ["", "--project web", "--limit 5 --json"],

  async run({ options: { project, limit }, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const only = project === undefined ? {} : { project: findProject(store, project) };
    const subjects = store.subjects({ limit, ...only });
    return { value: subjects, lines: subjectLines(subjects, limit, store, terminal) };
  },
};

function* subjectLines(
  subjects: readonly SubjectInfo[],
  limit: number,
  store: Store,
  terminal: Terminal,
): Generator<string> {
  const ids = subjects.flatMap(({ sessions }) => sessions.map(({ sessionId }) => sessionId));
  const titles = sessionNames(store, ids);
  const projectOf = projectNamer(store);
  const idOf = terminal.width === undefined ? (id: string) => id : shortIds(store.sessionIds({ prefix: "" }));
  for (const [index, info] of subjects.entries()) {
    if (index > 0) yield "";
    yield titleLine(info.label, info.subject, terminal);
    yield extentLine({ ...info, project: projectOf(info.project) }, countsOf(info), terminal);
    for (const { sessionId, messageCount, ...extent } of info.sessions) {
      const name = [oneLine(idOf(sessionId)), oneLine(titles.get(sessionId) ?? "")].filter(Boolean).join(" ");
      const line = `  ${timesFor(terminal, extent)}  ${formatCount(messageCount, "message")}  ${name}`;
      yield terminal.width === undefined ? line : cutToWidth(line, terminal.width);
    }
  }
  const [largest] = subjects;
  if (largest === undefined && limit === 0) return;
  if (largest === undefined)
    terminal.note("No subjects yet. A subject needs similar settled clusters in two sessions of a project.");
  else terminal.hint(`Next: coppice expand ${largest.subject}, for its messages word for word`);
}
