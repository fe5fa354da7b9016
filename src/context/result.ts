import type { JsonValue, Part, Role } from "../core/message.ts";
import type { TokenCounter } from "../core/tokens.ts";

export interface RenderOptions {
  /** Most tokens of the whole context, wrappers and headers included, by `tokenCounter`. At least 1. */
  tokensMax: number;
  /** The one whose counts the messages carry. It must not charge less for a number that has more digits. */
  tokenCounter: TokenCounter;
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
 *   shown summaries cover them all.
 * - `theme`: members of a theme that neither a summary nor their own text stands for, read by expanding its handle.
 */
export type Omission = {
  messageIndex: number;
  seqFirst: number;
  seqLast: number;
  messageCount: number;
} & ({ kind: "range" } | { kind: "theme"; handle: string });

/** `messageCount` over `sources` and `omitted` adds up to the messages of the session. */
export interface RenderResult {
  messages: ContextMessage[];
  /** Of the whole context, but for `metadata`, which is the host's and not the model's; never more than `tokensMax`. */
  tokenCount: number;
  sources: Source[];
  omitted: Omission[];
}
