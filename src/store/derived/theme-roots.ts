import { DamageError } from "../../core/damage.ts";
import type { UnionRepository } from "./unions.ts";

/** Tells the themes of clusters in a session by its log. It is used within one snapshot. */
export class ThemeRoots {
  readonly #unions: UnionRepository;
  /** A cache. */
  readonly #unites = new Map<number, { position: number; root: number } | undefined>();

  readonly #sessionId: string;

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
