import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { wholeNumberOption } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, formatTime, oneLine } from "../text.ts";

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
    new Option("--project <name>", "only the subjects of this project"),
    wholeNumberOption("limit", "most subjects printed", 0, PAGE_LIMIT_MAX).default(LIMIT_DEFAULT),
  ],
  examples: ["", "--project web", "--limit 5 --json"],

  async run({ options, loadStores, terminal }) {
    const subjects = (await loadStores()).openToRead().subjects(options);
    return { value: subjects, lines: subjectLines(subjects, terminal) };
  },
};

function* subjectLines(subjects: readonly SubjectInfo[], terminal: Terminal): Generator<string> {
  for (const { subject, project, label, sessionCount, clusterCount, messageCount, sessions } of subjects) {
    const names = [terminal.style("bold", subject), oneLine(label), oneLine(project ?? "")];
    const counts = [
      formatCount(sessionCount, "session"),
      formatCount(clusterCount, "cluster"),
      formatCount(messageCount, "message"),
    ];
    yield [...names.filter(Boolean), counts.join(", ")].join(" · ");
    for (const { sessionId, title, messageCount: count, firstAtMs, lastAtMs } of sessions) {
      const times = `${formatTime(firstAtMs)} – ${formatTime(lastAtMs)}`;
      const name = title === null ? sessionId : `${sessionId} ${oneLine(title)}`;
      yield `  ${terminal.style("dim", times)}  ${name} (${formatCount(count, "message")})`;
    }
  }
  const [largest] = subjects;
  if (largest === undefined)
    terminal.note("No subjects yet. A subject needs similar settled clusters in two sessions of a project.");
  else terminal.hint(`Next: coppice expand ${largest.subject}, for its messages word for word`);
}
