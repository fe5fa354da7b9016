import type { TokenCounter } from "../core/tokens.ts";
import { ActionRepository } from "./actions.ts";
import { ArtifactRepository } from "./artifacts.ts";
import { CentroidRepository } from "./centroids.ts";
import { ClusterRepository } from "./clusters.ts";
import { CostRepository } from "./costs.ts";
import { EntryRepository } from "./entries.ts";
import { EvidenceRepository } from "./evidence.ts";
import { FactRowRepository } from "./fact-rows.ts";
import type { DeriveOptions } from "./features.ts";
import { FrontierMoveRepository } from "./frontier-moves.ts";
import { FullTextRepository } from "./full-text.ts";
import { GenerationRepository } from "./generations.ts";
import { ImportedFileRepository } from "./imported-files.ts";
import { ItemRepository } from "./items.ts";
import { MessageRepository } from "./messages.ts";
import type { StoreDatabase } from "./open.ts";
import { OriginRepository } from "./origins.ts";
import { PastForests } from "./past-forests.ts";
import { PathRepository } from "./paths.ts";
import { PendingVectorRepository } from "./pending-vectors.ts";
import { PushedRowRepository } from "./pushed-rows.ts";
import { ReembeddingRepository } from "./reembedding.ts";
import { SequenceRepository } from "./sequences.ts";
import { SessionRepository } from "./sessions.ts";
import { SpanRepository } from "./spans.ts";
import { StoreSettingRepository } from "./store-settings.ts";
import { SubjectRepository } from "./subjects.ts";
import { SummaryRepository } from "./summaries.ts";
import { ThemeRepository } from "./themes.ts";
import { TombstoneRepository } from "./tombstones.ts";
import { TraceRepository } from "./traces.ts";
import { UnionRepository } from "./unions.ts";

export type Repositories = ReturnType<typeof makeRepositories>;

/**
 * @param tokenCounter  Counts the tokens of messages when they are read.
 * @param titles  Makes the titles of clusters that are read and have no rows.
 */
export function makeRepositories(database: StoreDatabase, tokenCounter: TokenCounter, titles: DeriveOptions) {
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
  const themes = new ThemeRepository(database, paths, unions, pastForests);
  return {
    database,
    ...sources,
    sessions: new SessionRepository(database, paths, themes, items),
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
    evidence: new EvidenceRepository(database),
    fullText: new FullTextRepository(database),
    reembedding: new ReembeddingRepository(database),
    importedFiles: new ImportedFileRepository(database),
    settings,
    factRows: new FactRowRepository(database),
    pushedRows: new PushedRowRepository(database),
    sequences: new SequenceRepository(database),
    entries: new EntryRepository(database, paths),
    items,
    tombstones,
    traces: new TraceRepository(database),
    origins: new OriginRepository(database, tombstones),
  };
}
