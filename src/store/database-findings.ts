import { VERSION } from "../core/version.ts";
import { advice, type Finding, ok, problem } from "./finding.ts";
import type { Repositories } from "./repositories.ts";
import { isOfFullText } from "./verify-full-text.ts";

/** The most faults of a damaged file that are named. `verify` names more. */
const FAULTS_MAX = 3;

/** Messages that a search can read one by one without being slow: about 15 ms. */
const TAIL_MAX = 2_000;

/** The themes whose summaries are due, as `resolveDirty` sees them. */
export interface DirtyCount {
  themeCount: number;
  /** The sessions that have such themes. */
  sessionIds: readonly string[];
}

/** Checks the rows of an open store. Reads every page, and changes none. */
export function databaseFindings(repositories: Repositories, embedderId: string, dirty: DirtyCount): Finding[] {
  return [
    versionFinding(repositories),
    integrityFinding(repositories),
    embedderFinding(repositories, embedderId),
    vectorFinding(repositories),
    summaryFinding(repositories, dirty),
    fullTextFinding(repositories),
  ];
}

function versionFinding({ database: { client } }: Repositories): Finding {
  const format = client.pragma("user_version", { simple: true });
  const sqlite = client.prepare<[], string>("SELECT sqlite_version()").pluck().get();
  return ok("versions", `Coppice ${VERSION}, file format ${format}, SQLite ${sqlite}, Node ${process.versions.node}.`);
}

function integrityFinding({ database: { client } }: Repositories): Finding {
  // A list of broken pages begins with a line that names the database.
  const faults = (client.pragma(`quick_check(${FAULTS_MAX})`) as { quick_check: string }[]).flatMap((row) =>
    row.quick_check.split("\n").filter((line) => !line.startsWith("***")),
  );
  if (faults.every((fault) => fault === "ok" || isOfFullText(fault))) return ok("integrity", "Every page can be read.");
  const text = `The file is damaged: ${faults.join("; ")}.`;
  return problem("integrity", text, "Save what can be read with `coppice export`, then restore a backup.");
}

function embedderFinding({ generations }: Repositories, embedderId: string): Finding {
  const stored = generations.newest()?.embedderId;
  if (stored === undefined) return ok("embedder", "Nothing has been embedded yet.");
  if (stored === embedderId) return ok("embedder", `The forest is grown with ${stored}.`);
  const text = `The forest is grown with ${stored}, and the store was opened with ${embedderId}: it can be read only.`;
  return problem("embedder", text, `Open it with the embedder ${stored} to append.`);
}

function vectorFinding({ database: { client }, pendingVectors }: Repositories): Finding {
  const { pendingVectorCount, pendingVectorsSinceMs, failedVectorCount } = pendingVectors.stats();
  if (pendingVectorCount === 0 && failedVectorCount === 0) return ok("vectors", "No message waits for its vector.");
  const last = client
    .prepare<[], string>(
      "SELECT error FROM pending_vectors WHERE error IS NOT NULL ORDER BY next_try_at_ms DESC LIMIT 1",
    )
    .pluck()
    .get();
  const since = pendingVectorsSinceMs === null ? "" : `, since ${new Date(pendingVectorsSinceMs).toISOString()}`;
  const text = [
    `${counted(pendingVectorCount, "message")} ${pendingVectorCount === 1 ? "waits" : "wait"} for a vector${since}; for ${failedVectorCount} the last try failed.`,
    ...(last === undefined ? [] : [`The last error: ${last}`]),
  ].join(" ");
  if (pendingVectorCount === 0) return ok("vectors", text);
  return advice(
    "vectors",
    text,
    "`await store.embedPending()`, with the embedder of the store. Until then, searches find them by their words only.",
  );
}

function summaryFinding({ database: { client } }: Repositories, { themeCount, sessionIds }: DirtyCount): Finding {
  if (themeCount === 0) return ok("summaries", "Every theme that is worth a summary has one.");
  const ids = JSON.stringify(sessionIds);
  const { messageCount, tokenCount } = client
    .prepare<[string], { messageCount: number; tokenCount: number }>(
      `SELECT count(*) AS messageCount, coalesce(sum(token_count), 0) AS tokenCount FROM uncovered
       WHERE session_id IN (SELECT value FROM json_each(?))`,
    )
    .get(ids)!;
  const bareCount = client
    .prepare<[string], number>(
      `SELECT count(*) FROM json_each(?) s
       WHERE NOT EXISTS (SELECT 1 FROM summaries WHERE session_id = s.value AND status = 'done')`,
    )
    .pluck()
    .get(ids);
  const lastError = client
    .prepare<[string], string>(
      `SELECT error FROM summaries f WHERE status IN ('failed', 'parked') AND session_id IN (SELECT value FROM json_each(?))
       AND NOT EXISTS (SELECT 1 FROM summaries d WHERE d.root_id = f.root_id AND d.status = 'done' AND d.stands_in = 0 AND d.id > f.id)
       ORDER BY id DESC LIMIT 1`,
    )
    .pluck()
    .get(ids);
  const text = [
    `${counted(themeCount, "theme")} in ${counted(sessionIds.length, "session")} need a summary; ${bareCount} of these sessions ${bareCount === 1 ? "has" : "have"} none at all.`,
    `${counted(messageCount, "message")} (${counted(tokenCount, "token")}) are in no summary.`,
    ...(lastError === undefined ? [] : [`The last try failed: ${lastError}.`]),
  ];
  return advice(
    "summaries",
    text.join(" "),
    "`await session.resolveDirty()` in each of them, or an import, which does this at its end.",
  );
}

function fullTextFinding({ database: { client }, fullText }: Repositories): Finding {
  const faults = (client.pragma("integrity_check(messages_fts)") as { integrity_check: string }[]).filter(
    ({ integrity_check }) => integrity_check !== "ok",
  );
  if (faults.length > 0) {
    const text = `The full-text index is damaged: ${faults[0]!.integrity_check}.`;
    return problem("full-text", text, "`coppice verify --rebuild` makes it again.");
  }
  const tailCount = fullText.tailCount();
  const are = `${counted(tailCount, "message")} ${tailCount === 1 ? "is" : "are"}`;
  const text = `${are} not in the full-text index yet; a search reads such messages one by one.`;
  if (tailCount > TAIL_MAX) {
    return advice("full-text", text, "`await session.resolveDirty()` in any session, or `coppice verify --rebuild`.");
  }
  return ok("full-text", tailCount === 0 ? "Every message is in the full-text index." : text);
}

function counted(count: number, one: string): string {
  return `${count.toLocaleString("en-US")} ${one}${count === 1 ? "" : "s"}`;
}
