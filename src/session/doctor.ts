import type { NearestClusters } from "../ann/nearest-clusters.ts";
import { StoreError } from "../core/errors.ts";
import { databaseFindings } from "../store/database-findings.ts";
import { fileFindings } from "../store/file-findings.ts";
import { type Finding, problem } from "../store/finding.ts";
import type { Repositories } from "../store/repositories.ts";
import { dirtyRoots } from "../summaries/dirty.ts";
import { indexFinding } from "./index-finding.ts";

/** What an open store is like: its file, then its rows, as far as they can be read. */
export function examine(repositories: Repositories, embedderId: string, nearest: NearestClusters): Finding[] {
  const { database } = repositories;
  database.assertOpen();
  const findings = fileFindings(database.path, !database.readonly);
  try {
    findings.push(...database.read(() => rowFindings(repositories, embedderId)));
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    return [refusal("integrity", error), ...findings];
  }
  // On its own: the index reads every centroid, and a damaged one is no reason to keep back what else was found.
  try {
    findings.push(indexFinding(nearest.state()));
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    findings.push(refusal("index", error));
  }
  return findings;
}

function rowFindings(repositories: Repositories, embedderId: string): Finding[] {
  const { sessions } = repositories;
  const wanting = sessions
    .ids()
    .map((id) => ({ id, settings: sessions.byId(id)!.settings }))
    .filter(({ settings }) => settings.strategy === "union-find") // others show no themes
    .map(({ id, settings }) => ({ id, themeCount: dirtyRoots(repositories, id, settings).dirty.length }))
    .filter(({ themeCount }) => themeCount > 0);
  return databaseFindings(repositories, embedderId, {
    themeCount: wanting.reduce((sum, { themeCount }) => sum + themeCount, 0),
    sessionIds: wanting.map(({ id }) => id),
  });
}

/** Why a store cannot be opened, and what its file is like as far as that can be told from outside. */
export function examineUnopened(error: StoreError): Finding[] {
  // Of a file that is not ours, nobody has asked who may read it.
  const path = "path" in error.details && error.code !== "NOT_A_STORE" ? error.details.path : undefined;
  const findings = path === undefined ? [] : fileFindings(path, false);
  return [refusal("open", error), ...findings.filter(({ text }) => text !== error.message)];
}

function refusal(check: "open" | "integrity" | "index", { message, hint }: StoreError): Finding {
  return problem(check, message, hint ?? "Mend what is named here, then try again.");
}
