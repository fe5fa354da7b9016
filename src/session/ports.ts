import { NearestClusters } from "../ann/nearest-clusters.ts";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import type { TokenCounter } from "../core/tokens.ts";
import type { EmbedderTerms } from "../ingest/graduate.ts";
import { TailIndexer } from "../ingest/index-texts.ts";
import { VectorCollector } from "../ingest/vector-collector.ts";
import type { Embedder } from "../models/embedder.ts";
import type { Summarizer } from "../models/summarizer.ts";
import { TITLES } from "../models/title.ts";
import { MessageVectors } from "../recall/message-vectors.ts";
import { makeRepositories, newClaimant, type Repositories, type StoreDatabase, similarityOf } from "../store/index.ts";
import { Upkeep } from "./upkeep.ts";

/** The most sessions whose state and last context stay in memory. */
const RESIDENT_MAX = 64;

export interface ChosenPorts {
  embedder: Embedder;
  summarizer: Summarizer;
  tokenCounter: TokenCounter;
  clock: Clock;
}

export class SessionPorts implements ChosenPorts {
  readonly repositories: Repositories;
  /** Changed by `reembed`. */
  embedder: Embedder;
  readonly summarizer: Summarizer;
  readonly tokenCounter: TokenCounter;
  readonly clock: Clock;
  /** Identifies this open store in claims. */
  readonly claimant = newClaimant();
  readonly closing: AbortSignal;
  /** Counts changes that the sessions in memory would not notice otherwise, such as new settings and rebuilds. */
  readonly changes = { count: 0 };
  /** When this process last changed a session, in Unix milliseconds, by session id. Messages may have older dates. */
  readonly changedAtMs = new Map<string, number>();
  readonly nearest: NearestClusters;
  readonly messageVectors: MessageVectors;
  readonly vectors: VectorCollector;
  readonly upkeep: Upkeep;
  readonly tailIndexer: TailIndexer;
  /** The least recently used first. */
  readonly #resident = new Set<{ release(): void }>();
  #newest: object | undefined;
  #placing: { terms: EmbedderTerms; dataVersion: number } | undefined;

  constructor(database: StoreDatabase, chosen: ChosenPorts, closing: AbortSignal) {
    this.embedder = chosen.embedder;
    this.summarizer = chosen.summarizer;
    this.tokenCounter = chosen.tokenCounter;
    this.clock = chosen.clock;
    this.closing = closing;
    const repositories = makeRepositories(database, chosen.tokenCounter, TITLES);
    this.repositories = repositories;
    this.nearest = new NearestClusters(repositories.centroids, database);
    this.messageVectors = new MessageVectors(repositories, this.nearest);
    this.vectors = new VectorCollector({ repositories, inUse: this, clock: chosen.clock, changes: this.changes });
    this.upkeep = new Upkeep(this);
    this.tailIndexer = new TailIndexer(repositories);
  }

  /** Uses another embedder from now on. The store must have its generation. */
  useEmbedder(embedder: Embedder): void {
    this.embedder = embedder;
    this.#placing = undefined;
    this.changes.count += 1;
  }

  /** By what steps are placed in the forest. A cosine that was chosen for the forest in use counts instead of the embedder's own. */
  get placing(): EmbedderTerms {
    return this.placingAt(this.repositories.database.dataVersion());
  }

  /** The same for one who knows the data version, which takes locks of the file to read. Another process may have chosen a cosine since. */
  placingAt(dataVersion: number): EmbedderTerms {
    if (this.#placing?.dataVersion !== dataVersion) {
      const { id, similarityMin } = this.embedder;
      const terms = { id, similarityMin: similarityOf(this.repositories, id) ?? similarityMin };
      this.#placing = { terms, dataVersion };
    }
    return this.#placing.terms;
  }

  /** @throws {StoreError} `OPTION_INVALID`. */
  signalOf(given: AbortSignal | undefined): AbortSignal {
    if (given !== undefined && !(given instanceof AbortSignal))
      throw new StoreError("OPTION_INVALID", { option: "signal", expected: "an AbortSignal", actual: given });
    return given === undefined ? this.closing : AbortSignal.any([given, this.closing]);
  }

  /** Records a use of a session. If too many are in memory, the least recently used session is released. */
  touch(session: { release(): void }): void {
    if (session === this.#newest) return;
    this.#newest = session;
    this.#resident.delete(session);
    this.#resident.add(session);
    if (this.#resident.size <= RESIDENT_MAX) return;
    const [oldest] = this.#resident;
    this.#resident.delete(oldest!);
    oldest!.release();
  }
}
