import { Option } from "commander";
import type { PushReport } from "../../hub/hub.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { findSession } from "../find-session.ts";
import { storedRemote, withHub } from "../hub-words.ts";
import { interruptible } from "../interruption.ts";
import { progressOf } from "../progress.ts";
import { formatCount, oneLine } from "../text.ts";

/** What became of sessions that were not sent, and what to do. */
const UNSENT = {
  gone: "was forgotten on the hub, and now here, too",
  expired: "is kept by the hub no longer; it stays here",
  moved: "was taken by another store: go on there",
  behind: "has more messages on the hub: this file is an older copy",
  diverged: "has gone on here and in a copy of this file: go on with one of them under another id",
} as const;

export const pushCommand: Command<{ dryRun?: true }> = {
  usage: "push [sessions...]",
  summary: "Send what the hub lacks of this store's sessions.",
  details:
    "Without sessions, it sends those of the projects that `coppice remote add` named. It can be stopped at any time and run again.\n" +
    "With --json: {sessionCount, messageCount, gone, expired, moved, behind, diverged}; with --dry-run {sessions}.",
  argument: "sessions, also of other projects",
  options: [new Option("--dry-run", "only list what would be sent")],
  examples: ["", "--dry-run", "support-42"],

  async run({ args: typed, options: { dryRun = false }, loadStores, terminal }) {
    const store = (await loadStores()).openToWrite({ mustExist: true });
    const remote = await storedRemote(store);
    const named = typed.map((one) => findSession(store, one).id);
    const { projects } = remote;
    if (named.length + projects.length === 0) {
      const hint = "Add one: coppice remote add <url> --project <name>";
      throw new Failure("REMOTE_MISSING", "No project of this store may go to the hub.", { hint });
    }
    if (dryRun) {
      const ids =
        named.length > 0 ? named : projects.flatMap((project) => store.sessions({ project }).map(({ id }) => id));
      return {
        value: { sessions: ids },
        lines: [...ids.map(oneLine), `${formatCount(ids.length, "session")}. Nothing was sent.`],
      };
    }
    const progress = progressOf(terminal, "pushing");
    const report = await interruptible("What was sent before stays.", (signal) =>
      withHub(remote.url, (hub) =>
        hub.push(store, {
          ...(named.length > 0 ? { sessions: named } : { projects }),
          ...(remote.team !== null && { team: remote.team }),
          signal,
          onProgress: ({ doneCount, sessionCount }) => progress(doneCount, sessionCount),
        }),
      ),
    );
    return { value: report, lines: reportLines(report) };
  },
};

function* reportLines(report: PushReport): Generator<string> {
  yield `Sent ${formatCount(report.messageCount, "message")} of ${formatCount(report.sessionCount, "session")}.`;
  for (const [outcome, text] of Object.entries(UNSENT)) {
    for (const id of report[outcome as keyof typeof UNSENT]) yield `${oneLine(id)} ${text}.`;
  }
}
