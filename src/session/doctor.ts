import { StoreError } from "../core/errors.ts";
import type { SessionSettings } from "../core/options.ts";
import { databaseFindings } from "../store/database-findings.ts";
import { fileFindings } from "../store/file-findings.ts";
import { type Finding, problem } from "../store/finding.ts";
import { dirtyThemes } from "../summaries/dirty.ts";
import { themeSettings } from "../summaries/theme-settings.ts";
import { indexFinding } from "./index-finding.ts";
import type { SessionPorts } from "./ports.ts";

/** Examines an open store: its file, then its rows if they can be read. */
export function examine(ports: SessionPorts): Finding[] {
  const { repositories, nearest } = ports;
  const { database } = repositories;
  database.assertOpen();
  const findings = fileFindings(database.path, !database.readonly);
  try {
    findings.push(...database.read(() => rowFindings(ports)));
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    return [refusal("integrity", error), ...findings];
  }
  // The index reads every centroid. A damaged one must not hide the other findings.
  try {
    findings.push(indexFinding(nearest.state()));
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    findings.push(refusal("index", error));
  }
  return findings;
}

function rowFindings({ repositories, embedder, summarizer, claimant, clock }: SessionPorts): Finding[] {
  const { sessions } = repositories;
  const { id: summarizerId, promptVersion } = summarizer;
  const asker = { summarizerId, promptVersion, claimant, nowMs: clock() };
  /** Counts the themes whose summary is due and may be tried now. */
  const wantingOf = (id: string, settings: SessionSettings): number => {
    const own = themeSettings(repositories, id, { settings, tokensMax: settings.contextTokensMax, summarizer });
    return dirtyThemes(repositories, id, own, "made", asker).filter(({ wait }) => wait?.nextTryAtMs !== null).length;
  };
  const wanting = sessions
    .ids()
    .map((id) => ({ id, settings: sessions.byId(id)!.settings }))
    .filter(({ settings }) => settings.strategy === "union-find") // others show no themes
    .map(({ id, settings }) => ({ id, themeCount: wantingOf(id, settings) }))
    .filter(({ themeCount }) => themeCount > 0);
  return databaseFindings(repositories, embedder.id, {
    themeCount: wanting.reduce((sum, { themeCount }) => sum + themeCount, 0),
    sessionIds: wanting.map(({ id }) => id),
  });
}

/** Says why a store cannot be opened, and examines its file from the outside. */
export function examineUnopened(error: StoreError): Finding[] {
  // The permissions of a file that is not a store are not checked.
  const path = "path" in error.details && error.code !== "NOT_A_STORE" ? error.details.path : undefined;
  const findings = path === undefined ? [] : fileFindings(path, false);
  return [refusal("open", error), ...findings.filter(({ text }) => text !== error.message)];
}

function refusal(check: "open" | "integrity" | "index", { message, hint }: StoreError): Finding {
  return problem(check, message, hint ?? "Fix this problem, then try again.");
}
