import { groupedBy } from "../core/groups.ts";
import type { DecidedRow } from "../forest/forest.ts";
import type { CarriedSummary, Repositories } from "../store/index.ts";
import type { RegrownSession } from "./regrown-session.ts";

type Match = Omit<CarriedSummary, "summaryId">;

/** How far the summaries of a cluster of the forest in use have been found again. `root` is undefined if one was not. */
interface Compared {
  position: number;
  stepCount: number;
  root: number | undefined;
}

/** Finds the summaries that stay, because a cluster of the new forest once held exactly their steps. Such a match never changes. */
export class CarriedSummaries {
  readonly #repositories: Repositories;
  /** Keyed by summary. */
  readonly #matches = new Map<number, Match | undefined>();
  /** Keyed by session and root. */
  readonly #compared = new Map<string, Compared>();

  constructor(repositories: Repositories) {
    this.#repositories = repositories;
  }

  /** Steps enter in the same order in every forest, so of each further summary of a cluster only what it adds is compared. */
  ofSession(sessionId: string, { log }: RegrownSession): CarriedSummary[] {
    const { summaries, unions } = this.#repositories;
    const standing = summaries.covering({ sessionId }).filter((row) => row.sessionId === sessionId);
    const fresh = standing
      .filter(({ id }) => !this.#matches.has(id))
      .sort((left, right) => left.logPosition - right.logPosition);
    const { rootOf, heldBy } = fresh.length > 0 ? clustersIn(log) : clustersIn([]);
    for (const { id, rootId, logPosition } of fresh) {
      const key = `${rootId} ${sessionId}`;
      const { position, stepCount: countBefore, root: rootBefore } = this.#compared.get(key) ?? NOTHING;
      const added = unions.entriesOf({ sessionId, root: rootId, from: position, position: logPosition });
      const root = countBefore > 0 ? rootBefore : rootOf.get(added[0]?.stepId ?? 0);
      const held = (root !== undefined && heldBy.get(root)) || [];
      const isSame = added.every(({ stepId }, index) => held[countBefore + index]?.node === stepId);
      const stepCount = countBefore + added.length;
      const last = isSame ? held[stepCount - 1] : undefined;
      this.#compared.set(key, { position: Math.max(position, logPosition), stepCount, root: last?.root });
      this.#matches.set(id, last && { rootId: last.root, logPosition: last.id });
    }
    return standing.flatMap(({ id }) => {
      const match = this.#matches.get(id);
      return match === undefined ? [] : [{ summaryId: id, ...match }];
    });
  }
}

const NOTHING: Compared = { position: 0, stepCount: 0, root: undefined };

/** Returns the root of each step's cluster, and the rows by which each cluster got its steps, in order. */
function clustersIn(log: readonly DecidedRow[]) {
  const entered = log.filter(({ kind }) => kind === "start" || kind === "join");
  return {
    rootOf: new Map(entered.map(({ node, root }) => [node, root])),
    heldBy: groupedBy(entered, ({ root }) => root),
  };
}
