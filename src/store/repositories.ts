import type { TokenCounter } from "../core/tokens.ts";
import { ArtifactRepository } from "./artifacts.ts";
import { CentroidRepository } from "./centroids.ts";
import { ClusterRepository } from "./clusters.ts";
import { CostRepository } from "./costs.ts";
import { EvidenceRepository } from "./evidence.ts";
import { FullTextRepository } from "./full-text.ts";
import { GenerationRepository } from "./generations.ts";
import { ImportedFileRepository } from "./imported-files.ts";
import { MessageRepository } from "./messages.ts";
import type { StoreDatabase } from "./open.ts";
import { PendingVectorRepository } from "./pending-vectors.ts";
import { ReembeddingRepository } from "./reembedding.ts";
import { SessionRepository } from "./sessions.ts";
import { SpanRepository } from "./spans.ts";
import { SubjectRepository } from "./subjects.ts";
import { SummaryRepository } from "./summaries.ts";
import { ThemeRepository } from "./themes.ts";
import { UnionRepository } from "./unions.ts";

/** The rows of one store file. */
export class Repositories {
  readonly database;
  readonly generations;
  readonly sessions;
  readonly artifacts;
  readonly messages;
  readonly pendingVectors;
  readonly unions;
  readonly clusters;
  readonly centroids;
  readonly themes;
  readonly subjects;
  readonly summaries;
  readonly spans;
  readonly costs;
  readonly evidence;
  readonly fullText;
  readonly reembedding;
  readonly importedFiles;

  /** @param tokenCounter  Counts the tokens of messages when they are read. */
  constructor(database: StoreDatabase, tokenCounter: TokenCounter) {
    this.database = database;
    this.generations = new GenerationRepository(database);
    this.sessions = new SessionRepository(database);
    this.artifacts = new ArtifactRepository(database);
    this.messages = new MessageRepository(database, this.artifacts, tokenCounter);
    this.pendingVectors = new PendingVectorRepository(database);
    this.unions = new UnionRepository(database);
    this.clusters = new ClusterRepository(database);
    this.centroids = new CentroidRepository(database, this.unions);
    this.themes = new ThemeRepository(database);
    this.subjects = new SubjectRepository(database);
    this.costs = new CostRepository(database);
    this.summaries = new SummaryRepository(database, this.costs);
    this.spans = new SpanRepository(database, this.costs);
    this.evidence = new EvidenceRepository(database);
    this.fullText = new FullTextRepository(database);
    this.reembedding = new ReembeddingRepository(database);
    this.importedFiles = new ImportedFileRepository(database);
  }
}
