import { homedir } from "node:os";
import { createInterface } from "node:readline/promises";
import { Option } from "commander";
import type { SurveyedPlace } from "../../imports/survey.ts";
import type { WatchEvent } from "../../imports/watch/watch-events.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { type Column, tableLines } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, oneLine } from "../text.ts";

interface WatchFlags {
  project?: string;
  once?: true;
  yes?: true;
  quiet?: true;
}

/** What ends a watch. */
const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

export const command: Command<WatchFlags> = {
  details:
    "Without paths, follows the places where Claude Code, Gemini CLI, Codex, llxprt-code and opencode keep their conversations; " +
    "each is shown, and nothing is read before it was agreed to. A place that is not there yet is followed when it comes to be. " +
    "What is there is brought in as by import, then what is written, about a quarter of a second later. Ctrl-C ends it; " +
    "started again, it goes on where it was. " +
    "With --json: one JSON object a line, as it happens: {event: places | imported | warning | caught_up | waiting | polling, …}, " +
    "at the end {event: stopped, newCount}.",
  argument: "files and folders, instead of the standard locations",
  options: [
    new Option("--project <name>", "the project of the sessions, whatever the files say"),
    new Option("--once", "bring in what is there, and end"),
    new Option("--yes", "begin without asking"),
    new Option("--quiet", "print nothing but warnings"),
  ],
  examples: ["", "--yes --quiet", "~/.claude/projects --project web", "--once --yes", "--yes --json"],

  async run({ args: paths, options: { project, once, yes, quiet }, loadStores, terminal, json }) {
    const [{ surveyPlaces }, { WatchRun }] = await Promise.all([
      import("../../imports/survey.ts"),
      import("../../imports/watch/watch-run.ts"),
    ]);
    const { env, platform } = process;
    const places = await surveyPlaces(paths, { env, platform, home: homedir() });
    const print = (event: WatchEvent): void => {
      if (json) terminal.print(JSON.stringify(event));
      else if (once !== true || event.event !== "caught_up") printEvent(event, terminal, quiet === true);
    };
    print({ event: "places", places });
    if (
      paths.length === 0 &&
      yes !== true &&
      !(await isAgreed(once === true ? "Read these?" : "Read these and follow them?", terminal, json))
    ) {
      return { value: { event: "stopped", newCount: 0 }, lines: [] };
    }
    const stopping = new AbortController();
    const stop = (): void => stopping.abort();
    for (const signal of SIGNALS) process.once(signal, stop);
    terminal.whenReaderGone(stop);
    try {
      const run = new WatchRun((await loadStores()).openToWrite(), {
        paths: places.map(({ path }) => path),
        ...(project === undefined ? {} : { project }),
        onEvent: print,
        signal: stopping.signal,
      });
      await (once === true ? run.once() : run.follow());
      return {
        value: { event: "stopped", newCount: run.newCount } satisfies WatchEvent,
        lines: quiet === true ? [] : lastLines(run.newCount, once === true, terminal),
      };
    } finally {
      for (const signal of SIGNALS) process.off(signal, stop);
    }
  },
};

function* lastLines(newCount: number, isOnce: boolean, terminal: Terminal): Generator<string> {
  yield `${formatCount(newCount, "new message")}.`;
  if (isOnce) terminal.hint("Next: coppice sessions, or coppice recall <what you look for>");
}

/** @throws {Failure} `USAGE_INVALID` where nobody can be asked. */
async function isAgreed(question: string, terminal: Terminal, json: boolean): Promise<boolean> {
  if (json || process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    throw new Failure("USAGE_INVALID", "Nobody is there to agree that these places are read.", {
      hint: "Add --yes to agree to it, or name the paths to be followed.",
      exitCode: 2,
    });
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const gone = new Promise<string>((resolve) => asking.once("close", () => resolve("")));
    const answer = await Promise.race([asking.question(`${question} [y/N] `), gone]);
    if (/^y(es)?$/i.test(answer.trim())) return true;
    terminal.note("Nothing was read.");
    return false;
  } finally {
    asking.close();
  }
}

const COLUMNS: readonly Column<SurveyedPlace>[] = [
  { header: "Agent", value: ({ agent }) => agent ?? "" },
  { header: "Place", value: ({ path }) => oneLine(path), widthMin: 24, cut: "start" },
  { header: "Files", value: ({ fileCount }) => fileCount ?? "not there yet", align: "right" },
  {
    header: "MB",
    value: ({ fileCount, byteLength }) => (fileCount === null ? "" : (byteLength / 1e6).toFixed(1)),
    align: "right",
  },
];

function printEvent(event: WatchEvent, terminal: Terminal, quiet: boolean): void {
  switch (event.event) {
    case "warning":
      terminal.note(oneLine(`${event.path}:${event.line === null ? "" : `${event.line}:`} ${event.reason}`));
      return;
    case "waiting":
      terminal.note(`${oneLine(event.reason)} Trying again in ${event.retryInMs / 1_000} s.`);
      return;
    case "polling":
      terminal.note(`${oneLine(event.reason)}: looking at everything each ${event.everyMs / 1_000} s instead.`);
      return;
  }
  if (quiet) return;
  if (event.event === "places") for (const line of tableLines(COLUMNS, event.places, terminal)) terminal.note(line);
  if (event.event === "imported")
    terminal.print(oneLine(`${event.path}: ${formatCount(event.newCount, "new message")}`));
  if (event.event === "caught_up") {
    terminal.note(
      `${formatCount(event.newCount, "new message")} in ${formatCount(event.fileCount, "file")}. Up to date.`,
    );
  }
}
