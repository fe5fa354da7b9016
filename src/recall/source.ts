import type { Action } from "../core/action.ts";
import type { Verdict } from "../core/verdicts.ts";
import type { EvidenceRow, SearchScope, TextRow } from "../store/index.ts";
import type { Phrase } from "./phrase.ts";
import type { Postings } from "./postings.ts";
import type { Query } from "./query.ts";
import type { QueryTerm } from "./query-terms.ts";

/**
 * What a search reads. A store answers from its tables, and a hub from what was fetched of it. Everything else of a search is
 * computed from these answers, so two sources with the same messages give the same hits with the same scores.
 */
export interface Source {
  /** Looks up the words of a query among the messages of a scope's sessions. */
  lookUp(query: Query, scope: SearchScope): Lookup;
  /** Returns the messages of a scope that hold phrases letter by letter, newest first. Older messages may be left out. */
  holdingLetters(phrases: readonly Phrase[], scope: SearchScope, limit: number): number[];
  /** Returns the given messages that have a scope's roles, parts and times, in the given order. Their sessions are not checked. */
  inScope(ids: readonly number[], scope: SearchScope): number[];
  /** Returns these messages, and those at most `radius` seqs before or after one of them. */
  around(ids: readonly number[], radius: number): number[];
  /** Returns the parts of messages that are ranked, in the given order. */
  rows(ids: readonly number[]): EvidenceRow[];
  /** Returns the parts of messages that hits show. */
  texts(ids: readonly number[]): TextRow[];
  /** Returns what tool calls did, by message id. A hub knows none. */
  actions(ids: readonly number[]): ReadonlyMap<number, readonly Action[]>;
  /** Returns the newest verdict on each message that has one, by the message's id. */
  verdictsOn(ids: readonly number[]): ReadonlyMap<number, Verdict>;
  /** Returns the texts by message id. */
  textsOf(ids: readonly number[]): Map<number, string>;
  /** Returns those of the given assistant messages that end a turn: the user speaks next, or the session that holds them ends. */
  closing(ids: readonly number[]): ReadonlySet<number>;
  /** Returns the vectors by message id. Messages without a vector of this embedder are missing. */
  embeddings(ids: readonly number[], embedderId: string): Map<number, Float32Array>;
  /** Returns true if one of two messages that say the same is a copy of the other, because its agent wrote it into two sessions. */
  areCopies(messageId: number, otherId: number): boolean;
  /** Returns true if two sessions belong to one project, or both to none. */
  areOfOneProject(sessionId: string, otherId: string): boolean;
  /** Returns the messages of a session that stand where a copy of a message would. */
  counterparts(messageId: number, sessionId: string): number[];
  /** Returns the handle of the cluster of a session's step; null before it has graduated. */
  clusterOf(sessionId: string, stepId: number): string | null;
}

/** Words that were looked up. */
export interface Lookup {
  /** The words that can be searched: see `rarest`. */
  terms: readonly QueryTerm[];
  /** Returns stems with this beginning. Some may be in none of the messages. */
  stemsFrom(beginning: string): readonly string[];
  /** Returns how many messages have one of these stems. */
  countOf(stem: string): number;
  /**
   * Returns the messages that hold any of the words and all phrases.
   *
   * @param limit  How many hits are wanted. Not many more messages that are not indexed yet are read.
   */
  found(limit: number): Found;
}

export interface Found {
  /** The number of messages that a word could be in. */
  messageCount: number;
  terms: readonly FoundTerm[];
}

export interface FoundTerm {
  term: QueryTerm;
  /** How many of the `messageCount` messages hold the term. */
  holderCount: number;
  postings: Postings;
}
