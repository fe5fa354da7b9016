import type { DoneSummary } from "./summaries.ts";
import type { UnionRepository } from "./unions.ts";

/** A summary covers the steps that its root held at its log position. */
export type Covering = Pick<DoneSummary, "rootId" | "logPosition">;

/** Compares what summaries cover. Themes only grow, so two summaries are nested or disjoint. */
export class Coverage {
  readonly #unions: UnionRepository;
  /** A cache. A `Coverage` is used within one snapshot. */
  readonly #unites = new Map<number, { position: number; root: number } | undefined>();

  constructor(unions: UnionRepository) {
    this.#unions = unions;
  }

  themeOf(root: number): number {
    let current = root;
    for (let unite = this.#uniteOf(current); unite !== undefined; unite = this.#uniteOf(current)) current = unite.root;
    return current;
  }

  /** Returns true if `summary` covers the cluster `root` as it was at `position`. */
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

  /** Returns the summaries that no other summary covers. Of equal summaries, the newest is kept. */
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
   * Returns the summaries that a context shows. They are disjoint. A stand-in hides the summaries that it covers.
   * Another summary replaces a stand-in if it covers all of it, or if it is newer and covers a part of it.
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
