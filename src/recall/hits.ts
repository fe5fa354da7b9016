import type { Action, ActionKind } from "../core/action.ts";
import type { Role } from "../core/message.ts";
import type { Verdict } from "../core/verdicts.ts";
import type { TextRow } from "../store/index.ts";
import type { Folded } from "./copies.ts";
import { chunksOf } from "./full-text-search.ts";
import { passageOf } from "./passage.ts";
import type { Placed, ScoreParts } from "./ranking.ts";
import { type Mark, type Snippet, snippetOf } from "./snippet.ts";
import type { Source } from "./source.ts";

/** The most actions that are named for a hit, and the most characters of each. */
const ACTIONS_MAX = 2;
const ACTION_CHARS_MAX = 160;
const TOLD: ReadonlySet<ActionKind> = new Set(["run", "edit", "write"]);

/** A message that answers a query, and where it was said. */
export interface RecallHit {
  messageId: number;
  sessionId: string;
  seq: number;
  role: Role;
  name?: string;
  createdAtMs: number;
  /** The text of the message as it is embedded and searched. `expand` and `messages` return the original. */
  text: string;
  /** True if `tokensMax` has no room for the text of the message. Then `text` is the snippet. */
  cut?: true;
  /** Comparable only with the scores of the same call; higher is better. */
  score: number;
  /** What of the text answers, on one line: the sentence with most of the query's words and what follows it, or the lines of an output. */
  snippet: string;
  /** The query's words in `snippet`: for each, the first index and the one after the last, in UTF-16 units. */
  marks: readonly Mark[];
  /** What the tool calls of the message ran or changed, such as `npm test` or `edit src/lease.ts`, unless the snippet has it. */
  did?: string[];
  /** The handle of its cluster, for `expand`; null while the message is only in the hot window. */
  root: string | null;
  /** The messages before and after it, in order. */
  neighbors: RecallNeighbor[];
  /**
   * Messages that say the same nearly word for word and rank below it, and the same message in sessions that were resumed or forked
   * under another id, whatever its length.
   */
  copies: { messageId: number; sessionId: string; seq: number }[];
  /** True if its session has superseded it, with the option `superseded`. */
  superseded?: true;
  /** The message that replaces it, as a person has said, or that of a newer hit that says something else of the same. */
  supersededBy?: number;
  /** What a person said of it later. */
  verdict?: Verdict;
  /**
   * The probability that one of the first three answers, by how much of the query's words they have; the same for all hits.
   * Undefined with a semantic embedder and for a phrase.
   */
  confidence?: number;
  /** Words of the query that no message has. */
  unknownWords?: readonly string[];
  /** Words of the query that no message has, and the words that were searched instead. */
  corrections?: Correction[];
  /** True if no message has the query's text in double quotes, so that its words were searched instead. */
  phrasesMissing?: true;
  /** With `tokensMax` and no `limit`: true if more messages match than these hits; the same for all hits. */
  more?: true;
  /** The parts of the score, with `explain`. */
  parts?: ScoreParts;
}

export interface Correction {
  typed: string;
  meant: string;
}

export interface RecallNeighbor {
  messageId: number;
  seq: number;
  role: Role;
  name?: string;
  /** Like `RecallHit.snippet`: a few lines at most. */
  snippet: string;
}

export class HitReader {
  readonly #source: Source;
  readonly #weights: ReadonlyMap<string, number>;
  readonly #neighborCount: number;
  readonly #rows = new Map<number, TextRow>();
  readonly #passages = new Map<number, Snippet>();
  readonly #neighbors = new Map<number, RecallNeighbor[]>();

  constructor(source: Source, weights: ReadonlyMap<string, number>, neighborCount: number) {
    this.#source = source;
    this.#weights = weights;
    this.#neighborCount = neighborCount;
  }

  /**
   * Yields a ranking, and reads its messages in groups of `count`, because that is faster. Blank messages are left out:
   * they were ranked for their neighbors, and have nothing to show but what is injected, or reasoning.
   */
  *loaded(ranking: Iterable<Placed>, count: number): Generator<Placed> {
    for (const chunk of chunksOf(ranking, count)) {
      const ids = chunk.map(({ candidate }) => candidate.messageId);
      for (const row of this.#source.texts(ids)) this.#rows.set(row.messageId, row);
      for (const ranked of chunk) if (this.textOf(ranked.candidate.messageId).trim() !== "") yield ranked;
    }
  }

  /** Reads the neighbors of hits together. Otherwise those of each are read when they are needed. */
  loadNeighbors(messageIds: readonly number[]): void {
    if (this.#neighborCount === 0) return;
    const ids = messageIds.flatMap((id) => this.#source.around([id], this.#neighborCount));
    const unknown = [...new Set(ids)].filter((id) => !this.#rows.has(id));
    for (const row of this.#source.texts(unknown)) this.#rows.set(row.messageId, row);
  }

  textOf(messageId: number): string {
    return this.#rows.get(messageId)!.text;
  }

  snippetOf(messageId: number): Snippet {
    return snippetOf(this.textOf(messageId), this.#weights);
  }

  /** Returns what of a message answers. */
  passageOf(messageId: number): Snippet {
    const known = this.#passages.get(messageId);
    if (known !== undefined) return known;
    const isPrinted = this.#rows.get(messageId)!.role === "tool" || this.#source.rows([messageId])[0]?.isCall === true;
    const passage = passageOf(this.textOf(messageId), isPrinted, this.#weights);
    this.#passages.set(messageId, passage);
    return passage;
  }

  /** Returns the passage of a message, or its text if that is shorter. */
  excerptOf(messageId: number): string {
    const [text, passage] = [this.textOf(messageId), this.passageOf(messageId).text];
    return passage.length < text.length ? passage : text;
  }

  hitOf({ ranked, copies }: Folded, explain: boolean): RecallHit {
    const { candidate, score, parts } = ranked;
    const { messageId, sessionId, seq } = candidate;
    const { role, name, text, createdAtMs, stepId } = this.#rows.get(messageId)!;
    const { text: snippet, marks } = this.passageOf(messageId);
    const did = role === "assistant" ? didIn(this.#source.actions([messageId]).get(messageId) ?? [], snippet) : [];
    return {
      messageId,
      sessionId,
      seq,
      role,
      ...(name !== null && { name }),
      createdAtMs,
      text,
      score,
      snippet,
      marks,
      ...(did.length > 0 && { did }),
      // A step that a rewind has divided is in the forest without its superseded messages.
      root: candidate.superseded ? null : this.#source.clusterOf(sessionId, stepId),
      neighbors: this.#neighborsOf(messageId),
      copies: copies.map(({ candidate: { messageId, sessionId, seq } }) => ({ messageId, sessionId, seq })),
      ...(candidate.superseded && { superseded: true }),
      ...(explain && { parts }),
    };
  }

  #neighborsOf(messageId: number): RecallNeighbor[] {
    const known = this.#neighbors.get(messageId);
    if (known !== undefined || this.#neighborCount === 0) return known ?? [];
    const ids = this.#source.around([messageId], this.#neighborCount).filter((id) => id !== messageId);
    const unknown = ids.filter((id) => !this.#rows.has(id));
    for (const row of this.#source.texts(unknown)) this.#rows.set(row.messageId, row);
    const said = ids.flatMap((id) => this.#rows.get(id) ?? []).filter(({ text }) => text.trim() !== "");
    const rows = said.sort((left, right) => left.seq - right.seq);
    const neighbors = rows.map(({ messageId, seq, role, name, text }) => {
      return { messageId, seq, role, ...(name !== null && { name }), snippet: snippetOf(text, this.#weights).text };
    });
    this.#neighbors.set(messageId, neighbors);
    return neighbors;
  }
}

/** Returns what calls ran or changed. Words such as "Let me run the tests" answer a question only with the command. */
function didIn(actions: readonly Action[], snippet: string): string[] {
  const told = actions.flatMap(({ kind, target, outcome }) => {
    const action = target.replace(/\s+/g, " ");
    if (!TOLD.has(kind) || action.length > ACTION_CHARS_MAX || snippet.includes(action)) return [];
    return [`${kind === "run" ? "" : `${kind} `}${action}${outcome === "failed" ? " (failed)" : ""}`];
  });
  return [...new Set(told)].slice(0, ACTIONS_MAX);
}
