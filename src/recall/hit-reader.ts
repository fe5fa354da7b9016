import { formatHandle } from "../core/handle.ts";
import type { TokenCounter } from "../core/tokens.ts";
import type { TextRow } from "../store/evidence.ts";
import type { Repositories } from "../store/repositories.ts";
import type { Folded } from "./copies.ts";
import { chunksOf } from "./full-text-search.ts";
import type { Candidate, Ranked } from "./ranking.ts";
import type { RecallHit, RecallNeighbor } from "./recall-hit.ts";
import { snippetOf } from "./snippet.ts";

/** Reads the messages and neighbors of hits when they are needed. */
export class HitReader {
  readonly #repositories: Repositories;
  readonly #weights: ReadonlyMap<string, number>;
  readonly #neighborCount: number;
  readonly #rows = new Map<number, TextRow>();
  /** The neighbors of each message, which are first counted against a budget and then shown. */
  readonly #neighbors = new Map<number, RecallNeighbor[]>();

  constructor(repositories: Repositories, weights: ReadonlyMap<string, number>, neighborCount: number) {
    this.#repositories = repositories;
    this.#weights = weights;
    this.#neighborCount = neighborCount;
  }

  /** Yields a ranking and reads its messages, `count` at a time, which is faster than one by one. */
  *loaded(ranking: Iterable<Ranked>, count: number): Generator<Ranked> {
    for (const chunk of chunksOf(ranking, count)) {
      const ids = chunk.map(({ candidate }) => candidate.messageId);
      for (const row of this.#repositories.evidence.texts(ids)) this.#rows.set(row.messageId, row);
      yield* chunk;
    }
  }

  textOf(messageId: number): string {
    return this.#rows.get(messageId)!.text;
  }

  snippetOf(messageId: number): string {
    return snippetOf(this.textOf(messageId), this.#weights);
  }

  /** Returns the tokens of a hit and its neighbors, or only those of the hit if they alone exceed `tokensMax`. */
  tokensOf({ messageId }: Candidate, tokenCounter: TokenCounter, tokensMax: number): number {
    const alone = tokenCounter.count(this.textOf(messageId));
    if (alone > tokensMax) return alone;
    return this.#neighborsOf(messageId).reduce((sum, { snippet }) => sum + tokenCounter.count(snippet), alone);
  }

  hitOf({ ranked, copies }: Folded, explain: boolean): RecallHit {
    const { candidate, score, parts } = ranked;
    const { messageId, sessionId, seq } = candidate;
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
      neighbors: this.#neighborsOf(messageId),
      copies: copies.map(({ candidate: { messageId, sessionId, seq } }) => ({ messageId, sessionId, seq })),
      ...(explain && { parts }),
    };
  }

  #neighborsOf(messageId: number): RecallNeighbor[] {
    let neighbors = this.#neighbors.get(messageId);
    if (neighbors === undefined) {
      neighbors = this.#neighborCount === 0 ? [] : this.#readNeighbors(messageId);
      this.#neighbors.set(messageId, neighbors);
    }
    return neighbors;
  }

  #readNeighbors(messageId: number): RecallNeighbor[] {
    const around = this.#repositories.evidence.around([messageId], this.#neighborCount);
    return this.#repositories.evidence
      .texts(around.filter((id) => id !== messageId))
      .toSorted((left, right) => left.seq - right.seq)
      .map(({ messageId, seq, role, name, text }) => {
        return { messageId, seq, role, ...(name !== null && { name }), snippet: snippetOf(text, this.#weights) };
      });
  }

  #rootOf(sessionId: string, stepId: number): string | null {
    const { unions } = this.#repositories;
    const root = unions.entered(stepId)?.clusterRoot;
    return root === undefined ? null : formatHandle("cluster", root, unions.lastPosition(sessionId));
  }
}
