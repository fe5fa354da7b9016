import { DamageError } from "../../core/damage.ts";
import { groupedBy } from "../../core/groups.ts";
import type { Role } from "../../core/message.ts";
import { once } from "../../core/once.ts";
import { joinCluster, type StepFeatures, startCluster } from "../../forest/cluster.ts";
import { type GrowingTheme, ThemeReplay } from "../../forest/growing-forest.ts";
import type { GenerationRepository } from "../facts/generations.ts";
import type { GraduatingMessage, MessageRepository, TitledMessage } from "../facts/messages.ts";
import { type Path, PathReader, type PathRepository } from "../facts/paths.ts";
import type { StoreDatabase } from "../file/open.ts";
import type { RowOf } from "../sql/statement.ts";
import { CLUSTER, type ClusterState, type StoredCluster, storedCluster } from "./cluster-rows.ts";
import type { FrontierMoveRepository } from "./frontier-moves.ts";
import type { UnionRepository } from "./unions.ts";

/** Rows of the log that are read and replayed at once, so that their vectors take little memory. */
const REPLAY_ROWS = 500;

/** One takes about 150 kB. */
const FORESTS_MAX = 32;

export interface LogSources {
  messages: MessageRepository;
  unions: UnionRepository;
  generations: GenerationRepository;
  frontierMoves: FrontierMoveRepository;
}

interface Place {
  sessionId: string;
  position: number;
}

/** The forest of a fork as it was when it began. Its parts are made when they are first read, oldest root first. */
interface PastForest {
  open: () => readonly StoredCluster[];
  themes: () => readonly GrowingTheme[];
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

/** Tells the themes of clusters in a session by its log. It is used within one snapshot. */
export class ThemeRoots {
  readonly #unions: UnionRepository;
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

/** The length of the part of a message that may name the person addressed. */
const OPENING_CHARS = 500;

export interface DeriveOptions {
  /** Returns the title of a cluster. `asked` is the user's message that began the turn of its root. */
  titleOf: (messages: readonly TitledMessage[], asked: TitledMessage | undefined) => string;
  /** How many characters of each message `titleOf` reads. */
  titleTextChars: number;
}

/** A step that is about to enter the forest. */
export interface EnteringStep {
  features: StepFeatures;
  role: Role;
  messageIds: number[];
  messages: TitledMessage[];
}

/**
 * Groups messages into steps, in order.
 *
 * @param rows  Whole steps, in order of seq, without pinned messages.
 * @param seqBefore  The seq of the last message that entered the forest before them; -1 if none did.
 */
export function enteringSteps(rows: readonly GraduatingMessage[], seqBefore: number): EnteringStep[] {
  for (const { id, text } of rows) {
    if (typeof text !== "string") throw new DamageError(`message ${id} has no text`); // its checksum is not compared
  }
  let before = seqBefore;
  return [...groupedBy(rows, ({ stepId }) => stepId).values()].map((messages) => {
    const first = messages[0]!;
    const last = messages.at(-1)!;
    const features: StepFeatures = {
      id: first.id,
      seqFirst: first.seq,
      seqLast: last.seq,
      seqBefore: before,
      messageCount: messages.length,
      tokenCount: messages.reduce((sum, { tokenCount }) => sum + tokenCount, 0),
      embeddings: messages.map(({ embedding }) => embedding ?? undefined),
      turn: first.turnSeq,
      goesOn: first.isRepeated === 1 || first.isSummary === 1,
      speaker: first.name ?? undefined,
      text: first.text.slice(0, OPENING_CHARS),
      createdAtMs: first.createdAtMs,
    };
    before = last.seq;
    const titled = messages.map(({ teller, told }) => ({ role: teller, text: told }));
    return { features, role: first.role, messageIds: messages.map(({ id }) => id), messages: titled };
  });
}
