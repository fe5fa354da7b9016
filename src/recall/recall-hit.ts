import { formatHandle } from "../core/handle.ts";
import type { Role } from "../core/message.ts";
import type { TokenCounter } from "../core/tokens.ts";
import type { TextRow } from "../store/evidence.ts";
import type { Repositories } from "../store/repositories.ts";
import { chunksOf } from "./chunks.ts";
import type { Folded } from "./copies.ts";
import type { Evidence, Ranked, ScoreParts } from "./ranking.ts";
import { snippetOf } from "./snippet.ts";

/** A message that answers a query, and where it stands. */
export interface RecallHit {
  messageId: number;
  sessionId: string;
  seq: number;
  role: Role;
  name?: string;
  createdAtMs: number;
  /** Its words, as they are embedded and searched; `expand` and `messages` have the message itself. */
  text: string;
  /** Comparable only with those of the same call; higher is better. */
  score: number;
  /** The stretch of the text that has most of the query's words, which stand between `**`. */
  snippet: string;
  /** Handle of its cluster, for `expand`; null while it is hot. */
  root: string | null;
  /** What was said before and after it, in order. */
  neighbors: RecallNeighbor[];
  /** Messages that say the same nearly word for word, and rank below it. */
  copies: { messageId: number; sessionId: string; seq: number }[];
  /** With `explain`: what the score is the sum of. */
  parts?: ScoreParts;
}

export interface RecallNeighbor {
  messageId: number;
  seq: number;
  role: Role;
  name?: string;
  /** As `RecallHit.snippet`: a few lines of it at most. */
  snippet: string;
}

/** What hits show of their messages and of those around them, read when it is needed. */
export class Shown {
  readonly #repositories: Repositories;
  readonly #weights: ReadonlyMap<string, number>;
  readonly #neighborCount: number;
  readonly #rows = new Map<number, TextRow>();
  /** By message: what stands around it. */
  readonly #neighbors = new Map<number, RecallNeighbor[]>();
  /** By session: where its log ends. */
  readonly #positions = new Map<string, number>();

  constructor(repositories: Repositories, weights: ReadonlyMap<string, number>, neighborCount: number) {
    this.#repositories = repositories;
    this.#weights = weights;
    this.#neighborCount = neighborCount;
  }

  /** A ranking, of which so many messages are read together: one after the other takes longer. */
  *loaded(ranking: Iterable<Ranked>, count: number): Generator<Ranked> {
    for (const chunk of chunksOf(ranking, count)) {
      for (const row of this.#repositories.evidence.texts(chunk.map(({ evidence }) => evidence.messageId))) {
        this.#rows.set(row.messageId, row);
      }
      yield* chunk;
    }
  }

  textOf(messageId: number): string {
    return this.#rows.get(messageId)!.text;
  }

  snippetOf(messageId: number): string {
    return snippetOf(this.textOf(messageId), this.#weights);
  }

  /** What a hit costs with its neighbors; without them where it costs too much alone. */
  tokensOf(evidence: Evidence, tokenCounter: TokenCounter, tokensMax: number): number {
    const alone = tokenCounter.count(this.textOf(evidence.messageId));
    if (alone > tokensMax) return alone;
    return this.#neighborsOf(evidence).reduce((sum, { snippet }) => sum + tokenCounter.count(snippet), alone);
  }

  hitOf({ ranked, copies }: Folded, explain: boolean): RecallHit {
    const { evidence, score, parts } = ranked;
    const { messageId, sessionId, seq } = evidence;
    const { role, name, text, createdAtMs, stepId } = this.#rows.get(messageId)!;
    return {
      messageId,
      sessionId,
      seq,
      role,
      ...(name !== null && { name }),
      createdAtMs,
      text,
      score,
      snippet: snippetOf(text, this.#weights),
      root: this.#rootOf(sessionId, stepId),
      neighbors: this.#neighborsOf(evidence),
      copies: copies.map((copy) => ({
        messageId: copy.evidence.messageId,
        sessionId: copy.evidence.sessionId,
        seq: copy.evidence.seq,
      })),
      ...(explain && { parts }),
    };
  }

  #neighborsOf({ messageId }: Evidence): RecallNeighbor[] {
    const known = this.#neighbors.get(messageId); // counted against a budget first, and then shown
    if (known !== undefined) return known;
    const neighbors = this.#neighborCount === 0 ? [] : this.#readNeighbors(messageId);
    this.#neighbors.set(messageId, neighbors);
    return neighbors;
  }

  #readNeighbors(messageId: number): RecallNeighbor[] {
    const around = this.#repositories.evidence.around([messageId], this.#neighborCount);
    return this.#repositories.evidence
      .texts(around.filter((id) => id !== messageId))
      .toSorted((left, right) => left.seq - right.seq)
      .map(({ messageId: id, seq: place, role, name, text }) => ({
        messageId: id,
        seq: place,
        role,
        ...(name !== null && { name }),
        snippet: snippetOf(text, this.#weights),
      }));
  }

  #rootOf(sessionId: string, stepId: number): string | null {
    const { unions } = this.#repositories;
    const root = unions.entered(stepId)?.clusterRoot;
    if (root === undefined) return null;
    let position = this.#positions.get(sessionId);
    if (position === undefined) {
      position = unions.lastPosition(sessionId);
      this.#positions.set(sessionId, position);
    }
    return formatHandle("cluster", root, position);
  }
}
