import { assert } from "../core/damage.ts";
import { titledEnds } from "../core/ends.ts";
import { isFull, type OpenCluster } from "../forest/cluster.ts";
import { type DecidedRow, Forest } from "../forest/forest.ts";
import { GrowingForest } from "../forest/growing-forest.ts";
import { type PlacementOptions, StepPlacer } from "../forest/step-placer.ts";
import { TITLE_TEXT_CHARS, titleOf } from "../models/title.ts";
import {
  type DerivedRows,
  enteringSteps,
  type GraduatingMessage,
  type StoredCluster,
  type TitledMessage,
} from "../store/index.ts";

/** Messages are kept until the cluster settles and gets its label. */
interface DraftCluster {
  cluster: OpenCluster;
  logPosition: number;
  settledAt: number | null;
  messages: TitledMessage[];
  label: string | undefined;
}

/** The forest of one session, grown again with other vectors. */
export class RegrownSession {
  /** A row that cannot be applied fails an assertion. */
  readonly forest = new Forest();
  readonly log: DecidedRow[] = [];
  readonly #growth: GrowingForest;
  readonly #clusters = new Map<number, DraftCluster>();
  readonly #steps: { id: number; messageIds: readonly number[] }[] = [];
  /** The open clusters of the old forest, by root. `isFilled`: the last step filled it. */
  readonly #openBefore = new Map<number, { messageCount: number; tokenCount: number; isFilled: boolean }>();
  readonly #askedBefore: (id: number) => TitledMessage | undefined;
  #seqBefore = -1;

  /** @param askedBefore  Returns the beginning of the user's message that began the turn of a message. */
  constructor(dimension: number, askedBefore: (id: number) => TitledMessage | undefined) {
    this.#askedBefore = askedBefore;
    this.#growth = new GrowingForest(dimension);
  }

  /** Places a step that was in the cluster `rootBefore` of the old forest, after a position of the new log. @returns the next position. */
  enter(
    rootBefore: number,
    messages: readonly GraduatingMessage[],
    position: number,
    options: PlacementOptions,
  ): number {
    const [step] = enteringSteps(messages, this.#seqBefore);
    assert(step !== undefined, "a step has messages");
    const { features, messageIds } = step;
    this.#seqBefore = features.seqLast;
    this.#steps.push({ id: features.id, messageIds });
    const before = this.#openBefore.get(rootBefore) ?? { messageCount: 0, tokenCount: 0, isFilled: false };
    const wasFull = isFull(before);
    before.messageCount += features.messageCount;
    before.tokenCount += features.tokenCount;
    before.isFilled = !wasFull && isFull(before);
    this.#openBefore.set(rootBefore, before);

    const decision = new StepPlacer(this.#growth, position, options);
    const { cluster, position: logPosition } = decision.enter(features);
    const draft = this.#clusters.get(cluster.root) ?? {
      cluster,
      logPosition,
      settledAt: null,
      messages: [],
      label: undefined,
    };
    draft.logPosition = logPosition;
    draft.label = undefined;
    const openings = step.messages.map(({ role, text }) => ({ role, text: text.slice(0, TITLE_TEXT_CHARS) }));
    draft.messages = [...titledEnds(draft.messages), ...openings];
    this.#clusters.set(cluster.root, draft);
    return this.#take(decision);
  }

  /**
   * Follows the settling of a cluster of the old forest. If its last step did not fill it and it was the last open one, the session
   * was over, and all clusters settle. Otherwise the new forest decides itself.
   */
  settle(rootBefore: number, position: number, options: PlacementOptions): number {
    const cluster = this.#openBefore.get(rootBefore);
    this.#openBefore.delete(rootBefore);
    if (cluster === undefined || cluster.isFilled || this.#openBefore.size > 0) return position;
    const decision = new StepPlacer(this.#growth, position, options);
    decision.settleAll();
    return this.#take(decision);
  }

  rows(): DerivedRows {
    const parents = new Map<number, number>();
    for (const { id: step, messageIds } of this.#steps) {
      const { cluster } = this.forest.find(step)!;
      for (const id of messageIds) parents.set(id, id === cluster ? this.forest.parentOf(cluster)! : cluster);
    }
    return {
      parents,
      clusters: [...this.#clusters.values()].map((draft) => this.#storedCluster(draft)),
      themes: [...this.#growth.themes.values()],
    };
  }

  #take(decision: StepPlacer): number {
    for (const row of decision.log) {
      const reason = this.forest.apply(row);
      assert(reason === undefined, `the new log can be applied: ${reason}`);
      this.log.push(row);
      if (row.kind !== "settle") continue;
      const draft = this.#clusters.get(row.root)!;
      draft.settledAt = row.id;
      draft.label = this.#titleOf(draft);
      draft.messages = [];
    }
    return decision.position;
  }

  #storedCluster(draft: DraftCluster): StoredCluster {
    draft.label ??= this.#titleOf(draft);
    const { cluster, logPosition, settledAt, label } = draft;
    return { cluster, label, logPosition, settledAt, subjectRoot: null };
  }

  #titleOf({ cluster, messages }: DraftCluster): string {
    return titleOf(messages, this.#askedBefore(cluster.root));
  }
}
