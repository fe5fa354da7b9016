import { StoreError } from "../core/errors.ts";
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
    let theme = root;
    for (const above of this.#unitesOf(root)) theme = above.root;
    return theme;
  }

  /** Returns true if `summary` covers the cluster `root` as it was at `position`. */
  covers(summary: Covering, root: number, position: number): boolean {
    if (position > summary.logPosition) return false;
    if (root === summary.rootId) return true;
    for (const unite of this.#unitesOf(root)) {
      if (unite.position > summary.logPosition) return false;
      if (unite.root === summary.rootId) return true;
    }
    return false;
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

  /** Yields the unites that took the root into larger themes, oldest first. */
  *#unitesOf(root: number): Generator<{ position: number; root: number }> {
    let current = root;
    let unite = this.#uniteOf(root);
    while (unite !== undefined) {
      yield unite;
      const next = this.#uniteOf(unite.root);
      // Damaged rows can form a circle.
      if (next !== undefined && next.position <= unite.position) {
        const reason = `theme ${next.root} absorbed theme ${unite.root} before that absorbed theme ${current}`;
        throw new StoreError("STORE_CORRUPT", { path: this.#unions.path, reason });
      }
      current = unite.root;
      unite = next;
    }
  }

  #uniteOf(root: number): { position: number; root: number } | undefined {
    if (!this.#unites.has(root)) this.#unites.set(root, this.#unions.uniteOf(root));
    return this.#unites.get(root);
  }
}
