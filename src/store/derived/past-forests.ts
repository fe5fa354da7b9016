import { DamageError } from "../../core/damage.ts";
import { once } from "../../core/once.ts";
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
import { ThemeRoots } from "./theme-roots.ts";
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

/** The forest of a fork as it was when it began. Its parts are made when they are first read, oldest root first. */
interface PastForest {
  open: () => readonly StoredCluster[];
  themes: () => readonly GrowingTheme[];
  /** Returns the root of a cluster's theme. */
  themeOf: (clusterRoot: number) => number;
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
    const roots = new ThemeRoots(this.#sources.unions, sessionId);
    return {
      open: once(() => this.#open(at, past)),
      themes: once(() => themesAt(this.#sources, at).themes),
      themeOf: (root) => roots.themeOf(root),
    };
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
  const roots = new ThemeRoots(unions, sessionId);
  const themeOf = (root: number, before: number) => roots.themeOf(root, before);
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

/** Some steps, in order of seq. @throws {DamageError} if a message is damaged: whole rows are read, too, so that their checksums are compared. */
export function soundSteps(messages: MessageRepository, stepIds: readonly number[]): EnteringStep[] {
  messages.ofSteps(stepIds);
  return enteringSteps(messages.graduatingOf(stepIds), -1);
}
