import type { SaveFailure } from "../ann/index-file.ts";
import type { IndexState } from "../ann/nearest-clusters.ts";
import { StoreError } from "../core/errors.ts";
import { advice, databaseFindings, type Finding, fileFindings, ok, problem } from "../store/index.ts";
import { dueClusterCount } from "../summaries/clusters.ts";
import type { SessionPorts } from "./ports.ts";
import type { DoctorOptions } from "./store.ts";

const INDEX_FIX = "`await session.resolveDirty()` writes it. Each further call adds more clusters.";

const SAVE_FIXES: Readonly<Record<SaveFailure["cause"], string>> = {
  "disk full": "Make room for it on the disk of the store.",
  "no permission": "Give this user the right to write to the folder of the store.",
  other: INDEX_FIX,
};

export function examine(ports: SessionPorts, { deep }: Required<DoctorOptions>): Finding[] {
  const { repositories, nearest } = ports;
  const { database } = repositories;
  database.assertOpen();
  const findings = fileFindings(database.path, !database.readonly);
  try {
    findings.push(...database.read(() => rowFindings(ports, deep)));
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    return [refusal("integrity", error), ...findings];
  }
  // `nearest.state()` reads every centroid. If a centroid is damaged, the other findings are still reported.
  try {
    findings.push(indexFinding(nearest.state()));
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    findings.push(refusal("index", error));
  }
  return findings;
}

function rowFindings(
  { repositories, embedder, summarizer, claimant, clock }: SessionPorts,
  isDeep: boolean,
): Finding[] {
  const asker = { summarizerId: summarizer.id, promptVersion: summarizer.promptVersion, claimant, nowMs: clock() };
  const sessionIds: string[] = [];
  let clusterCount = 0;
  for (const sessionId of repositories.sessions.ids()) {
    const { settings } = repositories.sessions.byId(sessionId)!;
    if (settings.strategy !== "union-find") continue; // other strategies show no clusters
    const count = dueClusterCount({ repositories, sessionId, settings, summarizer }, asker);
    if (count > 0) sessionIds.push(sessionId);
    clusterCount += count;
  }
  return databaseFindings(repositories, embedder.id, { clusterCount, sessionIds }, isDeep);
}

/** Reports why a store cannot be opened, and examines its file. */
export function examineUnopened(error: StoreError): Finding[] {
  // The permissions of another program's file are not examined.
  const path = "path" in error.details && error.code !== "NOT_A_STORE" ? error.details.path : undefined;
  const findings = path === undefined ? [] : fileFindings(path, false);
  return [refusal("open", error), ...findings.filter(({ text }) => text !== error.message)];
}

function refusal(check: "open" | "integrity" | "index", { message, hint }: StoreError): Finding {
  return problem(check, message, hint ?? "Fix this problem, then try again.");
}

function indexFinding(state: IndexState): Finding {
  const { indexedCount, comparedCount, waitingCount, isWorthIndexing, libraryError, refusal, saveFailure } = state;
  const compared = `${formatted(comparedCount)} ${comparedCount === 1 ? "cluster is" : "clusters are"} compared one by one`;
  if (!isWorthIndexing)
    return ok("index", `${comparedCount === 0 ? "No cluster is there yet" : compared}: too few for an index.`);
  if (libraryError !== undefined) {
    const text = `${compared}, which is exact. An index would be faster, but hnswlib-node cannot be loaded: ${libraryError}.`;
    return advice(
      "index",
      text,
      "With a C++ toolchain, run: npm install --allow-scripts=hnswlib-node hnswlib-node (with -g if Coppice was installed so)",
    );
  }
  if (saveFailure !== undefined) {
    const text = `The index file could not be written: ${saveFailure.reason}.`;
    return advice("index", text, SAVE_FIXES[saveFailure.cause]);
  }
  if (refusal !== undefined) {
    return advice("index", `The index file is not used: ${refusal}. So ${compared}.`, INDEX_FIX);
  }
  if (indexedCount === 0) return advice("index", `There is no index file yet, so ${compared}.`, INDEX_FIX);
  const held = `The index holds ${formatted(indexedCount)} clusters; ${compared}`;
  if (waitingCount >= indexedCount) return advice("index", `${held}, and most of them could be in it.`, INDEX_FIX);
  return ok("index", `${held}.`);
}

function formatted(count: number): string {
  return count.toLocaleString("en-US");
}
