import { Option } from "commander";
import { RECALL_LIMIT_MAX, RECALL_NEIGHBORS_MAX } from "../../core/limits.ts";
import type { Part, Role } from "../../core/message.ts";
import { PART_TYPES, ROLES } from "../../core/message-words.ts";
import { RECALL_LIMIT_DEFAULT, RECALL_NEIGHBORS_DEFAULT } from "../../core/options.ts";
import { noteOnHits, nothingFound } from "../../session/recall-notes.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { cutToWidth } from "../display-width.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { speaker } from "../message-lines.ts";
import { repeatableOption, timeOption, timeRangeOption, wholeNumberOption } from "../options.ts";
import { shortIds } from "../short-ids.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, formatTime, oneLine } from "../text.ts";

type RecallHit = Awaited<ReturnType<Store["recall"]>>[number];

interface RecallFlags {
  limit: number;
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
  explain?: boolean;
}

const MARKED = /\*\*(?=\S)(.+?)(?<=\S)\*\*/gu;

const COPIES_MAX = 5;

/** If a hit's cluster has no other messages, the hint shows the messages around the hit. */
const AROUND_COUNT = 10;
const AROUND_BEFORE = 3;

export const recallCommand: Command<RecallFlags> = {
  usage: "recall <query...>",
  summary: "Find the messages that answer a question, in all sessions, best first.",
  details:
    "Any text is a query. Text in double quotes must occur in a hit letter by letter. If it occurs nowhere and the query " +
    "has other words, or if the query ends with a question mark, its words are searched. Each hit is shown by the passage with most words of the query, between the " +
    "messages before and after it. With --json: an array of hits.",
  argument: "a question, or the words to look for",
  options: [
    wholeNumberOption("limit", "most hits", 1, RECALL_LIMIT_MAX).default(RECALL_LIMIT_DEFAULT),
    repeatableOption("session <id>", `only this session: ${SESSION_MEANING}`),
    new Option("--project <name>", "only the sessions of this project"),
    repeatableOption("role <role>", "only messages of this role", ROLES),
    repeatableOption("part <type>", "only messages with such a part", PART_TYPES),
    timeOption("since", "only messages from this day or time on", "first"),
    timeOption("until", "only messages up to this day or time", "last"),
    timeRangeOption("near", "what was said near this day or time counts more"),
    new Option("--by <unit>", "what to rank; with session, each hit is the best message of another session")
      .choices(["message", "session"])
      .default("message"),
    wholeNumberOption("tokens-max", "most tokens of all hits and their neighbors together", 1),
    wholeNumberOption("neighbors", "messages shown before and after each hit", 0, RECALL_NEIGHBORS_MAX).default(
      RECALL_NEIGHBORS_DEFAULT,
    ),
    new Option("--explain", "show the terms of each score"),
  ],
  examples: [
    "what did we decide about the session lock",
    "'\"lock file\" deploy' --project web --since 2026-11-01",
    "session lock --role user --limit 3 --explain --json",
    "where did we fight with the flaky test --by session --near 2026-11-01",
  ],

  async run({ args, options, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const { session, role, part, since, until, ...sameNames } = options;
    const query = args.join(" ");
    const hits = await store.recall(query, {
      ...sameNames,
      ...(session !== undefined && { sessionIds: session.map((typed) => findSession(store, typed).id) }),
      ...(role !== undefined && { roles: role }),
      ...(part !== undefined && { partTypes: part }),
      ...(since !== undefined && { sinceMs: since }),
      ...(until !== undefined && { untilMs: until }),
    });
    const idOf = terminal.width === undefined ? (id: string) => id : shortIds(store.sessionIds({ prefix: "" }));
    return { value: hits, lines: recallLines(hits, query, store, idOf, terminal) };
  },
};

function* recallLines(
  hits: readonly RecallHit[],
  query: string,
  store: Store,
  idOf: (sessionId: string) => string,
  terminal: Terminal,
): Generator<string> {
  const note = noteOnHits(hits);
  if (note !== undefined) terminal.note(note);
  for (const hit of hits) yield* hitLines(hit, terminal, idOf);
  const [best] = hits;
  if (best === undefined) return terminal.note(nothingFound(query));
  const { root, sessionId, seq } = best;
  const isExpandable = root !== null && store.expand(root, { limit: 0 }).memberCount > 1;
  const around = isExpandable
    ? `expand ${root}`
    : `show ${oneLine(idOf(sessionId))} --offset ${Math.max(0, seq - AROUND_BEFORE)} --limit ${AROUND_COUNT}`;
  terminal.hint(`Next: coppice ${around}, for the messages around the first hit`);
}

/** @param idOf  Shortens a session's id. */
export function* hitLines(
  hit: RecallHit,
  terminal: Terminal,
  idOf: (sessionId: string) => string = (id) => id,
): Generator<string> {
  const { messageId, sessionId, seq, createdAtMs, root, neighbors, copies, score, parts } = hit;
  const dim = (text: string): string => terminal.style("dim", text);
  // Words of neighbors are not marked, because only the hit matched.
  const neighborLine = (neighbor: RecallHit["neighbors"][number]): string => {
    const words = neighbor.snippet.replace(MARKED, "$1");
    const line = oneLine(`  ${neighbor.name ?? neighbor.role} #${neighbor.seq}: ${words}`);
    return dim(terminal.width === undefined ? line : cutToWidth(line, terminal.width));
  };
  const details = [
    `#${seq}`,
    `message ${messageId}`,
    formatTime(createdAtMs),
    `session ${idOf(sessionId)}`,
    root ?? "hot",
  ];
  yield `${speaker(hit, terminal)}  ${dim(details.join(" · "))}`;
  yield* neighbors.filter((neighbor) => neighbor.seq < seq).map(neighborLine);
  yield oneLine(hit.snippet).replace(MARKED, (marked, words: string) => {
    const bold = terminal.style("bold", words);
    return bold === words ? marked : bold;
  });
  yield* neighbors.filter((neighbor) => neighbor.seq > seq).map(neighborLine);
  if (copies.length > 0) {
    const named = copies.slice(0, COPIES_MAX).map((copy) => `message ${copy.messageId} in ${idOf(copy.sessionId)}`);
    const more = copies.length > COPIES_MAX ? ", …" : "";
    yield dim(`${formatCount(copies.length, "copy", "copies")}: ${named.join(", ")}${more}`);
  }
  if (parts !== undefined) {
    const sum = Object.entries(parts).map(([part, value]) => `${value.toFixed(3)} ${part}`);
    yield dim(`score ${score.toFixed(3)} = ${sum.join(" + ").replaceAll("+ -", "- ")}`);
  }
  yield "";
}
