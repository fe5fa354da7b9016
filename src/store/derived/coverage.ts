import { DamageError } from "../../core/damage.ts";
import type { DoneSummary } from "./summaries.ts";
import type { UnionRepository } from "./unions.ts";

/** A summary covers the steps that its root held at its log position. */
export type Covering = Pick<DoneSummary, "level" | "rootId" | "logPosition">;

/** Compares what summaries cover. Clusters and themes only grow, so two summaries of a level are nested or disjoint. */
export class Coverage {
  readonly #unions: UnionRepository;
  /** A cache. A `Coverage` is used within one snapshot. */
  readonly #unites = new Map<number, { position: number; root: number } | undefined>();

  readonly #sessionId: string;

  /** @param sessionId  The session whose log says which themes united. */
  constructor(unions: UnionRepository, sessionId: string) {
    this.#unions = unions;
    this.#sessionId = sessionId;
  }

  /** The root of the theme of a cluster. @param before  A log position; by default now. */
  themeOf(root: number, before = Number.MAX_SAFE_INTEGER): number {
    let theme = root;
    for (const unite of this.#unitesOf(root)) {
      if (unite.position >= before) break;
      theme = unite.root;
    }
    return theme;
  }

  /** Returns true if `summary` covers the cluster or theme `root` as it was at `position`. */
  covers(summary: Covering, root: number, position: number): boolean {
    if (position > summary.logPosition) return false;
    if (root === summary.rootId) return true;
    if (summary.level === "cluster") return false;
    for (const unite of this.#unitesOf(root)) {
      if (unite.position > summary.logPosition) return false;
      if (unite.root === summary.rootId) return true;
    }
    return false;
  }

  /** Returns the log position up to which the summaries cover a cluster; 0 if none covers any of it. */
  coveredUntil(summaries: readonly Covering[], root: number): number {
    const positions = summaries.filter((summary) => this.covers(summary, root, summary.logPosition));
    return Math.max(0, ...positions.map(({ logPosition }) => logPosition));
  }

  /** Returns the summaries of themes that no other of them covers. Of equal ones, the newest is kept. */
  maximalThemes<S extends Covering>(summaries: readonly S[]): S[] {
    const ofThemes = summaries.filter(({ level }) => level === "theme");
    return ofThemes.filter(
      (summary, index) =>
        !ofThemes.some((other, otherIndex) => {
          if (other === summary || !this.covers(other, summary.rootId, summary.logPosition)) return false;
          const equal = other.rootId === summary.rootId && other.logPosition === summary.logPosition;
          return !equal || otherIndex > index;
        }),
    );
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
        throw new DamageError(`theme ${next.root} absorbed theme ${unite.root} before that absorbed theme ${current}`);
      }
      current = unite.root;
      unite = next;
    }
  }

  #uniteOf(root: number): { position: number; root: number } | undefined {
    if (!this.#unites.has(root)) this.#unites.set(root, this.#unions.unite({ sessionId: this.#sessionId, root }));
    return this.#unites.get(root);
  }
}
