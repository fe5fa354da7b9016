import { Option } from "commander";
import type { Remote } from "../../hub/remote.ts";
import type { SyncReport } from "../../hub/sync.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { storedRemote, syncLines, withHub } from "../hub-words.ts";
import { interruptible } from "../interruption.ts";
import { timeOption } from "../options.ts";
import { progressOf, type ShowProgress } from "../screen/progress.ts";
import { formatCount, oneLine } from "../screen/text.ts";

interface FollowFlags {
  all?: true;
  since?: number;
}

const ALL = new Option("--all", "every project of the team");

export const followCommand: Command<FollowFlags> = {
  usage: "follow [project]",
  summary: "Keep copies of the team's sessions of a project here, for all that answers questions.",
  details:
    "The first copies come at once, and what is new with each `coppice hub sync`, and every minute while `coppice watch` runs. A copy is only " +
    "read: `coppice hub pull <session> --take` goes on with one. " +
    "With --json: {projects, all, synced}.",
  argument: "the name that the project has on the hub",
  options: [ALL, timeOption("since", "only sessions with messages from then on: 2026-11-01, last week, 90d", "first")],
  examples: ["web", "web --since 90d", "--all"],

  async run({ args: [typed], options: { all = false, since }, loadStores, terminal }) {
    const { follow, followedOf, namesOnHub } = await import("../../hub/remote.ts");
    const store = (await loadStores()).openToWrite();
    const remote = await storedRemote(store);
    const project = projectOf(typed, all, namesOnHub(store));
    follow(store, project, since === undefined ? {} : { sinceMs: since });
    const synced = await syncedWith(remote, store, progressOf(terminal, "following"));
    terminal.hint("Next: coppice recall <what the team may have said>; coppice hub sync brings what is new");
    const value = { ...followedOf(store), synced };
    return {
      value,
      lines: [`Following ${project === null ? "every project" : oneLine(project)}.`, ...syncLines(synced)],
    };
  },
};

export const unfollowCommand: Command<FollowFlags> = {
  usage: "unfollow [project]",
  summary: "Follow a project no longer, and erase the copies of its sessions here.",
  details: "What this store has taken stays. With --json: {sessions}.",
  argument: "the name that the project has on the hub",
  options: [ALL],
  examples: ["web", "--all"],

  async run({ args: [typed], options: { all = false }, loadStores }) {
    const { namesOnHub, unfollow } = await import("../../hub/remote.ts");
    const store = (await loadStores()).openToWrite({ mustExist: true });
    const sessions = unfollow(store, projectOf(typed, all, namesOnHub(store)));
    return { value: { sessions }, lines: [`Erased ${formatCount(sessions.length, "copy", "copies")}.`] };
  },
};

export const syncCommand: Command = {
  usage: "sync",
  summary: "Bring what is new of the sessions that this store follows.",
  details:
    "It can be stopped at any time and run again. With --json: {sessionCount, messageCount, forgotten, refused}.",
  examples: [""],

  async run({ loadStores, terminal }) {
    const store = (await loadStores()).openToWrite({ mustExist: true });
    const remote = await storedRemote(store);
    const synced = await syncedWith(remote, store, progressOf(terminal, "syncing"));
    return { value: synced, lines: syncLines(synced) };
  },
};

function syncedWith(remote: Remote, store: Store, show: ShowProgress): Promise<SyncReport> {
  return interruptible("What came stays, and the next sync goes on.", (signal) =>
    withHub(remote, (hub) =>
      hub.sync(store, { signal, onProgress: ({ doneCount, sessionCount }) => show(doneCount, sessionCount) }),
    ),
  );
}

/** Returns the name of the project on the hub; null for all. A project of this store is typed as it is called here. */
function projectOf(typed: string | undefined, all: boolean, names: ReadonlyMap<string, string>): string | null {
  if ((typed === undefined) !== all)
    throw new Failure("USAGE_INVALID", "Name one project, or give --all.", {
      hint: "coppice hub pull lists what the hub has.",
    });
  return typed === undefined ? null : (names.get(typed) ?? typed);
}
