import { byteLengthOf } from "../../core/files.ts";
import { heldTime } from "../../core/times.ts";
import { VERSION } from "../../core/version.ts";
import { isErasingDue } from "../changes/forget.ts";
import { undecidedSessions } from "../changes/hub-notes.ts";
import { isPlacedNow } from "../changes/new-generation.ts";
import { advice, type Finding, ok, problem } from "../file/finding.ts";
import { MIGRATIONS } from "../file/migrations.ts";
import type { Repositories } from "../repositories.ts";
import { isOfPages } from "../sql/row-check.ts";
import { scrubWhole } from "./scrub.ts";
import { isOfFullText } from "./verify-full-text.ts";

/** To read every page and row takes about 20 ms for each of these megabytes. */
const WHOLE_BYTES_MAX = 16 * 1024 * 1024;

const FAULTS_MAX = 3;
const SESSIONS_MAX = 5;

/** The newest SQLite that all tests ran with: that of the newest driver. Tests fail with a newer one. */
const SQLITE_TESTED = [3, 54] as const;

/** A search can read this many messages one by one in about 15 ms. */
const TAIL_MAX = 2_000;

/** The clusters whose summaries are due, and their sessions. */
export interface DueCount {
  clusterCount: number;
  sessionIds: readonly string[];
}

/** Checks an open store. Of a large file, reads every page only if `isDeep`. */
export function databaseFindings(
  repositories: Repositories,
  embedderId: string,
  due: DueCount,
  isDeep: boolean,
): Finding[] {
  const fileBytes = byteLengthOf(repositories.database.path);
  const isWhole = isDeep || fileBytes <= WHOLE_BYTES_MAX;
  return [
    versionFinding(repositories),
    isWhole ? integrityFinding(repositories) : unreadFinding(fileBytes),
    embedderFinding(repositories, embedderId),
    vectorFinding(repositories),
    summaryFinding(repositories, due),
    fullTextFinding(repositories, isWhole),
    ...hubFindings(repositories),
    ...erasingFindings(repositories),
  ];
}

function versionFinding({ database: { client } }: Repositories): Finding {
  const sqlite = client.prepare<[], string>("SELECT sqlite_version()").pluck().get()!;
  const text = `Coppice ${VERSION}, file format ${MIGRATIONS.length}, SQLite ${sqlite}, Node ${process.versions.node}.`;
  const [major = 0, minor = 0] = sqlite.split(".").map(Number);
  const [testedMajor, testedMinor] = SQLITE_TESTED;
  if (major < testedMajor || (major === testedMajor && minor <= testedMinor)) return ok("versions", text);
  return advice(
    "versions",
    `${text} This version of Coppice was tested with SQLite up to ${testedMajor}.${testedMinor}.`,
    "Nothing is wrong yet. If `coppice verify` finds a problem, look for a newer Coppice.",
  );
}

function integrityFinding(repositories: Repositories): Finding {
  // A list of broken pages begins with a line that names the database.
  const faults = scrubWhole(repositories).flatMap((fault) => fault.split("\n").filter((line) => !isOfPages(line)));
  if (faults.every(isOfFullText)) return ok("integrity", "Every page and every row can be read.");
  const text = `The file is damaged: ${faults.slice(0, FAULTS_MAX).join("; ")}.`;
  return problem(
    "integrity",
    text,
    "Save what can be read with `coppice export`, then restore a backup: `coppice restore FILE`.",
  );
}

function unreadFinding(fileBytes: number): Finding {
  const megabytes = Math.round(fileBytes / 1e6).toLocaleString("en-US");
  return ok(
    "integrity",
    `The file has ${megabytes} MB, so not every page was read. \`coppice doctor --deep\` reads them all.`,
  );
}

function embedderFinding(repositories: Repositories, embedderId: string): Finding {
  const stored = repositories.generations.newest()?.embedderId;
  if (stored === undefined) return ok("embedder", "Nothing has been embedded yet.");
  if (stored === embedderId && isPlacedNow(repositories)) return ok("embedder", `The forest is grown with ${stored}.`);
  if (stored === embedderId) {
    const text = `The forest is grown with ${stored}, by the rules of an older version of Coppice.`;
    return advice("embedder", text, "Run `coppice reembed`. Handles keep their meaning.");
  }
  const text = `The forest is grown with ${stored}, and the store was opened with ${embedderId}: it can be read only.`;
  return problem("embedder", text, `Open it with the embedder ${stored} to append.`);
}

function vectorFinding({ database: { client }, pendingVectors }: Repositories): Finding {
  const { pendingVectorCount, pendingVectorsSinceMs, failedVectorCount } = pendingVectors.stats();
  if (pendingVectorCount === 0 && failedVectorCount === 0) return ok("vectors", "No message waits for its vector.");
  const lastErrors = "SELECT error FROM pending_vectors WHERE error IS NOT NULL ORDER BY next_try_at_ms DESC LIMIT 1";
  const last = client.prepare<[], string>(lastErrors).pluck().get();
  const since =
    pendingVectorsSinceMs === null ? "" : `, since ${new Date(heldTime(pendingVectorsSinceMs)).toISOString()}`;
  const failure = last === undefined ? "" : ` The last error: ${last}`;
  const text = `${counted(pendingVectorCount, "message")} ${pendingVectorCount === 1 ? "waits" : "wait"} for a vector${since}; for ${failedVectorCount} the last try failed.${failure}`;
  if (pendingVectorCount === 0) return ok("vectors", text);
  const fix =
    "`await store.upkeep({ only: 'vectors' })`, with the embedder of the store. Until then, searches find them by their words only.";
  return advice("vectors", text, fix);
}

function summaryFinding({ database: { client } }: Repositories, { clusterCount, sessionIds }: DueCount): Finding {
  if (clusterCount === 0) return ok("summaries", "No summary is due.");
  const ids = JSON.stringify(sessionIds);
  const { messageCount, tokenCount, bareCount, lastError } = client
    .prepare<[string], { messageCount: number; tokenCount: number; bareCount: number; lastError: string | null }>(
      `WITH due(id) AS (SELECT value FROM json_each(?))
       SELECT count(*) AS messageCount, coalesce(sum(token_count), 0) AS tokenCount,
         (SELECT count(*) FROM due
          WHERE NOT EXISTS (SELECT 1 FROM summaries WHERE session_id = due.id AND status = 'done')) AS bareCount,
         (SELECT error FROM summaries WHERE status IN ('failed', 'parked') AND level = 'cluster' AND session_id IN due
          ORDER BY id DESC LIMIT 1) AS lastError
       FROM uncovered WHERE session_id IN due`,
    )
    .get(ids)!;
  const failure = lastError === null ? "" : ` The last try failed: ${lastError}.`;
  const text = `${counted(clusterCount, "cluster")} in ${counted(sessionIds.length, "session")} ${clusterCount === 1 ? "needs" : "need"} a summary; ${bareCount} of these sessions ${bareCount === 1 ? "has" : "have"} none at all. ${counted(messageCount, "message")} (${counted(tokenCount, "token")}) are in no summary.${failure}`;
  const fix = "`await session.resolveDirty()` in each of them. An import does it at its end, for talk without tools.";
  return advice("summaries", text, fix);
}

function fullTextFinding({ database: { client }, fullText }: Repositories, isWhole: boolean): Finding {
  const checked = isWhole ? (client.pragma("integrity_check(messages_fts)") as { integrity_check: string }[]) : [];
  const faults = checked.filter(({ integrity_check }) => integrity_check !== "ok");
  if (faults.length > 0) {
    const text = `The full-text index is damaged: ${faults[0]!.integrity_check}.`;
    return problem("full-text", text, "`coppice verify --rebuild` makes it again.");
  }
  const wrongClaim = fullText.wrongClaim();
  if (wrongClaim !== undefined) {
    return problem(
      "full-text",
      `The full-text index ${wrongClaim}.`,
      "The next upkeep makes it again; `await store.upkeep()` does it now.",
    );
  }
  const tailCount = fullText.tailCount();
  const are = `${counted(tailCount, "message")} ${tailCount === 1 ? "is" : "are"}`;
  const text = `${are} not in the full-text index yet; a search reads such messages one by one.`;
  if (tailCount > TAIL_MAX) {
    return advice("full-text", text, "`await session.resolveDirty()` in any session, or `coppice verify --rebuild`.");
  }
  return ok("full-text", tailCount === 0 ? "Every message is in the full-text index." : text);
}

function hubFindings(repositories: Repositories): Finding[] {
  const ids = undecidedSessions(repositories);
  if (ids.length === 0) return [];
  const named = `${ids.slice(0, SESSIONS_MAX).join(", ")}${ids.length > SESSIONS_MAX ? ", …" : ""}`;
  const text = `The hub has forgotten ${counted(ids.length, "session")} of this store, or messages of them. They are kept here, and not sent: ${named}.`;
  const fix =
    "`coppice hub push <session> --forgotten keep` keeps one here, `forget` forgets it here, too, and `send` sends it again.";
  return [advice("hub", text, fix)];
}

function erasingFindings(repositories: Repositories): Finding[] {
  if (!isErasingDue(repositories)) return [];
  const text = "Free space of the file, its log or the index beside it may still hold bytes of what was forgotten.";
  const fix =
    "The next program that writes removes them when it ends, unless another one reads or the disk refuses: `coppice watch --once`.";
  return [advice("erasing", text, fix)];
}

function counted(count: number, one: string): string {
  return `${count.toLocaleString("en-US")} ${one}${count === 1 ? "" : "s"}`;
}
