import type { NearestClusters } from "../ann/nearest-clusters.ts";
import type { Clock } from "../core/clock.ts";
import type { TokenCounter } from "../core/tokens.ts";
import type { VectorCollector } from "../ingest/vector-collector.ts";
import type { Embedder } from "../models/embedder.ts";
import type { Summarizer } from "../models/summarizer.ts";
import type { Repositories } from "../store/repositories.ts";
import type { ActiveSessions } from "./active.ts";
import type { ResidentSessions } from "./resident.ts";
import type { Upkeep } from "./upkeep.ts";

/** What a session needs of the store that opened it. */
export interface SessionPorts {
  repositories: Repositories;
  embedder: Embedder;
  summarizer: Summarizer;
  tokenCounter: TokenCounter;
  clock: Clock;
  /** Names this very store among those that have the file open. */
  claimant: string;
  /** Aborted when the store closes. */
  closing: AbortSignal;
  /** Counts what this very connection changed behind its sessions' backs: settings, a rebuild. */
  changes: { count: number };
  resident: ResidentSessions;
  active: ActiveSessions;
  nearest: NearestClusters;
  vectors: VectorCollector;
  upkeep: Upkeep;
}
