import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { wholeNumberOption } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, formatTime, oneLine } from "../text.ts";

type SubjectInfo = ReturnType<Store["subjects"]>[number];

interface SubjectsOptions {
  project?: string;
  limit: number;
}

const LIMIT_DEFAULT = 20;

/** `subjects` lists what came up in more than one session. */
export const subjects: Command<SubjectsOptions> = {
  name: "subjects",
  summary: "List what came up in several sessions, each with its sessions and times.",
  details:
    "The largest first. A session takes part once it has been silent for a day and for longer than it lasted, or for " +
    "thirty days; earlier with what has settled of it. Each handle can be given to `expand`. With --json: an array of subjects, each with its sessions.",
  options: [
    new Option("--project <name>", "only the subjects of this project"),
    wholeNumberOption("limit", "most subjects printed", 0, PAGE_LIMIT_MAX).default(LIMIT_DEFAULT),
  ],
  examples: ["", "--project web", "--limit 5 --json"],

  run({ options, stores, terminal }) {
    const found = stores.openToRead().subjects(options);
    return { value: found, lines: lines(found, terminal) };
  },
};

function* lines(found: readonly SubjectInfo[], terminal: Terminal): Generator<string> {
  if (found.length === 0)
    terminal.note("No subjects: nothing that has settled came up in two sessions of one project.");
  for (const { subject, project, label, sessionCount, clusterCount, messageCount, sessions } of found) {
    const names = [terminal.style("bold", subject), oneLine(label), oneLine(project ?? "")].filter(
      (name) => name !== "",
    );
    const counts = [
      formatCount(sessionCount, "session"),
      formatCount(clusterCount, "cluster"),
      formatCount(messageCount, "message"),
    ];
    yield [...names, counts.join(", ")].join(" · ");
    for (const { sessionId, title, messageCount: count, firstAtMs, lastAtMs } of sessions) {
      const times = `${formatTime(firstAtMs)} – ${formatTime(lastAtMs)}`;
      const name = title === null ? sessionId : `${sessionId} ${oneLine(title)}`;
      yield `  ${terminal.style("dim", times)}  ${name} (${formatCount(count, "message")})`;
    }
  }
  const [largest] = found;
  if (largest !== undefined) terminal.hint(`Next: coppice expand ${largest.subject}, for its messages word for word`);
}
