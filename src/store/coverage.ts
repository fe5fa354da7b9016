import type { DoneSummary } from "./summaries.ts";
import type { UnionRepository } from "./unions.ts";

/** A summary covers what the tree under its root held at its log position. */
export type Covering = Pick<DoneSummary, "rootId" | "logPosition">;

/**
 * Compares what summaries cover. Trees only grow, by one unite at a root. So two summaries are nested or disjoint, and one walk up
 * from a cluster's root answers every question.
 */
export class Coverage {
  readonly #unions: UnionRepository;
  /** The unites that were looked up. A `Coverage` lives no longer than the snapshot that it reads. */
  readonly #unites = new Map<number, { position: number; root: number } | undefined>();

  constructor(unions: UnionRepository) {
    this.#unions = unions;
  }

  /** Returns the root of the theme that holds this root now. */
  themeOf(root: number): number {
    let current = root;
    for (let unite = this.#uniteOf(current); unite !== undefined; unite = this.#uniteOf(current)) current = unite.root;
    return current;
  }

  /** Returns true if `summary` covers what entered under `root` at `position`. */
  covers(summary: Covering, root: number, position: number): boolean {
    if (position > summary.logPosition) return false;
    let current = root;
    while (current !== summary.rootId) {
      const unite = this.#uniteOf(current);
      if (unite === undefined || unite.position > summary.logPosition) return false;
      current = unite.root;
    }
    return true;
  }

  /** Returns the summaries that no other covers. They are disjoint and cover the same together. The newest of equals counts. */
  maximal<S extends Covering>(summaries: readonly S[]): S[] {
    return summaries.filter(
      (summary, index) =>
        !summaries.some((other, otherIndex) => {
          if (other === summary || !this.covers(other, summary.rootId, summary.logPosition)) return false;
          const equal = other.rootId === summary.rootId && other.logPosition === summary.logPosition;
          return !equal || otherIndex > index;
        }),
    );
  }

  /**
   * Returns the summaries that a context shows, which are disjoint. A stand-in gives way to a summary that covers as much, and to
   * a later one that covers a part. Until then it hides what it covers.
   */
  standing<S extends Covering & Pick<DoneSummary, "id" | "standsIn">>(summaries: readonly S[]): S[] {
    const made = this.maximal(summaries.filter(({ standsIn }) => !standsIn));
    const standIns = this.maximal(summaries.filter(({ standsIn }) => standsIn)).filter(
      (standIn) =>
        !made.some(
          (summary) =>
            this.covers(summary, standIn.rootId, standIn.logPosition) ||
            (summary.id > standIn.id && this.covers(standIn, summary.rootId, summary.logPosition)),
        ),
    );
    const isBehind = (summary: S): boolean =>
      standIns.some((standIn) => this.covers(standIn, summary.rootId, summary.logPosition));
    const standing = new Set([...made.filter((summary) => !isBehind(summary)), ...standIns]);
    return summaries.filter((summary) => standing.has(summary));
  }

  #uniteOf(root: number): { position: number; root: number } | undefined {
    if (!this.#unites.has(root)) this.#unites.set(root, this.#unions.uniteOf(root));
    return this.#unites.get(root);
  }
}
