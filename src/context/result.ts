import type { JsonValue, Message, Part, Role } from "../core/message.ts";
import type { TokenCounter } from "../core/tokens.ts";

export interface RenderOptions {
  /** Most tokens of the whole context, tags and headers included. At least 1. */
  tokensMax: number;
  /** The counter whose counts are stored with the messages. A number with more digits must not cost fewer tokens. */
  tokenCounter: TokenCounter;
  /** Writes the story; without it a context has none. */
  story?: StoryWriter;
}

/**
 * A block that tells, in the words of users and agents, what came before the messages that are shown word for word:
 *
 *     <story>(a note: this is a record)
 *     0 user: Move the clean command under session.                     sentences of message 0
 *     40 agent: The root cause was a stale lock. All 31 tests pass.     decisions, findings, outcomes
 *     52 agent: committed 9a67f3c: Move clean under session             what `git commit` answered
 *     <kept seq="3-70">                                                 what the user asked to be kept, and settled
 *     Please remember that the port of staging is 4417. [3] (was 4400)
 *     </kept>
 *     <error seq="88">Bash go test: FAIL strategy</error>               not followed by a success of the same call
 *     <did seq="52-88">Read root.go; Edit root.go ×2; Bash go test</did>  the newest actions
 *     <files seq="31-88">cli/{root.go, session.go}, README.md</files>   the working set, heaviest first
 *     <asked seq="60">Now the lock.</asked>                             what the user asked last, if no message shows it
 *     <said seq="88">The lock has no lease.</said>                      the last words of the agent, if no message shows them
 *     </story>
 *
 * The quoted messages also count in `sources` or `omitted`.
 */
export interface Story {
  text: string;
  tokenCount: number;
  /** The quoted messages, in order, each once. */
  messages: { messageId: number; seq: number }[];
  /** The base names of the files that it lists. */
  names: readonly string[];
  /** The texts that it quotes. */
  quotes: readonly string[];
}

/** Writes the story of a session. It is valid until the frontier moves. */
export interface StoryWriter {
  /** The tokens of all that could be told of the messages before the window. */
  wholeTokens: number;
  /**
   * Returns the story of the messages before the window and the hidden messages, in at most `tokensMax` tokens; undefined if nothing
   * fits.
   */
  write(hidden: readonly Message[], tokensMax: number, shown: ShownBeside): Story | undefined;
}

/** Tells what else a context shows, so that the story does not repeat it. */
export interface ShownBeside {
  /** True if statements of summaries say what was asked and decided. Only what the user asked to be kept is then told. */
  isTold: boolean;
  /** Who says something in the messages that are shown. What others said last is told word for word. */
  speakers: ReadonlySet<Role>;
}

/**
 * A message for the model. Its parts are those that were appended, except where providers require a change: texts of white
 * space are left out, and if a call's id was used before, the call and its result get a new one (`call_0_2`).
 */
export interface ContextMessage {
  role: Role;
  name?: string;
  parts: Part[];
  metadata?: Record<string, JsonValue>;
}

/** A message that the context shows: `verbatim` if every word is shown, `shortened` if some are left out. */
export interface MessageSource {
  how: "verbatim" | "shortened";
  /** Index of the rendered message that holds it. */
  messageIndex: number;
  messageId: number;
  seqFirst: number;
  seqLast: number;
  messageCount: 1;
}

/** A summary that covers the members of its handle. */
export interface SummarySource {
  how: "summary";
  messageIndex: number;
  handle: string;
  seqFirst: number;
  seqLast: number;
  messageCount: number;
}

/**
 * Each message of the session counts in the `messageCount` of one entry. A message that is shown and also covered by a summary
 * counts as shown.
 */
export type Source = MessageSource | SummarySource;

/**
 * A pointer line, which names messages that the context leaves out. Its count includes only messages that `sources` does not
 * count.
 *
 * - `range`: the messages from `seqFirst` to `seqLast`. `session.messages` reads them. The count is 0 if summaries cover them
 *   all or evidence shows them.
 * - `theme`: the members of a theme that are neither shown nor summarized. `expand` reads them by the handle.
 */
export type Omission = {
  messageIndex: number;
  seqFirst: number;
  seqLast: number;
  messageCount: number;
} & ({ kind: "range" } | { kind: "theme"; handle: string });

export interface Recalled {
  messageId: number;
  sessionId: string;
  seq: number;
  messageIndex: number;
  how: "verbatim" | "shortened";
}

export interface StorySource {
  messageId: number;
  seq: number;
  messageIndex: number;
}

/** The `messageCount`s of `sources` and `omitted` add up to the number of messages of the session. */
export interface RenderResult {
  messages: ContextMessage[];
  /** Indexes of the messages that Coppice has written: the memory and the evidence. Their texts are elements. */
  composed: number[];
  /** The tokens of the whole context, at most `tokensMax`. `metadata` does not count, because it is not for the model. */
  tokenCount: number;
  /**
   * The tokens of the messages before the evidence, or of all messages if there is no query. No query changes these messages. A new
   * message may change them if the budget leaves them 8,192 tokens or fewer.
   */
  stablePrefixTokens: number;
  sources: Source[];
  omitted: Omission[];
  /** The messages that the evidence shows, in its order. Those of the rendered session are also in `sources`. */
  recalled: Recalled[];
  /** The messages that the story quotes, in order. They also count in `sources` or `omitted`. */
  story: StorySource[];
}
