import { Option } from "commander";
import type { PushOptions } from "../../hub/hub.ts";
import type { Command } from "../command.ts";
import { pushLines, remoteWithProjects, storedRemote, withHub } from "../hub-words.ts";
import { interruptible } from "../interruption.ts";
import { progressOf } from "../screen/progress.ts";
import { formatCount, oneLine } from "../screen/text.ts";
import { findSession } from "../stores/find-session.ts";

export const pushCommand: Command<{ dryRun?: true; fork?: true; forgotten?: PushOptions["forgotten"] }> = {
  usage: "push [sessions...]",
  summary: "Send what the hub lacks of this store's sessions.",
  details:
    "Without sessions, it sends those of the projects that `coppice hub add` named. It can be stopped at any time and run again. " +
    "Sessions that began here, or were taken, are kept if the hub has forgotten them, or messages of them. They are named each time and not sent, until " +
    "--forgotten says what becomes of them.\n" +
    "With --json: {sessionCount, messageCount, forgottenCount, refusedCount, gone, kept, moved, forked, behind, diverged}; with --dry-run {sessions}.",
  argument: "sessions, also of other projects",
  options: [
    new Option("--dry-run", "only list what may be sent"),
    new Option("--fork", "send what has gone on both here and elsewhere as a session of its own"),
    new Option(
      "--forgotten <what>",
      "what becomes of sessions that began here, or were taken, and that the hub has forgotten: keep them here and name them no more, forget them here, too, or send them again",
    ).choices(["keep", "forget", "send"]),
  ],
  examples: ["", "--dry-run", "support-42", "support-42 --forgotten send"],

  async run({ args: typed, options: { dryRun = false, fork = false, forgotten }, loadStores, terminal }) {
    const store = (await loadStores()).openToWrite({ mustExist: true });
    const named = typed.map((one) => findSession(store, one).id);
    const remote = await (named.length > 0 ? storedRemote : remoteWithProjects)(store);
    const { projects } = remote;
    if (dryRun) {
      const { sessionsToPush } = await import("../../hub/remote.ts");
      const ids = sessionsToPush(store, named.length > 0 ? named : undefined, projects).map(({ id }) => id);
      return {
        value: { sessions: ids },
        lines: [...ids.map(oneLine), `${formatCount(ids.length, "session")}. Nothing was sent.`],
      };
    }
    const progress = progressOf(terminal, "pushing");
    const report = await interruptible("What was sent before stays.", (signal) =>
      withHub(remote, (hub) =>
        hub.push(store, {
          ...(named.length > 0 && { sessions: named }),
          projects,
          fork,
          ...(forgotten && { forgotten }),
          signal,
          onProgress: ({ doneCount, sessionCount }) => progress(doneCount, sessionCount),
        }),
      ),
    );
    return { value: report, lines: pushLines(report) };
  },
};
