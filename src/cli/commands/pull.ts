import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import type { Hub, HubSession } from "../../hub/hub.ts";
import { sessionIds } from "../../session/aids/session-ids.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { storedRemote, withHub } from "../hub-words.ts";
import { interruptible } from "../interruption.ts";
import { type PageOptions, pageRead, SESSIONS_PAGE_OPTIONS } from "../options.ts";
import { shortIds } from "../screen/short-ids.ts";
import { type Column, tableLines } from "../screen/table.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, oneLine } from "../screen/text.ts";

interface PullFlags extends PageOptions {
  take?: true;
  copy?: true;
  fork?: true;
  project?: string;
  origin?: string;
}

const CANDIDATES_MAX = 8;

export const pullCommand: Command<PullFlags> = {
  usage: "pull [session]",
  summary: "Bring a session of the hub into this store; or list those of the hub.",
  details:
    "Its messages get numbers of this store. Without --take it is a copy to read. With --take, this store goes on with the session, " +
    "and the store that had it before may not push it any more. If both have gone on, the pull is refused; " +
    "with --fork, what is here becomes a session of its own.\n" +
    "With --json: {sessionId, outcome, messageCount, isHolder, forkId}; without a session, an array of those of the hub.",
  argument:
    "the id that it has on the hub, or the beginning of the id; without it, the hub's sessions are listed, newest first",
  options: [
    new Option("--take", "go on with the session in this store"),
    new Option("--copy", "only read it here, as without --take").conflicts("take"),
    new Option("--fork", "if both have gone on, keep what is here as a session of its own"),
    new Option("--project <name>", "its project, if several sessions have the id"),
    new Option("--origin <store>", "the store in which it began, if several sessions of the project have the id"),
    ...SESSIONS_PAGE_OPTIONS,
  ],
  examples: ["", "--offset 50", "support-42", "support-42 --take"],

  async run({ args: [typed], options, loadStores, terminal, json }) {
    const { take = false, fork = false, copy = false, project, origin, limit, offset } = options;
    const only = project === undefined ? {} : { project };
    if (typed === undefined) {
      const given = Object.entries({ take, copy, fork, origin: origin !== undefined }).find(([, isGiven]) => isGiven);
      if (given !== undefined) {
        const hint = "`coppice hub pull` lists the sessions of the hub.";
        throw new Failure("USAGE_INVALID", `--${given[0]} takes a session.`, { hint });
      }
      const remote = await storedRemote((await loadStores()).openToRead());
      const found = await withHub(remote, (hub) => hub.sessions({ ...only, limit: limit + 1, offset }));
      const { shown, more } = pageRead(found, options, " or --project");
      if (more !== undefined && json) terminal.note(more);
      return { value: shown, lines: listLines(shown, more, terminal) };
    }
    const store = (await loadStores()).openToWrite();
    const remote = await storedRemote(store);
    const pulled = await interruptible("Nothing was written.", (signal) =>
      withHub(remote, async (hub) => {
        const pulling = { take, fork, signal, ...only, ...(origin !== undefined && { origin }) };
        return hub.pull(store, await idOnHub(hub, store, typed, only), pulling);
      }),
    );
    const lines = [
      `${formatCount(pulled.messageCount, "new message")} in ${oneLine(pulled.sessionId)}${pulled.isHolder ? ", which goes on here" : ", a copy"}.`,
    ];
    if (pulled.forkId !== null) lines.push(`What is only here is ${oneLine(pulled.forkId)}, now a session of its own.`);
    return { value: pulled, lines };
  },
};

/** Returns the id that begins as typed. If the hub or the store has a session with exactly this id, it is meant. */
async function idOnHub(hub: Hub, store: Store, typed: string, only: { project?: string }): Promise<string> {
  if (sessionIds(store, { prefix: typed }).includes(typed)) return typed;
  const ids = (await hub.sessions({ ...only, limit: PAGE_LIMIT_MAX })).map(({ sessionId }) => sessionId);
  const found = [...new Set(ids.filter((id) => id.startsWith(typed)))];
  if (found.length === 1) return found[0]!;
  if (found.length === 0) {
    const hint = "`coppice hub pull` lists the sessions of the hub.";
    throw new Failure("SESSION_NOT_FOUND", `The hub has no session with id "${oneLine(typed)}" that you may read.`, {
      hint,
    });
  }
  if (found.includes(typed)) return typed;
  const hint = ["Type more of the id:", ...found.slice(0, CANDIDATES_MAX).map((id) => `  ${oneLine(id)}`)].join("\n");
  throw new Failure("SESSION_AMBIGUOUS", `The ids of ${found.length} sessions of the hub begin with "${typed}".`, {
    hint,
  });
}

function columnsOf(sessions: readonly HubSession[], idOf: (id: string) => string): readonly Column<HubSession>[] {
  const title: Column<HubSession> = { header: "Title", value: (session) => oneLine(session.title ?? ""), widthMin: 20 };
  return [
    { header: "Session", value: ({ sessionId }) => oneLine(idOf(sessionId)) },
    { header: "Project", value: ({ project }) => oneLine(project ?? ""), widthMin: 8, expendable: true },
    ...(sessions.some((session) => session.title) ? [title] : []),
    { header: "Messages", value: ({ messageCount }) => messageCount },
    { header: "Pushed by", value: ({ pushedBy }) => oneLine(pushedBy), expendable: true },
    { header: "Pushed", value: ({ pushedAtMs }) => new Date(pushedAtMs) },
  ];
}

function* listLines(sessions: readonly HubSession[], more: string | undefined, terminal: Terminal): Generator<string> {
  const [newest] = sessions;
  if (newest === undefined) return terminal.note("The hub has no session that you may read.");
  const ids = sessions.map(({ sessionId }) => sessionId);
  const idOf = terminal.width === undefined ? (id: string): string => id : shortIds(ids);
  yield* tableLines(columnsOf(sessions, idOf), sessions, terminal);
  if (more !== undefined) terminal.note(more);
  terminal.hint(`Next: coppice hub pull ${oneLine(idOf(newest.sessionId))}`);
}
