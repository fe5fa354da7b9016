import type { TokenCounter } from "../core/tokens.ts";
import { ActionRepository } from "./derived/actions.ts";
import { AwakeSessionRepository } from "./derived/awake-sessions.ts";
import { CentroidRepository } from "./derived/centroids.ts";
import { ClusterRepository } from "./derived/clusters.ts";
import { CostRepository } from "./derived/costs.ts";
import { EvidenceRepository } from "./derived/evidence.ts";
import { FrontierMoveRepository } from "./derived/frontier-moves.ts";
import { FullTextRepository } from "./derived/full-text.ts";
import { type DeriveOptions, PastForests } from "./derived/past-forests.ts";
import { PendingVectorRepository } from "./derived/pending-vectors.ts";
import { ReembeddingRepository } from "./derived/reembedding.ts";
import { SessionOverviewRepository, type SessionTitles } from "./derived/session-overviews.ts";
import { SubjectRepository } from "./derived/subjects.ts";
import { SummaryRepository } from "./derived/summaries.ts";
import { ThemeRepository } from "./derived/themes.ts";
import { UnionRepository } from "./derived/unions.ts";
import { ArtifactRepository } from "./facts/artifacts.ts";
import { EntryRepository } from "./facts/entries.ts";
import { FactRowRepository } from "./facts/fact-rows.ts";
import { GenerationRepository } from "./facts/generations.ts";
import { ImportedFileRepository } from "./facts/imported-files.ts";
import { ItemRepository } from "./facts/items.ts";
import { MessageRepository } from "./facts/messages.ts";
import { OriginRepository } from "./facts/origins.ts";
import { PathRepository } from "./facts/paths.ts";
import { RememberedRepository } from "./facts/remembered.ts";
import { SessionRepository } from "./facts/sessions.ts";
import { SpanRepository } from "./facts/spans.ts";
import { TombstoneRepository } from "./facts/tombstones.ts";
import { TraceRepository } from "./facts/traces.ts";
import type { StoreDatabase } from "./file/open.ts";
import { SequenceRepository } from "./file/sequences.ts";
import { StoreSettingRepository } from "./file/store-settings.ts";

export type Repositories = ReturnType<typeof makeRepositories>;

/**
 * @param tokenCounter  Counts the tokens of messages when they are read.
 * @param titles  Makes the titles of sessions, and of clusters that are read and have no rows.
 */
export function makeRepositories(
  database: StoreDatabase,
  tokenCounter: TokenCounter,
  titles: DeriveOptions & SessionTitles,
) {
  const artifacts = new ArtifactRepository(database);
  const costs = new CostRepository(database);
  const settings = new StoreSettingRepository(database);
  const tombstones = new TombstoneRepository(database, settings);
  const paths = new PathRepository(database);
  const generations = new GenerationRepository(database);
  const messages = new MessageRepository(database, artifacts, tokenCounter, paths);
  const unions = new UnionRepository(database, paths);
  const frontierMoves = new FrontierMoveRepository(database, paths);
  const sources = { generations, messages, unions, frontierMoves };
  const pastForests = new PastForests(database, paths, sources, titles);
  const items = new ItemRepository(database);
  const themes = new ThemeRepository(database, paths, pastForests);
  return {
    database,
    ...sources,
    sessions: new SessionRepository(database),
    overviews: new SessionOverviewRepository(database, paths, themes, items, titles),
    awake: new AwakeSessionRepository(database),
    artifacts,
    actions: new ActionRepository(database, messages, settings),
    paths,
    pendingVectors: new PendingVectorRepository(database, paths),
    clusters: new ClusterRepository(database, paths, pastForests),
    centroids: new CentroidRepository(database, generations),
    themes,
    subjects: new SubjectRepository(database),
    summaries: new SummaryRepository(database, costs),
    spans: new SpanRepository(database, paths),
    costs,
    evidence: new EvidenceRepository(database, paths),
    fullText: new FullTextRepository(database),
    reembedding: new ReembeddingRepository(database),
    importedFiles: new ImportedFileRepository(database),
    settings,
    factRows: new FactRowRepository(database),
    sequences: new SequenceRepository(database),
    entries: new EntryRepository(database, paths),
    remembered: new RememberedRepository(database),
    items,
    tombstones,
    traces: new TraceRepository(database),
    origins: new OriginRepository(database, tombstones),
  };
}
