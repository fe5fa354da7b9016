import type { DecidedRow } from "../forest/forest.ts";
import type { CarriedSummary, Repositories } from "../store/index.ts";
import type { RegrownSession } from "./regrown-session.ts";

type Match = Omit<CarriedSummary, "summaryId">;

/**
 * Finds the summaries that need not be paid for again, because a cluster of the new forest held exactly the steps that they
 * cover at some log position. A match never changes, so it is remembered.
 */
export class CarriedSummaries {
  readonly #repositories: Repositories;
  /** Keyed by summary. */
  readonly #matches = new Map<number, Match | undefined>();

  constructor(repositories: Repositories) {
    this.#repositories = repositories;
  }

  ofSession(sessionId: string, { log }: RegrownSession): CarriedSummary[] {
    const { summaries, unions } = this.#repositories;
    const standing = summaries.covering({ sessionId }).filter((row) => row.sessionId === sessionId);
    return standing.flatMap(({ id, rootId, logPosition }) => {
      if (!this.#matches.has(id)) {
        const entries = unions.entriesOf({ sessionId, root: rootId, from: 0, position: logPosition });
        const steps = entries.map(({ stepId }) => stepId);
        this.#matches.set(id, matchOf(steps, log));
      }
      const match = this.#matches.get(id);
      return match === undefined ? [] : [{ summaryId: id, ...match }];
    });
  }
}

/** Returns the cluster that held exactly these steps at some log position. Steps enter in the same order in every forest. */
function matchOf(steps: readonly number[], log: readonly DecidedRow[]): Match | undefined {
  const entries = log.filter(({ kind }) => kind === "start" || kind === "join");
  const last = entries.findLast(({ node }) => node === steps.at(-1));
  if (last === undefined) return undefined;
  const held = entries.filter(({ id, root }) => root === last.root && id <= last.id);
  const isSame = held.length === steps.length && held.every(({ node }, index) => node === steps[index]);
  return isSame ? { rootId: last.root, logPosition: last.id } : undefined;
}
