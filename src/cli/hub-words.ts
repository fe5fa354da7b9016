import type { Hub, PushReport } from "../hub/hub.ts";
import type { Remote } from "../hub/remote.ts";
import type { HubAccess } from "../mcp/live-hub.ts";
import type { Store } from "../session/store.ts";
import { Failure } from "./failure.ts";
import { formatCount, oneLine } from "./screen/text.ts";

/** @throws {Failure} `REMOTE_MISSING`. */
export async function storedRemote(store: Store): Promise<Remote> {
  const { remoteOf } = await import("../hub/remote.ts");
  const remote = remoteOf(store);
  if (remote !== undefined) return remote;
  const hint = "Name one: coppice hub add <url> --project <name>";
  throw new Failure("REMOTE_MISSING", "This store has no hub.", { hint });
}

/** Says of each session that was not sent why, and what to do. */
const UNSENT = {
  gone: "was forgotten on the hub, and now here, too",
  kept:
    "began here, and the hub has forgotten it, or messages of it: it is kept, and not sent until you choose by " +
    "`coppice hub push <session> --forgotten keep`, `forget` or `send`",
  expired: "is kept by the hub no longer; it stays here",
  moved: "was taken by another store: go on there",
  behind: "is newer on the hub, because a copy of this file pushed it: pull it, and go on",
  diverged: "differs from what the hub has or has forgotten under its id: go on with one of them under another id",
} as const;

export function* pushLines(report: PushReport): Generator<string> {
  yield `Sent ${formatCount(report.messageCount, "message")} of ${formatCount(report.sessionCount, "session")}.`;
  const forks = new Map(report.forked.map(({ sessionId, forkId }) => [sessionId, forkId]));
  for (const [outcome, text] of Object.entries(UNSENT)) {
    for (const id of report[outcome as keyof typeof UNSENT]) {
      const forkId = forks.get(id);
      if (forkId === undefined) yield `${oneLine(id)} ${text}.`;
      else yield `${oneLine(id)} was taken by another store. What only this store had went to the hub as ${forkId}.`;
    }
  }
}

/** Returns the store's hub. @throws {Failure} `REMOTE_MISSING`, also if no project may go there. */
export async function remoteWithProjects(store: Store): Promise<Remote> {
  const remote = await storedRemote(store);
  if (remote.projects.length > 0) return remote;
  const hint = "Add one: coppice hub add <url> --project <name>";
  throw new Failure("REMOTE_MISSING", "No project of this store may go to the hub.", { hint });
}

/** Connects, and closes the connection however the work ends. */
export async function withHub<T>(url: string, work: (hub: Hub) => Promise<T>): Promise<T> {
  const { openHub } = await import("../hub/hub.ts");
  const hub = await openHub(url);
  try {
    return await work(hub);
  } finally {
    await hub.close();
  }
}

/** The hub of the store that an MCP server serves. Its code is loaded when a call asks it. */
export const HUB: HubAccess = {
  urlOf: async (store) => (await import("../hub/remote.ts")).remoteOf(store)?.url,
  nameOf: async (store, project) => (await import("../hub/remote.ts")).namesOnHub(store).get(project) ?? project,
  open: async (url, signal) => (await import("../hub/hub.ts")).openHub(url, { signal }),
};
