import { assert, DamageError } from "../core/damage.ts";
import { titledEnds } from "../core/ends.ts";
import { groupedBy } from "../core/groups.ts";
import type { SessionSettings } from "../core/options.ts";
import { isFull, type OpenCluster } from "../forest/cluster.ts";
import { type DecidedRow, Forest } from "../forest/forest.ts";
import { GrowingForest } from "../forest/growing-forest.ts";
import { type PlacementOptions, StepPlacer } from "../forest/step-placer.ts";
import type { Embedder } from "../models/embedder.ts";
import { TITLE_TEXT_CHARS, titleOf } from "../models/title.ts";
import {
  type CarriedSummary,
  type DerivedRows,
  enteringSteps,
  type FollowedRow,
  type GraduatingMessage,
  type Repositories,
  type StagedMessage,
  type StoredCluster,
  type Target,
  type TitledMessage,
} from "../store/index.ts";

/** Rows followed in one transaction: about 20 ms. */
const PAGE_ROWS = 100;

/** `more`: more rows may follow. `current`: none is left. `unstaged`: a vector is missing. `stale`: the log changed. */
export type Followed = "more" | "current" | "unstaged" | "stale";

/**
 * The forests of all sessions, grown again in memory from staged vectors while the forests in use still grow.
 *
 * Steps enter in the order of the log in use. So the new log is what the store would have if it had always used the new
 * embedder. But the newest settings apply to all steps, and forgotten messages are left out.
 */
export class RegrownForests {
  readonly #repositories: Repositories;
  readonly #target: Target;
  readonly #embedder: Pick<Embedder, "dimension" | "similarityMin">;
  readonly #sessions = new Map<string, RegrownSession>();
  /** For each fork, the position up to which its own log has what it shares. */
  readonly #forks = new Map<string, number>();
  readonly #carried: CarriedSummaries;
  readonly #stamp: string;
  /** The position of the last row followed, in the log in use. */
  #followedTo = 0;
  /** The position of the last row of the new log, which begins at 1. */
  #position = 0;

  constructor(repositories: Repositories, target: Target, embedder: Pick<Embedder, "dimension" | "similarityMin">) {
    this.#repositories = repositories;
    this.#target = target;
    this.#embedder = embedder;
    this.#carried = new CarriedSummaries(repositories);
    this.#stamp = this.#stampNow();
  }

  get followedTo(): number {
    return this.#followedTo;
  }

  /** Keyed by session id. */
  get sessions(): ReadonlyMap<string, RegrownSession> {
    return this.#sessions;
  }

  log(): { sessionId: string; row: DecidedRow }[] {
    const rows = [...this.#sessions].flatMap(([sessionId, { log }]) => log.map((row) => ({ sessionId, row })));
    return rows.sort((left, right) => left.row.id - right.row.id);
  }

  /** Call it inside a transaction. */
  follow(): Followed {
    const { reembedding, paths, sessions } = this.#repositories;
    if (this.#stampNow() !== this.#stamp) return "stale";
    if (this.#followLateFork()) return "more";
    const rows = reembedding.followed(this.#followedTo, PAGE_ROWS);
    const steps = this.#stepsOf(rows);
    const settings = new Map<string, SessionSettings>();
    for (const row of rows) {
      // Each fork gets a log of its own in the new generation, because its past may be placed in another way later.
      for (const sessionId of paths.withRow(row.sessionId, row.position)) {
        const known = settings.get(sessionId) ?? sessions.byId(sessionId)!.settings;
        settings.set(sessionId, known);
        if (!this.#followRow({ ...row, sessionId }, steps, known)) return "unstaged";
      }
      this.#followedTo = row.position;
    }
    return rows.length < PAGE_ROWS ? "current" : "more";
  }

  /** Gives a fork that is new since the last call some of the rows that were followed before. @returns false if there is none. */
  #followLateFork(): boolean {
    const { reembedding, paths, sessions } = this.#repositories;
    for (const forkId of paths.forkIds()) {
      const from = this.#forks.get(forkId) ?? 0;
      if (from >= this.#followedTo) {
        this.#forks.set(forkId, Number.POSITIVE_INFINITY);
        continue;
      }
      const rows = reembedding.followedBy({ forkId, from, to: this.#followedTo, limit: PAGE_ROWS });
      const steps = this.#stepsOf(rows);
      const { settings } = sessions.byId(forkId)!;
      for (const row of rows) this.#followRow({ ...row, sessionId: forkId }, steps, settings);
      this.#forks.set(forkId, rows.length < PAGE_ROWS ? Number.POSITIVE_INFINITY : rows.at(-1)!.position);
      return true;
    }
    return false;
  }

  carriedSummaries(): CarriedSummary[] {
    return [...this.#sessions].flatMap(([sessionId, session]) => this.#carried.ofSession(sessionId, session));
  }

  /** @returns false, with nothing changed, if a vector is missing. */
  #followRow(row: FollowedRow, steps: ReadonlyMap<number, StagedMessage[]>, settings: SessionSettings): boolean {
    const { sessionId, kind, node, root } = row;
    const { openClustersMax, maxThemes } = settings;
    const options = { similarityMin: this.#embedder.similarityMin, openClustersMax, maxThemes };
    const session = this.#sessions.get(sessionId) ?? this.#newSession();
    if (kind === "settle") {
      this.#position = session.settle(root, this.#position, options);
      return true;
    }
    const messages = steps.get(node);
    if (messages === undefined) throw new DamageError(`step ${node} entered the forest, but it has no messages`);
    if (messages.some(({ isMissing }) => isMissing)) return false;
    this.#sessions.set(sessionId, session);
    this.#position = session.enter(root, messages, this.#position, options);
    return true;
  }

  #newSession(): RegrownSession {
    const { messages } = this.#repositories;
    return new RegrownSession(this.#embedder.dimension, (id) => messages.askedBefore(TITLE_TEXT_CHARS, id));
  }

  #stepsOf(rows: readonly Omit<FollowedRow, "sessionId">[]): Map<number, StagedMessage[]> {
    // A step that a fork shares enters in both logs.
    const nodes = [...new Set(rows.filter(({ kind }) => kind !== "settle").map(({ node }) => node))];
    return groupedBy(this.#repositories.reembedding.ofSteps(this.#target, nodes), ({ stepId }) => stepId);
  }

  /** Changes if the log was rewritten, or if another generation came into use. */
  #stampNow(): string {
    const { id, rewriteCount } = this.#repositories.generations.newest()!;
    return `${id}.${rewriteCount}`;
  }
}

/** Messages are kept until the cluster settles and gets its label. */
interface DraftCluster {
  cluster: OpenCluster;
  logPosition: number;
  settledAt: number | null;
  messages: TitledMessage[];
  label: string | undefined;
}

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
   * Follows the settling of a cluster of the old forest. If its last step did not fill it and it was the last open one, the session was
   * over, and all clusters settle. Otherwise the new forest decides itself. @returns the newest position of the new
   * log.
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

type Match = Omit<CarriedSummary, "summaryId">;

/** How far the summaries of a cluster of the forest in use have been found again. `root` is undefined if one was not. */
interface Compared {
  position: number;
  stepCount: number;
  root: number | undefined;
}

/**
 * Finds the summaries that need not be paid for again, because a cluster of the new forest held exactly the steps that they
 * cover at some log position. A match never changes, so it is remembered.
 */
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
