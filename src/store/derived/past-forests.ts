import { DamageError } from "../../core/damage.ts";
import { joinCluster, startCluster } from "../../forest/cluster.ts";
import type { GrowingTheme } from "../../forest/growing-forest.ts";
import { ThemeReplay } from "../../forest/theme-replay.ts";
import type { GenerationRepository } from "../facts/generations.ts";
import type { MessageRepository } from "../facts/messages.ts";
import { type Path, PathReader, type PathRepository } from "../facts/paths.ts";
import type { StoreDatabase } from "../file/open.ts";
import type { RowOf } from "../sql/statement.ts";
import { CLUSTER, type ClusterState, type StoredCluster, storedCluster } from "./cluster-rows.ts";
import type { DeriveOptions } from "./features.ts";
import { type EnteringStep, enteringSteps } from "./features.ts";
import type { FrontierMoveRepository } from "./frontier-moves.ts";
import type { UnionRepository } from "./unions.ts";

/** Rows of the log that are read and replayed at once, so that their vectors take little memory. */
const REPLAY_ROWS = 500;

/** One takes about 150 kB. */
const FORESTS_MAX = 32;

/** What past forests are made from. */
export interface LogSources {
  messages: MessageRepository;
  unions: UnionRepository;
  generations: GenerationRepository;
  frontierMoves: FrontierMoveRepository;
}

/** Where in the log of a session. */
interface Place {
  sessionId: string;
  position: number;
}

/** The forests of forks that have no rows of their own yet, while the sessions that they share have moved on. */
export class PastForests extends PathReader {
  // Every read of such a fork runs these.
  readonly #graduatedSeq = this.statement<[sessionId: string], number>`
    SELECT graduated_seq FROM sessions WHERE id = ?`.pluck().one;
  readonly #openAt = this.statement<Place & { graduatedSeq: number }, RowOf<typeof CLUSTER>>`
    SELECT ${CLUSTER} FROM clusters WHERE rowid IN (
      SELECT rowid FROM clusters WHERE session_id = @sessionId AND settled_at IS NULL
      UNION ALL SELECT rowid FROM clusters WHERE settled_at > @position AND session_id = @sessionId)
    AND seq_first < @graduatedSeq ORDER BY root_id`.map(storedCluster);
  readonly #hasClusters = this.statement<[sessionId: string], number>`
    SELECT EXISTS (SELECT 1 FROM clusters WHERE session_id = ?)`.pluck().one;
  readonly #database: StoreDatabase;
  readonly #sources: LogSources;
  readonly #titles: DeriveOptions;
  /** The least recently used first. */
  readonly #known = new Map<string, { stamp: string; forest: PastForest }>();

  constructor(database: StoreDatabase, paths: PathRepository, sources: LogSources, titles: DeriveOptions) {
    super(database, paths);
    this.#database = database;
    this.#sources = sources;
    this.#titles = titles;
  }

  /** Undefined for a session whose open clusters and themes are rows: see `PathRepository.grower`. */
  of(sessionId: string): PastForest | undefined {
    if (this.paths.grower(sessionId) !== undefined) return undefined;
    const { id, rewriteCount } = this.#sources.generations.newest()!;
    const stamp = `${id} ${rewriteCount} ${this.#database.rollbackCount}`;
    const known = this.#known.get(sessionId);
    const forest = known?.stamp === stamp ? known.forest : this.#make(sessionId);
    this.#known.delete(sessionId);
    this.#known.set(sessionId, { stamp, forest });
    const [oldest] = this.#known.keys();
    if (this.#known.size > FORESTS_MAX) this.#known.delete(oldest!);
    return forest;
  }

  #make(sessionId: string): PastForest {
    const past = this.paths.past(sessionId);
    const at = { sessionId, position: past.at(-1)!.logPosition };
    return new PastForest(
      () => this.#open(at, past),
      () => themesAt(this.#sources, at).themes,
      this.#sources.unions,
      at,
    );
  }

  #open(at: Place, past: Path): StoredCluster[] {
    const holder = past.findLast(({ sessionId }) => this.#hasClusters(sessionId) === 1);
    if (holder === undefined) return [];
    const { sessionId, logPosition: position } = holder;
    const stored = this.#openAt.all({ sessionId, position, graduatedSeq: this.#graduatedSeq(at.sessionId) });
    return stored.map((cluster) => {
      const isAsThen = cluster.logPosition <= position;
      const state = isAsThen ? cluster : clusterAt(this.#sources, at, cluster.cluster.root, this.#titles);
      return { ...state, settledAt: null, subjectRoot: null };
    });
  }
}

/** The open clusters and the themes of a fork as they were when it began. They are made when they are first read. */
export class PastForest {
  readonly #makeOpen: () => StoredCluster[];
  readonly #makeThemes: () => GrowingTheme[];
  readonly #unions: UnionRepository;
  readonly #at: Place;
  #open: readonly StoredCluster[] | undefined;
  #themes: readonly GrowingTheme[] | undefined;

  constructor(makeOpen: () => StoredCluster[], makeThemes: () => GrowingTheme[], unions: UnionRepository, at: Place) {
    this.#makeOpen = makeOpen;
    this.#makeThemes = makeThemes;
    this.#unions = unions;
    this.#at = at;
  }

  /** Oldest root first. */
  get open(): readonly StoredCluster[] {
    this.#open ??= this.#makeOpen();
    return this.#open;
  }

  /** Oldest root first. */
  get themes(): readonly GrowingTheme[] {
    this.#themes ??= this.#makeThemes();
    return this.#themes;
  }

  /** Returns a function that finds the theme of a cluster. */
  themeFinder(): (clusterRoot: number) => number {
    const themeOf = themeFinder(this.#unions, this.#at.sessionId);
    return (clusterRoot) => themeOf(clusterRoot, this.#at.position + 1);
  }
}

/** Makes a cluster as it was at a log position, when it was open, from its members. */
export function clusterAt(
  { messages, unions, generations }: LogSources,
  { sessionId, position }: Place,
  root: number,
  { titleOf, titleTextChars }: DeriveOptions,
): ClusterState {
  const entries = unions.entriesOf({ sessionId, root, from: 0, position });
  const steps = soundSteps(
    messages,
    entries.map(({ stepId }) => stepId),
  );
  const [first, ...others] = steps;
  if (first === undefined || steps.length < entries.length) {
    throw new DamageError(`cluster ${root} has ${entries.length} steps by the log, and ${steps.length} are found`);
  }
  const cluster = startCluster(first.features, generations.newest()!.dimension);
  for (const { features } of others) joinCluster(cluster, features);
  const openings = steps.flatMap((step) => step.messages);
  const label = titleOf(
    openings.map(({ role, text }) => ({ role, text: text.slice(0, titleTextChars) })),
    messages.askedBefore(titleTextChars, root),
  );
  return { cluster, label, logPosition: entries.at(-1)!.position };
}

/** Makes the themes of a session as they were at a log position, from the newest checkpoint before it. */
export function themesAt(
  { messages, unions, generations, frontierMoves }: LogSources,
  { sessionId, position }: Place,
): { themes: GrowingTheme[]; rowCount: number } {
  const checkpoint = frontierMoves.checkpoint(sessionId, position);
  const themeOf = themeFinder(unions, sessionId);
  const replay = new ThemeReplay(generations.newest()!.dimension, checkpoint?.themes ?? [], themeOf);
  let from = checkpoint?.logPosition ?? 0;
  let rowCount = 0;
  for (;;) {
    const rows = unions.between({ sessionId, from, position, limit: REPLAY_ROWS });
    const entering = rows.filter(({ kind }) => kind === "start" || kind === "join").map(({ node }) => node);
    const steps = soundSteps(messages, entering);
    const featuresOf = new Map(steps.map(({ features }) => [features.id, features]));
    const lost = entering.find((stepId) => !featuresOf.has(stepId));
    if (lost !== undefined) throw new DamageError(`step ${lost} of the log has no messages`);
    for (const row of rows) replay.apply(row, featuresOf.get(row.node));
    rowCount += rows.length;
    if (rows.length < REPLAY_ROWS) break;
    from = rows.at(-1)!.id;
  }
  const themes = [...replay.themes.values()].sort((left, right) => left.theme.root - right.theme.root);
  return { themes, rowCount };
}

/** @throws {DamageError} if a message is damaged: whole rows are read, too, so that their checksums are compared. */
function soundSteps(messages: MessageRepository, stepIds: readonly number[]): EnteringStep[] {
  messages.ofSteps(stepIds);
  return enteringSteps(messages.graduatingOf(stepIds), -1);
}

/** Returns a function that finds the root of a cluster's theme before a log position. */
function themeFinder(unions: UnionRepository, sessionId: string): (cluster: number, before: number) => number {
  const absorbed = new Map<number, { position: number; root: number } | undefined>();
  return (cluster, before) => {
    let position = 0;
    for (let root = cluster; ; ) {
      if (!absorbed.has(root)) absorbed.set(root, unions.absorbedAt({ sessionId, root }));
      const unite = absorbed.get(root);
      if (unite === undefined || unite.position >= before) return root;
      // Damaged rows can form a circle.
      if (unite.position <= position) throw new DamageError(`theme ${root} was absorbed before it absorbed another`);
      ({ root, position } = unite);
    }
  };
}
