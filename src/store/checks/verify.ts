import { DamageError } from "../../core/damage.ts";
import { digestOf } from "../../core/digest.ts";
import { StoreError } from "../../core/errors.ts";
import { textOf } from "../../core/text.ts";
import { replay } from "../../forest/forest.ts";
import { subjectRoots } from "../../forest/subjects.ts";
import { clusterLine, type DerivedRows, derive, themeLine } from "../changes/derive.ts";
import { rebuildSession } from "../changes/write.ts";
import { wrongSpans } from "../changes/write-summaries.ts";
import type { ActionsOf } from "../derived/actions.ts";
import type { DeriveOptions } from "../derived/features.ts";
import type { LocalEmbedding, RightVector } from "../facts/messages.ts";
import { isSession } from "../facts/sessions.ts";
import { isOfPages } from "../file/integrity-faults.ts";
import { schemaProblems } from "../file/migrate.ts";
import { sealOldRows } from "../file/repository.ts";
import type { Repositories } from "../repositories.ts";
import * as schema from "../sql/schema.ts";
import { integrityProblems } from "./scrub.ts";
import { fullTextProblems, isOfFullText, rebuildFullText } from "./verify-full-text.ts";
import { rebuildableIndexes } from "./verify-indexes.ts";

/** Tables whose rows have checksums that no read of a session compares. */
const OF_SESSION = [
  schema.undoneUnions,
  schema.sharedPasts,
  schema.forgottenMessages,
  schema.frontierMoves,
  schema.discardedCosts,
];
const OF_STORE = [schema.messageArtifacts, schema.tombstones, schema.storeSettings, schema.generations];

/** How many problems are listed. All are counted. */
const PROBLEMS_MAX = 100;

const LOST_MAX = 10;

export interface Problem {
  sessionId: string | null;
  text: string;
  /** True if `verify --rebuild` repairs it: derived rows can be rebuilt, facts cannot. */
  rebuildable: boolean;
}

export interface VerifyReport {
  /** True if no problem was found; with `rebuild`, if none is left. */
  ok: boolean;
  sessionCount: number;
  messageCount: number;
  unionCount: number;
  entryCount: number;
  itemCount: number;
  /** Sessions whose derived rows were rewritten. */
  rebuiltCount: number;
  problemCount: number;
  /** The first hundred problems. */
  problems: Problem[];
}

export interface VerifyProgress {
  sessionCount: number;
  totalCount: number;
}

export interface VerifyOptions extends DeriveOptions {
  rebuild: boolean;
  /** Called before each session. */
  onProgress: (progress: VerifyProgress) => void;
  /** Returns the words of a text as they are indexed, in order. */
  searchWords: (text: string) => readonly string[];
  actionsOf: ActionsOf;
  /** Makes the vectors of its own messages again. */
  localEmbedder: LocalEmbedding;
}

/**
 * Computes all derived rows again, and compares them with the stored ones.
 *
 * Facts are checked where possible: SQLite's integrity, the definitions of tables and views, the digests of messages
 * and artifacts, missing seqs, and whether the log can be applied. The full-text index is compared with its messages;
 * `rebuild` also adds missing ones. Each session is checked on its own snapshot, so other processes can write
 * meanwhile.
 */
export function verifyStore(repositories: Repositories, options: VerifyOptions): VerifyReport {
  const { database, sessions, summaries } = repositories;
  const counts = {
    sessionCount: 0,
    messageCount: 0,
    unionCount: 0,
    entryCount: 0,
    itemCount: 0,
    rebuiltCount: 0,
    problemCount: 0,
  };
  const report: VerifyReport = { ok: true, ...counts, problems: [] };
  const note = (sessionId: string | null, text: string, rebuildable: boolean): void => {
    report.problemCount += 1;
    if (report.problems.length < PROBLEMS_MAX) report.problems.push({ sessionId, text, rebuildable });
  };
  /** Notes damage that stops the check as a problem, so that the next check runs. */
  const noting = (sessionId: string | null, run: () => void): void => {
    try {
      run();
    } catch (error) {
      if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
      if (isOfFullText(error.details.reason)) fullTextFaults.push(error.details.reason);
      else note(sessionId, error.details.reason, false);
    }
  };
  const fullTextFaults: string[] = [];
  const replaceFullText = (): void => rebuildFullText(repositories, options, true);
  noting(null, () => {
    const { problems, indexes } = options.rebuild
      ? repairFile(repositories, () =>
          noting(null, () => {
            // Unless the index is wrong, the broken pages are others.
            if (fullTextProblems(repositories, options.searchWords).length > 0) replaceFullText();
          }),
        )
      : database.read(() => fileProblems(repositories));
    for (const text of problems) {
      if (isOfFullText(text)) fullTextFaults.push(text);
      else
        note(
          null,
          text,
          indexes.some((name) => text.endsWith(` index ${name}`)),
        );
    }
    // No other check reads all columns of these tables.
    const { sessions, unions, summaries, entries, items } = schema;
    for (const table of [sessions, unions, summaries, entries, items, ...OF_SESSION, ...OF_STORE]) {
      for (const text of database.read(() => database.rowCheck.damaged(table).damages)) note(null, text, false);
    }
    const wrongCheckpoints = database.read(() => database.rowCheck.damaged(schema.themeCheckpoints).damages);
    if (options.rebuild && wrongCheckpoints.length > 0)
      database.write("verify --rebuild", () => repositories.frontierMoves.deleteCheckpoints());
    else for (const text of wrongCheckpoints) note(null, text, true);
    Object.assign(
      report,
      database.read(() => ({ entryCount: repositories.entries.count(), itemCount: repositories.items.count() })),
    );
    const strayCount = database.read(() => repositories.subjects.strayCount());
    if (strayCount > 0) note(null, `${strayCount} rows of the log name a subject that had not begun`, false);
    const asleepCount = database.read(() => repositories.awake.asleepWithWork());
    if (asleepCount > 0 && options.rebuild) database.write("verify --rebuild", () => repositories.awake.wakeAll());
    else if (asleepCount > 0) note(null, `upkeep would not find ${asleepCount} sessions that it has work for`, true);
    const crossingCount = database.read(() => repositories.subjects.crossingCount());
    if (crossingCount > 0) note(null, `${crossingCount} clusters are in a subject of another project`, false);
  });

  const checkSession = (id: string): void => {
    const noteHere = (text: string): void => note(id, text, false);
    const isRenewed =
      options.rebuild &&
      !database.readonly &&
      database.write("verify --rebuild", () => renewSession(repositories, id, options));
    if (isRenewed) report.rebuiltCount += 1;
    const { problemCount } = report;
    database.read(() => repositories.paths.assertPast(id));
    const { messageCount, wrongVectors } = database.read(() => checkMessages(repositories, id, options, noteHere));
    // Damaged messages do not tell whether a summary is one of them.
    const wrong = report.problemCount > problemCount ? [] : database.read(() => wrongSpans(repositories, id));
    const isNotedWrong = database.read(() => !repositories.actions.isRight(id, options.actionsOf));
    if (isNotedWrong && options.rebuild)
      database.write("verify --rebuild", () => repositories.actions.noteSession(id, options.actionsOf));
    else if (isNotedWrong) note(id, "rows of actions are missing or differ from its tool calls", true);
    if (options.rebuild && wrong.length > 0)
      database.write("verify --rebuild", () => repositories.summaries.discard(wrong));
    else for (const span of wrong) note(id, `summary ${span} does not match the messages that it names`, true);
    if (options.rebuild && wrongVectors.length > 0)
      database.write("verify --rebuild", () => {
        for (const vector of wrongVectors) repositories.messages.setVector(vector);
      });
    else
      for (const vector of wrongVectors) note(id, `the vector of message ${vector.id} is not that of its text`, true);
    const differences = database.read(() => {
      const row = sessions.byId(id);
      if (row === undefined) return []; // forgotten meanwhile
      report.messageCount += messageCount;
      if (!isSession(row)) return []; // a branch has no forest
      report.sessionCount += 1;
      const { unionCount, derived } = derive(repositories, row, options, noteHere);
      report.unionCount += unionCount + checkHistory(repositories, id, noteHere);
      return derived === undefined ? [] : differencesOf(repositories, id, derived);
    });
    if (!options.rebuild) for (const text of differences) note(id, text, true);
    if (!options.rebuild || differences.length + wrongVectors.length === 0) return;
    database.write("verify --rebuild", () => {
      const row = sessions.byId(id);
      const derived = row && derive(repositories, row, options, noteHere).derived;
      if (derived === undefined) return;
      rebuildSession(repositories, id, derived);
      for (const text of differencesOf(repositories, id, derived)) noteHere(text);
    });
    if (!isRenewed) report.rebuiltCount += 1;
  };
  const sealOld = (id: string): void => {
    database.write("verify --rebuild", () => {
      sessions.renewChecksum(id);
      summaries.renewChecksums(id);
      for (const table of OF_SESSION) sealOldRows(database, table, "session_id = ?", id);
    });
  };
  noting(null, () => {
    const ids = database.read(() => sessions.ids().flatMap((id) => sessions.withBranches(id)));
    for (const [sessionCount, id] of ids.entries()) {
      options.onProgress({ sessionCount, totalCount: ids.length });
      const { problemCount } = report;
      noting(id, () => checkSession(id));
      if (options.rebuild && !database.readonly && report.problemCount === problemCount) noting(id, () => sealOld(id));
    }
  });
  noting(null, () => {
    if (!options.rebuild || database.readonly || report.problemCount > 0) return;
    database.write("verify --rebuild", () => {
      for (const table of OF_STORE) sealOldRows(database, table, "true");
    });
  });
  noting(null, () => {
    fullTextFaults.push(...fullTextProblems(repositories, options.searchWords));
    const isDamaged = fullTextFaults.length > 0;
    if (options.rebuild && isDamaged) {
      replaceFullText();
      fullTextFaults.splice(0, fullTextFaults.length, ...fullTextProblems(repositories, options.searchWords));
    } else if (options.rebuild && !database.readonly) rebuildFullText(repositories, options, false);
    for (const text of fullTextFaults) note(null, text, true);
  });
  report.ok = report.problemCount === 0;
  return report;
}

/**
 * Writes the rows of older versions as this version does: smaller, and with checksums. Rounded vectors have other sums, so
 * the derived rows follow. @returns false if there are no such rows.
 */
function renewSession(repositories: Repositories, sessionId: string, options: DeriveOptions): boolean {
  const session = repositories.sessions.byId(sessionId);
  if (session === undefined || repositories.messages.renew(sessionId, textOf) === 0) return false;
  const { derived } = derive(repositories, session, options, () => {});
  if (derived !== undefined) rebuildSession(repositories, sessionId, derived);
  return true;
}

interface FileProblems {
  problems: string[];
  /** The indexes that can be made again. */
  indexes: string[];
}

function fileProblems(repositories: Repositories): FileProblems {
  const { client } = repositories.database;
  const problems = [...integrityProblems(repositories), ...schemaProblems(client)];
  return { problems, indexes: rebuildableIndexes(client, problems) };
}

/**
 * Makes indexes again that differ from their tables. If a page is broken, it may be one of the full-text index, which is then
 * replaced first: SQLite cannot even check a file in which it cannot read that index.
 *
 * @returns what is left.
 */
function repairFile(repositories: Repositories, replaceFullText: () => void): FileProblems {
  const { database } = repositories;
  const done = new Set<string>();
  let isReplaced = database.readonly;
  for (;;) {
    let found: FileProblems | undefined;
    try {
      found = database.read(() => fileProblems(repositories));
    } catch (error) {
      const isFullText = StoreError.is(error, "STORE_CORRUPT") && isOfFullText(error.details.reason);
      if (isReplaced || !isFullText) throw error;
    }
    if (!isReplaced && (found === undefined || found.problems.some(isOfPages))) {
      isReplaced = true;
      replaceFullText();
      continue;
    }
    const due = found!.indexes.filter((name) => !done.has(name));
    if (due.length === 0 || database.readonly) return found!;
    database.write("verify --rebuild", () => {
      for (const name of due) database.client.exec(`REINDEX "${name}"`);
    });
    for (const name of due) done.add(name);
  }
}

/** Returns how many messages can be read, and the vectors of those that have another than the local embedder makes. */
function checkMessages(
  { messages }: Repositories,
  sessionId: string,
  { localEmbedder }: VerifyOptions,
  note: (text: string) => void,
): { messageCount: number; wrongVectors: RightVector[] } {
  let messageCount = 0;
  const wrongVectors: RightVector[] = [];
  for (const { message, digest, isSealed } of messages.each(sessionId, note)) {
    messageCount += 1;
    if (!digestOf(message).equals(digest)) note(`message ${message.id} is not what was appended: its digest differs`);
    // The digest does not cover the text. Without a checksum, nobody knows whether the text or the vector is wrong.
    const vector = isSealed ? messages.rightVector(message, localEmbedder) : undefined;
    if (vector !== undefined) wrongVectors.push(vector);
  }
  const lost = messages.lostSeqs({ sessionId, limit: LOST_MAX });
  const more = lost.length === LOST_MAX ? ", …" : "";
  if (lost.length > 0) note(`no message is at seq ${lost.join(", ")}${more}, and none was forgotten`);
  return { messageCount, wrongVectors };
}

/** Applies the session's logs of older generations, which old handles need. @returns how many rows they have. */
function checkHistory(
  { generations, unions, subjects }: Repositories,
  sessionId: string,
  note: (text: string) => void,
): number {
  let count = 0;
  for (const generation of generations.ids().slice(0, -1)) {
    const log = unions.ofSession(sessionId, generation);
    const subjectLog = subjects.ofSession(sessionId, generation);
    count += log.length + subjectLog.length;
    const impossible = replay(log).refused ?? subjectRoots(subjectLog).refused;
    if (impossible === undefined) continue;
    const { row, reason } = impossible;
    note(`row ${row.id} of the log of generation ${generation} cannot have happened: ${reason}`);
  }
  return count;
}

function differencesOf(repositories: Repositories, sessionId: string, derived: DerivedRows): string[] {
  const { clusters, themes, messages, sessions, paths } = repositories;
  const differences: string[] = [];
  let [wrongCount, memberCount] = [0, 0];
  for (const { id, parentId } of messages.parentsOf(sessionId)) {
    const parent = derived.parents.get(id);
    if (parentId !== (parent ?? id)) wrongCount += 1;
    if (parent !== undefined) memberCount += 1;
  }
  if (wrongCount > 0) differences.push(`${wrongCount} parent pointers differ from the log`);
  const compare = (what: string, read: () => readonly string[], expected: readonly string[]): void => {
    let stored: readonly string[];
    try {
      stored = read();
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
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
  const isGrower = paths.grower(sessionId)?.sessionId === sessionId;
  const stored = () => (isGrower ? clusters.ofSession(sessionId) : clusters.open(sessionId));
  compare("clusters", () => stored().map(clusterLine), derived.clusters.map(clusterLine));
  compare("themes", () => themes.ofSession(sessionId).map(themeLine), derived.themes.map(themeLine));
  for (const [view, count] of Object.entries(sessions.viewCounts({ id: sessionId }))) {
    if (count !== memberCount)
      differences.push(`the view ${view} has ${count} rows; ${memberCount} messages are in the forest`);
  }
  return differences;
}
