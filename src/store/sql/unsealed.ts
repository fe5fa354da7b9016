import { TABLES, type Table } from "./tables.ts";

/** The tables whose rows have checksums, with the columns that are not covered because they often change. */
export const UNSEALED: ReadonlyMap<Table, readonly string[]> = new Map<Table, readonly string[]>([
  [TABLES.sessions, ["frontierVersion"]],
  [TABLES.messages, ["parentId", "embedding", "embedderId", "storedText"]],
  [TABLES.unions, []],
  [TABLES.undoneUnions, []],
  [TABLES.sharedPasts, []],
  [TABLES.clusters, ["settledAt", "subjectParentId"]],
  [TABLES.themes, []],
  [TABLES.actions, []],
  [TABLES.entries, ["id"]],
  [TABLES.items, ["id"]],
  [TABLES.themeCheckpoints, ["id"]],
  [TABLES.forgottenMessages, ["sessionId"]],
  [TABLES.messageArtifacts, []],
  [TABLES.frontierMoves, []],
  [TABLES.discardedCosts, []],
  [TABLES.tombstones, []],
  [TABLES.storeSettings, []],
  [TABLES.generations, ["createdAtMs", "rewriteCount"]],
  [TABLES.summaries, ["claimedUntilMs"]],
]);
