import type { TokenCounter } from "../core/tokens.ts";
import { ArtifactRepository } from "./artifacts.ts";
import { CentroidRepository } from "./centroids.ts";
import { ClusterRepository } from "./clusters.ts";
import { CostRepository } from "./costs.ts";
import { EntryRepository } from "./entries.ts";
import { EvidenceRepository } from "./evidence.ts";
import { FactRowRepository } from "./fact-rows.ts";
import { FrontierMoveRepository } from "./frontier-moves.ts";
import { FullTextRepository } from "./full-text.ts";
import { GenerationRepository } from "./generations.ts";
import { ImportedFileRepository } from "./imported-files.ts";
import { ItemRepository } from "./items.ts";
import { MessageRepository } from "./messages.ts";
import type { StoreDatabase } from "./open.ts";
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
import { UnionRepository } from "./unions.ts";

export type Repositories = ReturnType<typeof makeRepositories>;

/** @param tokenCounter  Counts the tokens of messages when they are read. */
export function makeRepositories(database: StoreDatabase, tokenCounter: TokenCounter) {
  const artifacts = new ArtifactRepository(database);
  const costs = new CostRepository(database);
  const settings = new StoreSettingRepository(database);
  const paths = new PathRepository(database);
  return {
    database,
    generations: new GenerationRepository(database),
    sessions: new SessionRepository(database, paths),
    artifacts,
    paths,
    messages: new MessageRepository(database, artifacts, tokenCounter, paths),
    pendingVectors: new PendingVectorRepository(database, paths),
    unions: new UnionRepository(database, paths),
    clusters: new ClusterRepository(database, paths),
    centroids: new CentroidRepository(database),
    themes: new ThemeRepository(database, paths),
    frontierMoves: new FrontierMoveRepository(database, paths),
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
    items: new ItemRepository(database),
    tombstones: new TombstoneRepository(database, settings),
  };
}
