import { Option } from "commander";
import { printableJson } from "../../core/markup.ts";
import { projectNamed } from "../../core/project.ts";
import { AGENT_NAMES, listed } from "../../importers/formats.ts";
import type { SurveyedLocation } from "../../imports/survey.ts";
import type { WatchEvent } from "../../imports/watch/followed-files.ts";
import type { Store } from "../../session/store.ts";
import { askToAgree } from "../agreement.ts";
import type { Command } from "../command.ts";
import { failureFrom } from "../failure.ts";
import { pushLines, remoteWithProjects, syncLines } from "../hub-words.ts";
import { LEAVING_OUT_OPTIONS, type LeavingOutFlags, leavingOut } from "../options.ts";
import { AGENT_COLUMNS, agentRows, readingProgress, shortPath } from "../screen/progress.ts";
import { type Column, tableLines } from "../screen/table.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, oneLine } from "../screen/text.ts";
import { wrapped } from "../screen/wrap.ts";
import { chosenSummarizer } from "../stores/agent-choice.ts";
import { AgreedLocations } from "../stores/agreed-locations.ts";
import { BackgroundHub } from "../stores/background-hub.ts";

interface WatchFlags extends LeavingOutFlags {
  project?: string;
  once?: true;
  yes?: true;
  quiet?: true;
  push?: true;
}

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

export const watchCommand: Command<WatchFlags> = {
  usage: "watch [paths...]",
  summary: "Follow the transcripts of agents and keep the store current.",
  details:
    `Without paths, it follows the locations where ${listed(AGENT_NAMES)} keep their transcripts. It lists these, and asks you ` +
    "once before it reads them. A location need not exist yet. It imports the files " +
    "that exist, and then each change about a quarter of a second after it was written. Ctrl-C ends it. The next watch " +
    "continues where this one stopped. It also brings what the store follows on the hub, every minute. " +
    "With --json: one JSON object per line as it happens, {event: locations | imported | warning | caught_up | waiting | polling | synced | pushed | hub_failed, …}, " +
    "and {event: stopped, newCount} at the end.",
  argument: "files and folders, instead of the standard locations",
  options: [
    new Option("--project <project>", "the project of the sessions, by a name or a path, whatever the files say"),
    new Option("--once", "import what exists, and end"),
    new Option("--yes", "start without asking"),
    new Option("--quiet", "print only warnings"),
    new Option("--push", "send what is new to the hub, for the projects that coppice hub add named"),
    ...LEAVING_OUT_OPTIONS,
  ],
  examples: ["", "--yes --quiet", "~/.claude/projects --project web", "--once --yes", "--yes --json"],

  async run({ args: paths, options, storePath, loadStores, terminal, json }) {
    const { once = false, yes = false, quiet = false, push = false, project, ...flags } = options;
    const { surveyLocations } = await import("../../imports/survey.ts");
    const { watchFiles } = await import("../../imports/watch-files.ts");
    const locations = await surveyLocations(paths);
    if (json) terminal.print(printableJson({ event: "locations", locations }));
    else if (!quiet) for (const line of locationLines(locations, terminal)) terminal.note(line);
    const question = {
      text: once ? "Read these?" : "Read these and follow them?",
      refused: "Nothing was read.",
      unasked: {
        message: "Following the standard locations needs your agreement.",
        hint: "Add --yes to agree, or name the paths to follow.",
      },
    };
    const watchedPaths = locations.map(({ path }) => path);
    const agreed = new AgreedLocations(storePath);
    if (paths.length === 0 && !yes && !agreed.covers(watchedPaths)) {
      if (!(await askToAgree(question, terminal, json))) {
        return { value: { event: "stopped", newCount: 0 }, lines: [] };
      }
      agreed.remember(watchedPaths);
    }
    const stopping = new AbortController();
    const stop = (): void => stopping.abort();
    for (const signal of SIGNALS) process.once(signal, stop);
    terminal.whenReaderGone(stop);
    try {
      const summarizer = await chosenSummarizer(storePath, () => store);
      const store: Store = (await loadStores()).openToWrite(summarizer && { summarizer });
      if (push) await remoteWithProjects(store);
      const hub = hubOf(store, push, { terminal, quiet, json });
      const totals: Totals = { fileCount: 0, sessionIds: new Set() };
      let found: ImportedEvent[] | undefined = [];
      const onEvent = (event: WatchEvent): void => {
        if (event.event === "caught_up") totals.fileCount = event.fileCount;
        if (event.event === "imported") for (const id of event.sessionIds) totals.sessionIds.add(id);
        if (event.event === "imported" || event.event === "caught_up") {
          hub.changed(event.event === "imported" ? event.sessionIds : []);
        }
        if (json) terminal.print(printableJson(event));
        else if (event.event === "imported" && found !== undefined) found.push(event);
        else if (event.event !== "caught_up") printEvent(event, terminal, quiet);
        else if (!once) {
          terminal.endProgress();
          if (!quiet) printFound(found ?? [], locations, terminal);
          found = undefined;
          printEvent(event, terminal, quiet);
        }
      };
      let newCount = 0;
      try {
        ({ newCount } = await watchFiles(store, watchedPaths, {
          ...leavingOut(flags, store),
          ...(project !== undefined && { project: projectNamed(project) }),
          once,
          signal: stopping.signal,
          onEvent,
          ...(!quiet && { onProgress: readingProgress(terminal, { locations, isLogged: !json }) }),
        }));
        if (once && !stopping.signal.aborted) {
          await hub.finish().catch((error: unknown) => {
            if (push) throw error;
            terminal.note(oneLine(failureFrom(error).message)); // the files were asked for, and are read
          });
        }
      } finally {
        await hub.stop();
      }
      terminal.endProgress();
      if (found !== undefined && !quiet) printFound(found, locations, terminal);
      return { value: { event: "stopped", newCount }, lines: quiet ? [] : lastLines(newCount, totals, terminal) };
    } finally {
      for (const signal of SIGNALS) process.off(signal, stop);
    }
  },
};

/** Says what was brought and pushed. What cannot be is said once for each session, and each failure once until a step succeeds. */
function hubOf(
  store: Store,
  push: boolean,
  { terminal, quiet, json }: { terminal: Terminal; quiet: boolean; json: boolean },
): BackgroundHub {
  const said = new Set<string>();
  let failed: string | undefined;
  const say = ([first, ...others]: readonly string[], isNews: boolean): void => {
    failed = undefined;
    if (isNews && !quiet) terminal.note(first!);
    for (const line of others) {
      if (!said.has(line)) terminal.note(line);
      said.add(line);
    }
  };
  return new BackgroundHub(
    store,
    { push },
    {
      onPushed: (report) => {
        if (json) terminal.print(printableJson({ event: "pushed", ...report }));
        else say([...pushLines(report)], report.messageCount + report.forgottenCount > 0);
      },
      onSynced: (report) => {
        if (json) terminal.print(printableJson({ event: "synced", ...report }));
        else say([...syncLines(report)], report.messageCount > 0);
      },
      onFailed: (error, retryInMs) => {
        const { code, message } = failureFrom(error);
        if (json) return terminal.print(printableJson({ event: "hub_failed", code, message, retryInMs }));
        if (message !== failed) terminal.note(`${oneLine(message)} Trying again in ${retryInMs / 1_000} s.`);
        failed = message;
      },
    },
  );
}

interface Totals {
  fileCount: number;
  /** The sessions with new messages. */
  sessionIds: Set<string>;
}

function* lastLines(newCount: number, { fileCount, sessionIds }: Totals, terminal: Terminal): Generator<string> {
  const sessions = newCount === 0 ? "" : ` in ${formatCount(sessionIds.size, "session")}`;
  yield `${formatCount(newCount, "new message")}${sessions}, from ${formatCount(fileCount, "file")}.`;
  terminal.hint("Next: coppice sessions, or coppice recall <what you look for>");
}

/** Yields a table of the locations that exist, and names the agents of the others. */
function* locationLines(locations: readonly SurveyedLocation[], terminal: Terminal): Generator<string> {
  const nameOf = ({ agent, path }: SurveyedLocation): string => agent ?? shortPath(path, terminal);
  const columns: readonly Column<SurveyedLocation>[] = [
    { header: "Agent", value: ({ agent }) => agent ?? "" },
    { header: "Location", value: ({ path }) => shortPath(path, terminal), widthMin: 24, cut: "start" },
    { header: "Files", value: ({ fileCount }) => fileCount ?? 0 },
    { header: "MB", value: ({ byteLength }) => (byteLength / 1e6).toFixed(1), align: "right" },
  ];
  const there = locations.filter(({ fileCount }) => fileCount !== null);
  if (there.length > 0) yield* tableLines(columns, there, terminal);
  const known = new Set(there.map(nameOf));
  const missing = new Set(locations.map(nameOf).filter((name) => !known.has(name)));
  if (missing.size > 0) yield* wrapped(`Not there yet: ${[...missing].join(", ")}.`, terminal.columns).split("\n");
}

type ImportedEvent = Extract<WatchEvent, { event: "imported" }>;

function printFound(found: readonly ImportedEvent[], locations: readonly SurveyedLocation[], terminal: Terminal): void {
  if (found.length === 0) return;
  for (const line of tableLines(AGENT_COLUMNS, agentRows(found, locations), terminal)) terminal.print(line);
}

function printEvent(event: WatchEvent, terminal: Terminal, quiet: boolean): void {
  switch (event.event) {
    case "warning":
      terminal.note(
        `${shortPath(event.path, terminal)}:${event.line === null ? "" : `${event.line}:`} ${oneLine(event.reason)}`,
      );
      break;
    case "waiting":
      terminal.note(`${oneLine(event.reason)} Trying again in ${event.retryInMs / 1_000} s.`);
      break;
    case "polling":
      terminal.note(`${oneLine(event.reason)}. Scanning all folders every ${event.everyMs / 1_000} s instead.`);
      break;
    case "imported":
      if (!quiet) terminal.print(`${shortPath(event.path, terminal)}: ${formatCount(event.newCount, "new message")}`);
      break;
    case "caught_up": {
      const counts = `${formatCount(event.newCount, "new message")} in ${formatCount(event.fileCount, "file")}`;
      if (!quiet) terminal.note(`${counts}. Up to date.`);
      break;
    }
  }
}
