import type { DecidedRow, Forest } from "../forest/forest.ts";
import type { CarriedSummary } from "../store/new-generation.ts";
import type { Repositories } from "../store/repositories.ts";
import type { RegrownSession } from "./regrown-session.ts";

/** A summary in use, and the theme of the new forest that holds exactly its steps, if any. */
interface Carriable {
  summaryId: number;
  steps: ReadonlySet<number>;
  match: { rootId: number; logPosition: number } | undefined;
}

/**
 * Finds the summaries that need not be paid for again, because a theme of the new forest held exactly their steps at
 * some log position. A match never changes, so it is remembered.
 */
export class CarriedSummaries {
  readonly #repositories: Repositories;
  readonly #known = new Map<number, Carriable>();

  constructor(repositories: Repositories) {
    this.#repositories = repositories;
  }

  /** If two summaries overlap, only the one that covers more is kept. */
  ofSession(sessionId: string, session: RegrownSession): CarriedSummary[] {
    const { summaries, unions } = this.#repositories;
    const standing = [...summaries.shown(sessionId), ...summaries.waiting(sessionId)];
    const found = standing.map(({ id, rootId, logPosition }) => {
      const steps = new Set(unions.stepsOf("theme", rootId, logPosition));
      const known = this.#known.get(id) ?? { summaryId: id, steps, match: matchOf(steps, session) };
      this.#known.set(id, known);
      return known;
    });
    found.sort((left, right) => right.steps.size - left.steps.size || right.summaryId - left.summaryId);
    const covered = new Set<number>();
    return found.flatMap(({ summaryId, steps, match }) => {
      if (match === undefined || [...steps].some((step) => covered.has(step))) return [];
      for (const step of steps) covered.add(step);
      return { summaryId, ...match };
    });
  }
}

/** Returns the theme that held exactly these steps at some log position. */
function matchOf(
  steps: ReadonlySet<number>,
  { forest, log }: RegrownSession,
): { rootId: number; logPosition: number } | undefined {
  const last = log.findLast(({ kind, node }) => (kind === "start" || kind === "join") && steps.has(node));
  if (last === undefined) return undefined;
  for (const logPosition of [last.id, ...unitesAfter(last, forest, log)]) {
    const rootId = forest.find(last.node, logPosition)!.theme;
    const held = forest.stepsOf(rootId, logPosition);
    if (held.some((step) => !steps.has(step))) return undefined;
    if (held.length === steps.size) return { rootId, logPosition };
  }
  return undefined;
}

/** Yields the log positions at which the theme of an entered step united with another. */
function* unitesAfter(entry: DecidedRow, forest: Forest, log: readonly DecidedRow[]): Generator<number> {
  for (let index = log.indexOf(entry) + 1; index < log.length; index++) {
    const { id, kind, node, root } = log[index]!;
    if (kind !== "unite") continue;
    const { theme } = forest.find(entry.node, id - 1)!;
    if (theme === node || theme === root) yield id;
  }
}
