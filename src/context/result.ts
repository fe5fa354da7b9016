import type { JsonValue, Message, Part, Role } from "../core/message.ts";
import type { TokenCounter } from "../core/tokens.ts";

export interface RenderOptions {
  /** Most tokens of the whole context, wrappers and headers included, by `tokenCounter`. At least 1. */
  tokensMax: number;
  /** The one whose counts the messages carry. It must not charge less for a number that has more digits. */
  tokenCounter: TokenCounter;
  /** Tells of what is not shown word for word; without it, nothing does beside the memory block. */
  continuity?: ContinuityTeller;
}

/**
 * What went on before the part that is shown word for word, for whoever goes on:
 *
 *     <continuity>(that it is a record, and how to get the messages)
 *     <asked seq="0">Move the clean command under session.</asked>      the user's words
 *     <rule seq="12">Never push to main.</rule>                         the same, where they set limits
 *     <found seq="40">The root cause was a stale lock.</found>          decisions, facts, results of tests
 *     <did seq="52-88">Read root.go; Edit root.go ×2; Bash go test</did>  the newest actions
 *     <error seq="88">Bash go test: FAIL strategy</error>               not followed by a success of the same call
 *     <files seq="31-88">cli/{root.go, session.go}, README.md</files>   the working set, heaviest first
 *     </continuity>
 *
 * It quotes and predicts nothing. A line claims no messages: it comes on top of what stands for them, and leads to them by
 * `seq`.
 */
export interface Continuity {
  text: string;
  tokenCount: number;
  /** Messages its lines come from, by seq, each once. */
  messages: { messageId: number; seq: number }[];
}

/** Tells of what has left the window, the same between two moves of the frontier, and of what is hidden of the window. */
export interface ContinuityTeller {
  /** Share of a context that is worth keeping free for it, in [0, 1]. */
  share: number;
  /** A block of at most so many tokens; undefined where there is nothing to tell, or no room. */
  tell(hidden: readonly Message[], tokensMax: number): Continuity | undefined;
}

/**
 * A message as the model gets it. `parts` of a message shown word for word are the very parts that were appended, but
 * for what some provider refuses: texts of white space alone are left out, and a call's id that was used before gets a
 * number (`call_0_2`), in the call and in its result.
 */
export interface ContextMessage {
  role: Role;
  name?: string;
  parts: Part[];
  metadata?: Record<string, JsonValue>;
}

/** A message that stands in the context: `verbatim` with every word of it, `shortened` with some left out. */
export interface MessageSource {
  how: "verbatim" | "shortened";
  /** Index of the rendered message it stands in. */
  messageIndex: number;
  messageId: number;
  seqFirst: number;
  seqLast: number;
  messageCount: 1;
}

/** A summary that stands for the members of its handle. */
export interface SummarySource {
  how: "summary";
  messageIndex: number;
  handle: string;
  seqFirst: number;
  seqLast: number;
  messageCount: number;
}

/**
 * What stands behind the rendered lines, in the order in which the entries claim messages.
 *
 * An entry claims those messages of its id or handle that no entry before it has claimed, and `messageCount` says how
 * many these are. So a message that is shown in the window, and covered by a summary too, counts once, as shown.
 */
export type Source = MessageSource | SummarySource;

/**
 * A pointer line: messages that the context only names. Entries go on claiming where `sources` ends.
 *
 * - `range`: messages between two seqs, inclusive, read with `session.messages`. 0 of them are left to claim when
 *   shown summaries cover them all, or the evidence for a query shows them.
 * - `theme`: members of a theme that neither a summary nor their own text stands for, read by expanding its handle.
 */
export type Omission = {
  messageIndex: number;
  seqFirst: number;
  seqLast: number;
  messageCount: number;
} & ({ kind: "range" } | { kind: "theme"; handle: string });

/** A message that the evidence block shows. */
export interface Recalled {
  messageId: number;
  sessionId: string;
  seq: number;
  messageIndex: number;
  how: "verbatim" | "shortened";
}

/** A message that a line of the continuity block comes from. */
export interface ContinuitySource {
  messageId: number;
  seq: number;
  messageIndex: number;
}

/** `messageCount` over `sources` and `omitted` adds up to the messages of the session. */
export interface RenderResult {
  messages: ContextMessage[];
  /** Indexes of the messages that are nobody's: the memory, and what was found for the query. Their texts are elements. */
  composed: number[];
  /** Of the whole context, but for `metadata`, which is the host's and not the model's; never more than `tokensMax`. */
  tokenCount: number;
  /** Of the messages before the first that depends on the query; of all of them without one. */
  stablePrefixTokens: number;
  sources: Source[];
  omitted: Omission[];
  /**
   * What was found for the query, in the order in which it stands in the context, of whichever session. Those of the
   * rendered session are among `sources`, too; those of others claim nothing.
   */
  recalled: Recalled[];
  /** What the continuity block quotes and lists, by seq. It claims nothing: `sources` and `omitted` do, of these as of others. */
  continuity: ContinuitySource[];
}
