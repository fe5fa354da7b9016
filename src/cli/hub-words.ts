import type { Hub, PushReport } from "../hub/hub.ts";
import type { Remote } from "../hub/remote.ts";
import type { SyncReport } from "../hub/sync.ts";
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

const FORK = "To keep both: coppice hub push ID --fork";

/** Says of each session that was not sent why, and what to do. */
const UNSENT = {
  gone: "was forgotten on the hub, and now here, too.",
  kept:
    "is of this store, and the hub has forgotten it, or messages of it. It is kept, and not sent until you choose: " +
    "coppice hub push ID --forgotten keep, forget or send",
  moved: `was taken by another store, and has gone on here. ${FORK}`,
  forked: "had gone on here and elsewhere. What is here went to the hub as a session of its own.",
  behind: "is newer on the hub, because a copy of this file pushed it: coppice hub pull ID",
  diverged: `has gone on here and in a copy of this file. ${FORK}`,
} as const;

export function* pushLines(report: PushReport): Generator<string> {
  const { messageCount, sessionCount, forgottenCount, refusedCount, ...lists } = report;
  const sent = `Sent ${formatCount(messageCount, "message")} of ${formatCount(sessionCount, "session")}.`;
  const forgot = `Forgot ${formatCount(forgottenCount, "session")} on the hub.`;
  const did = [...(messageCount > 0 || sessionCount > 0 ? [sent] : []), ...(forgottenCount > 0 ? [forgot] : [])];
  yield did.length > 0 ? did.join(" ") : "There was nothing to send.";
  if (refusedCount > 0) {
    const still = `${formatCount(refusedCount, "session")} that you forgot here ${refusedCount === 1 ? "is" : "are"} still on the hub`;
    yield `${still}: only the role that began a session can delete it there. The next push tries again.`;
  }
  for (const [outcome, text] of Object.entries(UNSENT)) {
    for (const id of lists[outcome as keyof typeof UNSENT])
      yield `${oneLine(id)} ${text.replaceAll("ID", oneLine(id))}`;
  }
}

export function* syncLines({ messageCount, sessionCount, forgotten, refused }: SyncReport): Generator<string> {
  yield messageCount === 0 && sessionCount === 0
    ? "Nothing is new on the hub."
    : `Got ${formatCount(messageCount, "message")} of ${formatCount(sessionCount, "session")}.`;
  for (const id of forgotten) yield `${oneLine(id)} was forgotten, and its copy is gone.`;
  for (const { sessionId, reason } of refused) yield `${oneLine(sessionId)} could not be read: ${oneLine(reason)}`;
}

/** Returns the store's hub. @throws {Failure} `REMOTE_MISSING`, also if no project may go there. */
export async function remoteWithProjects(store: Store): Promise<Remote> {
  const remote = await storedRemote(store);
  if (remote.projects.length > 0) return remote;
  const hint = "Add one: coppice hub add <url> --project <name>";
  throw new Failure("REMOTE_MISSING", "No project of this store may go to the hub.", { hint });
}

/** Connects, and closes the connection however the work ends. */
export async function withHub<T>({ url, team }: Remote, work: (hub: Hub) => Promise<T>): Promise<T> {
  const { openHub } = await import("../hub/hub.ts");
  const hub = await openHub(url, { team: team ?? undefined });
  try {
    return await work(hub);
  } finally {
    await hub.close();
  }
}
