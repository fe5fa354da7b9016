import { Option } from "commander";
import { RECALL_LIMIT_MAX, RECALL_NEIGHBORS_MAX } from "../../core/limits.ts";
import type { Part, Role } from "../../core/message.ts";
import { PART_TYPES, ROLES } from "../../core/message-words.ts";
import { RECALL_FILLED_MAX, RECALL_LIMIT_DEFAULT, RECALL_NEIGHBORS_DEFAULT } from "../../core/options.ts";
import { answersFirst } from "../../session/aids/answers-first.ts";
import { noteOnHits, nothingFound } from "../../session/aids/recall-notes.ts";
import { sessionNames } from "../../session/aids/session-name.ts";
import type { Store } from "../../session/store.ts";
import { agentCommand } from "../agent-command.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { storedRemote, withHub } from "../hub-words.ts";
import { repeatableOption, timeOption, timeRangeOption, wholeNumberOption } from "../options.ts";
import { cutToWidth, displayWidth } from "../screen/display-width.ts";
import { messageHandle, speaker } from "../screen/message-lines.ts";
import { idsShown } from "../screen/short-ids.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatTime, oneLine } from "../screen/text.ts";
import { wrapped } from "../screen/wrap.ts";
import { findProject } from "../stores/find-project.ts";
import { findSession, SESSION_MEANING } from "../stores/find-session.ts";

type RecallHit = Awaited<ReturnType<Store["recall"]>>[number];

interface RecallFlags {
  limit?: number;
  session?: string[];
  project?: string;
  role?: Role[];
  part?: Part["type"][];
  since?: number;
  until?: number;
  near?: { fromMs: number; toMs: number };
  by: "message" | "session";
  tokensMax?: number;
  neighbors: number;
  superseded?: boolean;
  explain?: boolean;
  hub?: boolean;
}

const LIMIT_MEANING = `most hits: by default ${RECALL_LIMIT_DEFAULT}, or with --tokens-max up to ${RECALL_FILLED_MAX} likely ones, as many as fit; 3 if nothing is near`;

const COPIES_MAX = 5;

const DETAILS_WIDTH_MIN = 20;

/** The hint for a hit that is in no cluster shows this many messages, of which this many come before the hit. */
const AROUND_COUNT = 10;
const AROUND_BEFORE = 3;

export const recallCommand: Command<RecallFlags> = {
  usage: "recall <query...>",
  aliases: ["search", "find"],
  summary: "Find the messages that answer a question, in all sessions, best first.",
  details:
    "Any text is a query. Text in double quotes must occur in a hit letter by letter. If it occurs nowhere and the query " +
    "has other words, or if the query ends with a question mark, its words are searched separately. Each hit shows the passage " +
    "with the most words of the query, between the messages before and after it. With --json: an array of hits.",
  argument: "a question, or the words to look for",
  options: [
    wholeNumberOption("limit", LIMIT_MEANING, 1, RECALL_LIMIT_MAX),
    repeatableOption("session <id>", `only this session: ${SESSION_MEANING}`),
    new Option("--project <project>", "by name or path: only the sessions of this project"),
    repeatableOption("role <role>", "only messages of this role", ROLES),
    repeatableOption("part <type>", "only messages with a part of this type", PART_TYPES),
    timeOption("since", "only messages from then on: 2026-11-01, yesterday, last week, 7d", "first"),
    timeOption("until", "only messages up to this day or time", "last"),
    timeRangeOption("near", "prefer messages near this day or time"),
    new Option("--by <unit>", "rank messages, or sessions by their best message")
      .choices(["message", "session"])
      .default("message"),
    wholeNumberOption("tokens-max", "most tokens of all hits and their neighbors together", 1),
    wholeNumberOption("neighbors", "messages shown before and after each hit", 0, RECALL_NEIGHBORS_MAX).default(
      RECALL_NEIGHBORS_DEFAULT,
    ),
    new Option("--superseded", "also find what rewinds have superseded"),
    new Option("--explain", "show the terms of each score"),
    new Option("--hub", "search the sessions of your team on the hub, instead of this store"),
  ],
  paged: true,
  examples: [
    "what did we decide about the session lock",
    "'\"lock file\" deploy' --project web --since 2026-11-01",
    "session lock --role user --limit 3 --explain --json",
    "where did we fight with the flaky test --by session --near 2026-11-01",
  ],

  async run({ args, options, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const { session, role, part, since, until, superseded, hub: isOnHub, ...sameNames } = options;
    const query = args.join(" ");
    const wanted = {
      ...sameNames,
      ...(role !== undefined && { roles: role }),
      ...(since !== undefined && { sinceMs: since }),
      ...(until !== undefined && { untilMs: until }),
    };
    if (isOnHub) {
      if ((session ?? part ?? superseded) !== undefined) {
        const hint = "Leave out --session, --part and --superseded.";
        throw new Failure("USAGE_INVALID", "The hub searches all sessions, and all parts of their messages.", { hint });
      }
      const hits = await withHub((await storedRemote(store)).url, (hub) => hub.recall(query, { ...wanted, store }));
      return { value: hits, lines: hubLines(hits, query, terminal) };
    }
    const found = await store.recall(query, {
      ...wanted,
      ...(session !== undefined && { sessionIds: session.map((typed) => findSession(store, typed).id) }),
      ...(part !== undefined && { partTypes: part }),
      ...(superseded !== undefined && { superseded }),
      ...(wanted.project !== undefined && { project: findProject(store, wanted.project) }),
    });
    const hits = answersFirst(store, found);
    return { value: hits, lines: recallLines(hits, query, store, terminal) };
  },
};

function* hubLines(hits: readonly RecallHit[], query: string, terminal: Terminal): Generator<string> {
  const note = noteOnHits(hits);
  if (note !== undefined) terminal.note(note);
  for (const hit of hits) yield* hitLines(hit, terminal);
  if (hits.length === 0) terminal.note(nothingFound(query));
}

function* recallLines(hits: readonly RecallHit[], query: string, store: Store, terminal: Terminal): Generator<string> {
  const note = noteOnHits(hits);
  if (note !== undefined) terminal.note(note);
  const idOf = idsShown(store, terminal);
  const names = sessionNames(
    store,
    hits.map(({ sessionId }) => sessionId),
  );
  for (const hit of hits) yield* hitLines(hit, terminal, idOf, names.get(hit.sessionId));
  const [best] = hits;
  if (best === undefined) return terminal.note(nothingFound(query));
  const session = store.resume(best.sessionId);
  // Around a message that is in no cluster, `expand` would show only its step.
  const around =
    best.root === null && !best.superseded
      ? `show ${oneLine(idOf(best.sessionId))} --offset ${Math.max(0, best.seq - AROUND_BEFORE)} --limit ${AROUND_COUNT}`
      : `expand ${messageHandle(best.messageId)}`;
  terminal.hint(`Next: coppice ${around}, for the messages around the first hit`);
  const again = agentCommand(session.info());
  if (again !== undefined) terminal.hint(`Or go on with its session: ${again}`);
}

/** Yields the lines of a hit. @param idOf  Shortens a session's id. @param name  The name of the session. */
export function* hitLines(
  hit: RecallHit,
  terminal: Terminal,
  idOf: (sessionId: string) => string = (id) => id,
  name?: string,
): Generator<string> {
  const { messageId, sessionId, seq, createdAtMs, neighbors, copies, score, parts } = hit;
  const { width } = terminal;
  const isPipe = width === undefined;
  const dim = (text: string): string => terminal.style("dim", text);
  const neighborLine = (neighbor: RecallHit["neighbors"][number]): string => {
    const line = oneLine(`  ${neighbor.name ?? neighbor.role}: ${neighbor.snippet}`);
    return dim(isPipe ? line : cutToWidth(line, width));
  };
  const place = [`session ${oneLine(idOf(sessionId))}`, oneLine(name ?? "")].filter(Boolean);
  const newer = hit.supersededBy === undefined ? [] : [`replaced by ${messageHandle(hit.supersededBy)}`];
  const mark = hit.superseded ? ["superseded", ...newer] : newer;
  const details = [messageHandle(messageId), ...mark, formatTime(createdAtMs), ...place].join(" · ");
  const who = `${hit.name ?? hit.role}  `;
  const room = isPipe ? Number.POSITIVE_INFINITY : Math.max(DETAILS_WIDTH_MIN, width - displayWidth(who));
  yield `${speaker(hit, terminal)}  ${dim(isPipe ? details : cutToWidth(details, room))}`;
  yield* neighbors.filter((neighbor) => neighbor.seq < seq).map(neighborLine);
  yield wrapped(markedSnippet(hit, terminal), width);
  for (const action of hit.did ?? [])
    yield dim(isPipe ? `→ ${oneLine(action)}` : cutToWidth(`→ ${oneLine(action)}`, width));
  yield* neighbors.filter((neighbor) => neighbor.seq > seq).map(neighborLine);
  if (copies.length > 0) {
    const named = copies
      .slice(0, COPIES_MAX)
      .map((copy) => `${messageHandle(copy.messageId)} in ${idOf(copy.sessionId)}`);
    const more = copies.length > COPIES_MAX ? ", …" : "";
    yield dim(`${formatCount(copies.length, "copy", "copies")}: ${named.join(", ")}${more}`);
  }
  if (parts !== undefined) {
    const sum = Object.entries(parts).map(([part, value]) => `${value.toFixed(3)} ${part}`);
    yield dim(`score ${score.toFixed(3)} = ${sum.join(" + ").replaceAll("+ -", "- ")}`);
  }
  yield "";
}

function markedSnippet({ snippet, marks }: RecallHit, terminal: Terminal): string {
  let [shown, end] = ["", 0];
  for (const [from, to] of marks) {
    shown += oneLine(snippet.slice(end, from)) + terminal.style("bold", oneLine(snippet.slice(from, to)));
    end = to;
  }
  return shown + oneLine(snippet.slice(end));
}
