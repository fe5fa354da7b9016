import { Option } from "commander";
import { RECALL_LIMIT_MAX, RECALL_NEIGHBORS_MAX } from "../../core/limits.ts";
import type { Part, Role } from "../../core/message.ts";
import { PART_TYPES, ROLES } from "../../core/message-words.ts";
import { RECALL_LIMIT_DEFAULT, RECALL_NEIGHBORS_DEFAULT } from "../../core/options.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { hitLines } from "../hit-lines.ts";
import { repeatableOption, timeOption, wholeNumberOption } from "../options.ts";
import { shortIds } from "../short-ids.ts";
import type { Terminal } from "../terminal.ts";
import { oneLine } from "../text.ts";

type RecallHit = Awaited<ReturnType<Store["recall"]>>[number];

/** Options as they are typed; each is one of the library's. */
interface RecallOptions {
  limit: number;
  session?: string[];
  project?: string;
  role?: Role[];
  part?: Part["type"][];
  since?: number;
  until?: number;
  tokensMax?: number;
  neighbors: number;
  explain?: boolean;
}

/** Where a cluster does not show what was said around a hit, this many messages do, from this many before it on. */
const AROUND_COUNT = 10;
const AROUND_BEFORE = 3;

/** `recall` finds the messages that answer a question, in whichever session they stand. */
export const recall: Command<RecallOptions> = {
  name: "recall",
  summary: "Find the messages that answer a question, in all sessions, the best first.",
  details:
    "Any text is a query; what stands in double quotes has to be in a hit letter by letter. Under each hit's first line, " +
    "between what was said before and after it, is the stretch of it that has most of the query's words. " +
    "With --json: an array of hits.",
  arguments: [{ name: "<query...>", meaning: "a question, or the words to look for" }],
  options: [
    wholeNumberOption("limit", "most hits", 1, RECALL_LIMIT_MAX).default(RECALL_LIMIT_DEFAULT),
    repeatableOption("session <id>", `only this session, by ${SESSION_MEANING}; may be repeated`),
    new Option("--project <name>", "only the sessions of this project"),
    repeatableOption("role <role>", `only messages of this role (${ROLES.join(", ")}); may be repeated`, ROLES),
    repeatableOption(
      "part <type>",
      `only messages with such a part (${PART_TYPES.join(", ")}); may be repeated`,
      PART_TYPES,
    ),
    timeOption("since", "only messages of this day, or time, and later", "first"),
    timeOption("until", "only messages of this day, or time, and earlier", "last"),
    wholeNumberOption("tokens-max", "most tokens of all hits and their neighbors together", 1),
    wholeNumberOption("neighbors", "messages shown before and after each hit", 0, RECALL_NEIGHBORS_MAX).default(
      RECALL_NEIGHBORS_DEFAULT,
    ),
    new Option("--explain", "say what each score is the sum of"),
  ],
  examples: [
    "what did we decide about the session lock",
    "'\"lock file\" deploy' --project web --since 2026-11-01",
    "session lock --role user --limit 3 --explain --json",
  ],

  async run({ args, options, stores, terminal }) {
    const store = stores.openToRead();
    const { session, role, part, since, until, ...same } = options;
    const hits = await store.recall(args.join(" "), {
      ...same,
      ...(session !== undefined && { sessionIds: session.map((typed) => findSession(store, typed).id) }),
      ...(role !== undefined && { roles: role }),
      ...(part !== undefined && { partTypes: part }),
      ...(since !== undefined && { sinceMs: since }),
      ...(until !== undefined && { untilMs: until }),
    });
    const idOf = terminal.width === undefined ? (id: string) => id : shortIds(store.sessionIds({ prefix: "" }));
    return { value: hits, lines: lines(hits, terminal, idOf, (hit) => aroundOf(hit, store, idOf)) };
  },
};

function* lines(
  hits: readonly RecallHit[],
  terminal: Terminal,
  idOf: (sessionId: string) => string,
  around: (hit: RecallHit) => string,
): Generator<string> {
  for (const hit of hits) yield* hitLines(hit, terminal, idOf);
  const [best] = hits;
  if (best === undefined) terminal.note("No message has words of the query.");
  else terminal.hint(`Next: coppice ${around(best)}, for what was said around the first one`);
}

/** What prints the messages that a hit stands among: its cluster, or its neighbors where it is hot or has a cluster to itself. */
function aroundOf({ root, sessionId, seq }: RecallHit, store: Store, idOf: (sessionId: string) => string): string {
  if (root !== null && store.expand(root, { limit: 0 }).memberCount > 1) return `expand ${root}`;
  return `show ${oneLine(idOf(sessionId))} --offset ${Math.max(0, seq - AROUND_BEFORE)} --limit ${AROUND_COUNT}`;
}
