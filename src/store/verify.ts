import { digestOf } from "../core/digest.ts";
import { StoreError } from "../core/errors.ts";
import { replay } from "../forest/replay.ts";
import { subjectRoots } from "../forest/subjects.ts";
import { clusterLine, type DerivedRows, type DeriveOptions, derive, themeLine } from "./derive.ts";
import type { Repositories } from "./repositories.ts";
import { fullTextProblems, isOfFullText, rebuildFullText } from "./verify-full-text.ts";
import { deleteSpans, rebuildSession } from "./write.ts";

/** Most problems listed; with more, the rest is only counted. */
const PROBLEMS_MAX = 100;

/** Most missing places named. */
const LOST_MAX = 10;

export interface Problem {
  sessionId: string | null;
  /** What does not hold, and where. */
  text: string;
  /** Whether `verify --rebuild` mends it: derived rows come back, facts do not. */
  rebuildable: boolean;
}

export interface VerifyReport {
  /** No problem was found; with `rebuild`, none is left. */
  ok: boolean;
  sessionCount: number;
  messageCount: number;
  unionCount: number;
  /** Sessions whose derived rows were written again. */
  rebuiltCount: number;
  problemCount: number;
  /** The first hundred. */
  problems: Problem[];
}

/** How far a check is. */
export interface VerifyProgress {
  sessionCount: number;
  totalCount: number;
}

export interface VerifyOptions extends DeriveOptions {
  rebuild: boolean;
  /** Called before each session. */
  onProgress: (progress: VerifyProgress) => void;
  /** The words of a text as they are indexed, in order. */
  searchWords: (text: string) => readonly string[];
}

/**
 * Derive everything derived again, and compare.
 *
 * Facts are checked too, as far as they check themselves: SQLite's own integrity, each message against its digest, each
 * artifact against its name, no place without its message, steps and log rows that can be applied. The full-text index is
 * compared with the messages that it should hold; with `rebuild` it also takes in those that it does not hold yet. Sessions are taken one by one, each on one
 * snapshot, so other processes may go on writing meanwhile.
 */
export function verifyStore(repositories: Repositories, options: VerifyOptions): VerifyReport {
  const { database, sessions } = repositories;
  const report: VerifyReport = {
    ok: true,
    sessionCount: 0,
    messageCount: 0,
    unionCount: 0,
    rebuiltCount: 0,
    problemCount: 0,
    problems: [],
  };
  const note = (sessionId: string | null, text: string, rebuildable: boolean): void => {
    report.problemCount += 1;
    if (report.problems.length < PROBLEMS_MAX) report.problems.push({ sessionId, text, rebuildable });
  };
  /** What is too damaged to be looked at is a problem like others, and what comes after it is still looked at. */
  const noting = (sessionId: string | null, run: () => void): void => {
    try {
      run();
    } catch (error) {
      if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
      if (isOfFullText(error.details.reason)) ofFullText.push(error.details.reason);
      else note(sessionId, error.details.reason, false);
    }
  };
  const ofFullText: string[] = [];
  noting(null, () => {
    for (const text of database.read(() => integrityProblems(repositories))) {
      if (isOfFullText(text)) ofFullText.push(text);
      else note(null, text, false);
    }
    const strayCount = database.read(() => repositories.subjects.strayCount());
    if (strayCount > 0) note(null, `${strayCount} rows of the log name a subject that had not begun`, false);
    const crossingCount = database.read(() => repositories.subjects.crossingCount());
    if (crossingCount > 0) note(null, `${crossingCount} clusters are in a subject of another project`, false);
  });

  const checkSession = (id: string): void => {
    const noteHere = (text: string): void => note(id, text, false);
    const wrongSpans = database.read(() => repositories.spans.wrong(id));
    if (options.rebuild && wrongSpans.length > 0) deleteSpans(repositories, wrongSpans);
    else for (const span of wrongSpans) note(id, `span summary ${span} is not of the messages that it names`, true);
    const checked = database.read(() => {
      const row = sessions.byId(id);
      if (row === undefined) return undefined; // forgotten meanwhile
      report.sessionCount += 1;
      report.messageCount += checkMessages(repositories, id, noteHere);
      const { unionCount, derived } = derive(repositories, row, options, noteHere);
      report.unionCount += unionCount + checkHistory(repositories, id, noteHere);
      if (derived === undefined) return undefined;
      const logPosition = repositories.unions.newestPosition();
      return { derived, logPosition, differences: differencesOf(repositories, id, derived) };
    });
    if (checked === undefined || checked.differences.length === 0) return;
    if (!options.rebuild) {
      for (const text of checked.differences) note(id, text, true);
      return;
    }
    database.write("verify --rebuild", () => {
      const row = sessions.byId(id);
      if (row === undefined) return;
      // What was derived still holds unless the log has grown since; so others seldom wait for more than the writing.
      const isCurrent = repositories.unions.newestPosition() === checked.logPosition;
      const derived = isCurrent ? checked.derived : derive(repositories, row, options, noteHere).derived;
      if (derived === undefined) return;
      rebuildSession(repositories, id, derived);
      for (const text of differencesOf(repositories, id, derived)) noteHere(text);
    });
    report.rebuiltCount += 1;
  };
  noting(null, () => {
    const ids = database.read(() => sessions.ids());
    for (const [sessionCount, id] of ids.entries()) {
      options.onProgress({ sessionCount, totalCount: ids.length });
      noting(id, () => checkSession(id));
    }
  });
  noting(null, () => {
    ofFullText.push(...fullTextProblems(repositories, options.searchWords));
    if (options.rebuild && !(database.readonly && ofFullText.length === 0)) {
      rebuildFullText(repositories, options.searchWords, ofFullText.length > 0);
      ofFullText.splice(0, ofFullText.length, ...fullTextProblems(repositories, options.searchWords));
    }
    for (const text of ofFullText) note(null, text, true);
  });
  report.ok = report.problemCount === 0;
  return report;
}

function integrityProblems({ database, fullText }: Repositories): string[] {
  const { client } = database;
  try {
    // SQLite checks the full-text index by what it last knew of its parts; to read it brings that up to date.
    fullText.hasWords();
  } catch {
    // What is damaged is told below.
  }
  const problems = (client.pragma("integrity_check(20)") as { integrity_check: string }[])
    .map(({ integrity_check }) => integrity_check)
    .filter((line) => line !== "ok");
  const orphans = client.pragma("foreign_key_check") as { table: string; rowid: number; parent: string }[];
  for (const { table, rowid, parent } of orphans.slice(0, 20)) {
    problems.push(`row ${rowid} of ${table} points to a row of ${parent} that does not exist`);
  }
  return problems;
}

/** @returns how many messages can be read. */
function checkMessages(repositories: Repositories, sessionId: string, note: (text: string) => void): number {
  let count = 0;
  for (const { message, digest } of repositories.messages.each(sessionId, note)) {
    count += 1;
    if (!digestOf(message).equals(digest)) note(`message ${message.id} is not what was appended: its digest differs`);
  }
  const lost = repositories.messages.lostSeqs(sessionId, LOST_MAX);
  if (lost.length > 0)
    note(`no message is at seq ${lost.join(", ")}${lost.length === LOST_MAX ? ", …" : ""}, and none was forgotten`);
  return count;
}

/**
 * Apply the session's logs of the generations that are no more in use: old handles are answered from them.
 *
 * @returns how many rows they have.
 */
function checkHistory(
  { generations, unions, subjects }: Repositories,
  sessionId: string,
  note: (text: string) => void,
): number {
  let count = 0;
  for (const generation of generations.ids().slice(0, -1)) {
    const log = unions.ofSession(sessionId, generation);
    const places = subjects.ofSession(sessionId, generation);
    count += log.length + places.length;
    const impossible = replay(log).refused ?? subjectRoots(places).refused;
    if (impossible === undefined) continue;
    const { row, reason } = impossible;
    note(`row ${row.id} of the log of generation ${generation} cannot have happened: ${reason}`);
  }
  return count;
}

function differencesOf(repositories: Repositories, sessionId: string, derived: DerivedRows): string[] {
  const { clusters, themes, messages, sessions } = repositories;
  const differences: string[] = [];
  let wrongParents = 0;
  for (const { id, parentId } of messages.parents(sessionId)) {
    if (parentId !== (derived.parents.get(id) ?? id)) wrongParents += 1;
  }
  if (wrongParents > 0) differences.push(`${wrongParents} parent pointers are not what the log says`);
  const compare = (what: string, read: () => readonly string[], expected: readonly string[]): void => {
    let stored: readonly string[];
    try {
      stored = read();
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      differences.push(`rows of ${what} cannot be read: ${error.message}`);
      return;
    }
    const known = new Set(stored);
    const right = expected.filter((row) => known.has(row)).length;
    if (right === expected.length && stored.length === expected.length) return;
    differences.push(
      `${expected.length - right} of ${expected.length} rows of ${what} are missing or differ; ${stored.length} are there`,
    );
  };
  compare("clusters", () => clusters.ofSession(sessionId).map(clusterLine), derived.clusters.map(clusterLine));
  compare("themes", () => themes.ofSession(sessionId).map(themeLine), derived.themes.map(themeLine));
  const memberCount = derived.themes.reduce((sum, { theme }) => sum + theme.messageCount, 0);
  for (const [view, count] of Object.entries(sessions.viewCounts(sessionId))) {
    if (count !== memberCount)
      differences.push(`the view ${view} has ${count} rows; ${memberCount} messages are in the forest`);
  }
  return differences;
}
