import { v7 as uuidv7 } from "uuid";
import { NearestClusters } from "../ann/nearest-clusters.ts";
import type { Clock } from "../core/clock.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { type EmbedderInUse, VectorCollector } from "../ingest/vector-collector.ts";
import type { Embedder } from "../models/embedder.ts";
import type { Summarizer } from "../models/summarizer.ts";
import type { StoreDatabase } from "../store/open.ts";
import { Repositories } from "../store/repositories.ts";
import { ActiveSessions } from "./active.ts";
import { ResidentSessions } from "./resident.ts";
import { Upkeep } from "./upkeep.ts";

/** The ports that the caller of `openStore` chose. */
export interface ChosenPorts {
  embedder: Embedder;
  summarizer: Summarizer;
  tokenCounter: TokenCounter;
  clock: Clock;
}

/** The parts of an open store that its sessions share. */
export class SessionPorts {
  readonly repositories: Repositories;
  readonly summarizer: Summarizer;
  readonly tokenCounter: TokenCounter;
  readonly clock: Clock;
  /** Identifies this open store in claims. */
  readonly claimant = uuidv7();
  /** Aborted when the store closes. */
  readonly closing: AbortSignal;
  /** Counts changes by this connection that its sessions would not notice otherwise, such as new settings and rebuilds. */
  readonly changes = { count: 0 };
  readonly resident = new ResidentSessions();
  readonly active = new ActiveSessions();
  readonly nearest: NearestClusters;
  readonly vectors: VectorCollector;
  readonly upkeep: Upkeep;
  readonly #inUse: EmbedderInUse;

  constructor(database: StoreDatabase, chosen: ChosenPorts, closing: AbortSignal) {
    const { embedder, summarizer, tokenCounter, clock } = chosen;
    const { changes, active } = this;
    const repositories = new Repositories(database, tokenCounter);
    const inUse = { embedder };
    const nearest = new NearestClusters(repositories.centroids, database);
    const vectors = new VectorCollector({ repositories, inUse, clock, changes });
    this.repositories = repositories;
    this.summarizer = summarizer;
    this.tokenCounter = tokenCounter;
    this.clock = clock;
    this.closing = closing;
    this.nearest = nearest;
    this.vectors = vectors;
    this.upkeep = new Upkeep({ repositories, inUse, clock, changes, active, nearest, vectors });
    this.#inUse = inUse;
  }

  get embedder(): Embedder {
    return this.#inUse.embedder;
  }

  /** Uses another embedder from now on. The store must have a generation of it. */
  useEmbedder(embedder: Embedder): void {
    this.#inUse.embedder = embedder;
    this.changes.count += 1;
  }

  /** Returns a signal that aborts with the caller's, and when the store closes. */
  signalOf(given: AbortSignal | undefined): AbortSignal {
    return given === undefined ? this.closing : AbortSignal.any([given, this.closing]);
  }
}
