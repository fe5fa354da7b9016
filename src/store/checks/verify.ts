import { DamageError } from "../../core/damage.ts";
import { digestOf } from "../../core/digest.ts";
import { StoreError } from "../../core/errors.ts";
import type { Message } from "../../core/message.ts";
import { replay } from "../../forest/forest.ts";
import { subjectRoots } from "../../forest/subjects.ts";
import { clusterLine, type DerivedRows, derive, themeLine } from "../changes/derive.ts";
import { rebuildSession } from "../changes/write.ts";
import { wrongSpans } from "../changes/write-summaries.ts";
import type { ActionsOf, ReadMessages } from "../derived/actions.ts";
import type { DeriveOptions } from "../derived/past-forests.ts";
import type { LocalEmbedding, RightVector } from "../facts/messages.ts";
import { isSession } from "../facts/sessions.ts";
import { schemaProblems } from "../file/migrate.ts";
import type { Repositories } from "../repositories.ts";
import { isOfPages } from "../sql/row-check.ts";
import { TABLES } from "../sql/tables.ts";
import { integrityProblems } from "./scrub.ts";
import { fullTextProblems, isOfFullText, rebuildFullText } from "./verify-full-text.ts";
import { rebuildableIndexes } from "./verify-indexes.ts";

/** Tables of which no other check reads all columns. */
const READ_IN_PART = [
  ...[TABLES.sessions, TABLES.unions, TABLES.summaries, TABLES.entries, TABLES.items],
  ...[TABLES.undoneUnions, TABLES.sharedPasts, TABLES.forgottenMessages, TABLES.frontierMoves, TABLES.discardedCosts],
  ...[TABLES.messageArtifacts, TABLES.tombstones, TABLES.storeSettings, TABLES.generations],
];

const REBUILD = "verify --rebuild";

/** How many problems are listed. All are counted. */
const PROBLEMS_MAX = 100;

/** How many messages of a session are kept for the check of its actions. */
const INTACT_MAX = 10_000;
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
 *
 * @throws {StoreError} `STORE_READONLY` to rebuild a store that is open for reading only.
 */
export function verifyStore(repositories: Repositories, options: VerifyOptions): VerifyReport {
  if (options.rebuild) repositories.database.assertWritable(REBUILD);
  return new Verification(repositories, options).run();
}

class Verification {
  readonly #repositories: Repositories;
  readonly #options: VerifyOptions;
  readonly #report: VerifyReport = {
    ok: true,
    sessionCount: 0,
    messageCount: 0,
    unionCount: 0,
    entryCount: 0,
    itemCount: 0,
    rebuiltCount: 0,
    problemCount: 0,
    problems: [],
  };
  /** Problems of the full-text index. It is checked and rebuilt last. */
  #fullTextFaults: string[] = [];

  constructor(repositories: Repositories, options: VerifyOptions) {
    this.#repositories = repositories;
    this.#options = options;
  }

  run(): VerifyReport {
    const report = this.#report;
    this.#step(null, () => {
      this.#checkFile();
      this.#checkTables();
    });
    this.#step(null, () => this.#checkSessions());
    this.#step(null, () => this.#checkFullText());
    for (const text of this.#fullTextFaults) this.#note(null, text, true);
    report.ok = report.problemCount === 0;
    return report;
  }

  /** Runs a step. Damage that stops it is noted as a problem, so that the next step runs. */
  #step(sessionId: string | null, run: () => void): void {
    try {
      run();
    } catch (error) {
      if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
      const { reason } = error.details;
      if (isOfFullText(reason)) this.#fullTextFaults.push(reason);
      else this.#note(sessionId, reason, false);
    }
  }

  #note(sessionId: string | null, text: string, rebuildable: boolean): void {
    const { problems } = this.#report;
    this.#report.problemCount += 1;
    if (problems.length < PROBLEMS_MAX) problems.push({ sessionId, text, rebuildable });
  }

  /** Repairs what the texts name if `rebuild` is set, and notes them as problems otherwise. */
  #repair(sessionId: string | null, texts: readonly string[], repair: () => void): void {
    if (texts.length === 0) return;
    if (this.#options.rebuild) this.#repositories.database.write(REBUILD, repair);
    else for (const text of texts) this.#note(sessionId, text, true);
  }

  #checkFile(): void {
    const { database } = this.#repositories;
    const { problems, indexes } = this.#options.rebuild
      ? repairFile(this.#repositories, () => this.#step(null, () => this.#replaceWrongFullText()))
      : database.read(() => fileProblems(this.#repositories));
    for (const text of problems) {
      if (isOfFullText(text)) this.#fullTextFaults.push(text);
      else {
        const rebuildable = indexes.some((name) => text.endsWith(` index ${name}`));
        this.#note(null, text, rebuildable);
      }
    }
  }

  /** Rebuilds the full-text index if it is wrong. If it is not, the broken pages are none of its pages. */
  #replaceWrongFullText(): void {
    const isWrong = fullTextProblems(this.#repositories, this.#options.searchWords).length > 0;
    if (isWrong) rebuildFullText(this.#repositories, this.#options, true);
  }

  #checkTables(): void {
    const { database, entries, items, subjects, awake, frontierMoves } = this.#repositories;
    for (const table of READ_IN_PART) {
      for (const text of database.read(() => database.rowCheck.damaged(table).damages)) this.#note(null, text, false);
    }
    const wrongCheckpoints = database.read(() => database.rowCheck.damaged(TABLES.themeCheckpoints).damages);
    this.#repair(null, wrongCheckpoints, () => frontierMoves.deleteCheckpoints());
    const counts = database.read(() => ({ entryCount: entries.count(), itemCount: items.count() }));
    Object.assign(this.#report, counts);
    const strayCount = database.read(() => subjects.strayCount());
    if (strayCount > 0) this.#note(null, `${strayCount} rows of the log name a subject that had not begun`, false);
    const asleepCount = database.read(() => awake.asleepWithWork());
    const asleep = asleepCount > 0 ? [`upkeep would not find ${asleepCount} sessions that it has work for`] : [];
    this.#repair(null, asleep, () => awake.wakeAll());
    const crossingCount = database.read(() => subjects.crossingCount());
    if (crossingCount > 0) this.#note(null, `${crossingCount} clusters are in a subject of another project`, false);
  }

  #checkSessions(): void {
    const { database, sessions } = this.#repositories;
    const ids = database.read(() => sessions.ids().flatMap((id) => sessions.withBranches(id)));
    for (const [sessionCount, id] of ids.entries()) {
      this.#options.onProgress({ sessionCount, totalCount: ids.length });
      this.#step(id, () => this.#checkSession(id));
    }
  }

  #checkSession(id: string): void {
    const { database, paths } = this.#repositories;
    const { rebuild } = this.#options;
    const { problemCount } = this.#report;
    database.read(() => paths.assertPast(id));
    const { messageCount, wrongVectors, intact } = database.read(() =>
      checkMessages(this.#repositories, id, this.#options, (text) => this.#note(id, text, false)),
    );
    // Damaged messages do not tell whether a summary is one of them.
    if (this.#report.problemCount === problemCount) this.#checkSummaries(id);
    this.#checkActions(id, intact);
    this.#checkVectors(id, wrongVectors);
    const differences = this.#checkForest(id, messageCount);
    if (!rebuild) for (const text of differences) this.#note(id, text, true);
    if (!rebuild || differences.length + wrongVectors.length === 0) return;
    this.#rebuildForest(id);
    this.#report.rebuiltCount += 1;
  }

  #checkSummaries(id: string): void {
    const { database, summaries } = this.#repositories;
    const wrong = database.read(() => wrongSpans(this.#repositories, id));
    const texts = wrong.map((span) => `summary ${span} does not match the messages that it names`);
    this.#repair(id, texts, () => summaries.discard(wrong));
  }

  #checkActions(id: string, intact: ReadMessages): void {
    const { database, actions } = this.#repositories;
    const isRight = database.read(() => actions.isRight(id, this.#options.actionsOf, intact));
    const texts = isRight ? [] : ["rows of actions are missing or differ from its tool calls"];
    this.#repair(id, texts, () => actions.noteSession(id, this.#options.actionsOf));
  }

  #checkVectors(id: string, wrong: readonly RightVector[]): void {
    const texts = wrong.map((vector) => `the vector of message ${vector.id} is not that of its text`);
    this.#repair(id, texts, () => {
      for (const vector of wrong) this.#repositories.messages.setVector(vector);
    });
  }

  /** Returns how the stored rows of the forest differ from those that the log gives. */
  #checkForest(id: string, messageCount: number): string[] {
    const { database, sessions } = this.#repositories;
    const note = (text: string): void => this.#note(id, text, false);
    const report = this.#report;
    return database.read(() => {
      const row = sessions.byId(id);
      if (row === undefined) return []; // forgotten meanwhile
      report.messageCount += messageCount;
      if (!isSession(row)) return []; // a branch has no forest
      report.sessionCount += 1;
      const { unionCount, derived } = derive(this.#repositories, row, this.#options, note);
      report.unionCount += unionCount + checkHistory(this.#repositories, id, note);
      return derived === undefined ? [] : differencesOf(this.#repositories, id, derived);
    });
  }

  #rebuildForest(id: string): void {
    const { database, sessions } = this.#repositories;
    const note = (text: string): void => this.#note(id, text, false);
    database.write(REBUILD, () => {
      const row = sessions.byId(id);
      const derived = row && derive(this.#repositories, row, this.#options, note).derived;
      if (derived === undefined) return;
      rebuildSession(this.#repositories, id, derived);
      for (const text of differencesOf(this.#repositories, id, derived)) note(text);
    });
  }

  #checkFullText(): void {
    const { rebuild, searchWords } = this.#options;
    this.#fullTextFaults.push(...fullTextProblems(this.#repositories, searchWords));
    if (!rebuild) return;
    const isDamaged = this.#fullTextFaults.length > 0;
    rebuildFullText(this.#repositories, this.#options, isDamaged);
    if (isDamaged) this.#fullTextFaults = fullTextProblems(this.#repositories, searchWords);
  }
}

interface FileProblems {
  problems: string[];
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
  let isReplaced = false;
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
    if (due.length === 0) return found!;
    database.write(REBUILD, () => {
      for (const name of due) database.client.exec(`REINDEX "${name}"`);
    });
    for (const name of due) done.add(name);
  }
}

/** Returns how many messages can be read, the vectors that are not those of the local embedder, and the first intact messages. */
function checkMessages(
  { messages }: Repositories,
  sessionId: string,
  { localEmbedder }: VerifyOptions,
  note: (text: string) => void,
): { messageCount: number; wrongVectors: RightVector[]; intact: ReadMessages } {
  let messageCount = 0;
  const wrongVectors: RightVector[] = [];
  const intact = new Map<number, { message: Message }>();
  for (const { message, digest } of messages.each(sessionId, note)) {
    messageCount += 1;
    if (!digestOf(message).equals(digest)) note(`message ${message.id} is not what was appended: its digest differs`);
    else if (intact.size < INTACT_MAX) intact.set(message.id, { message });
    const vector = messages.rightVector(message, localEmbedder);
    if (vector !== undefined) wrongVectors.push(vector);
  }
  const lost = messages.lostSeqs({ sessionId, limit: LOST_MAX });
  const more = lost.length === LOST_MAX ? ", …" : "";
  if (lost.length > 0) note(`no message is at seq ${lost.join(", ")}${more}, and none was forgotten`);
  return { messageCount, wrongVectors, intact };
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
