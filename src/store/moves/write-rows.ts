import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { systemClock } from "../../core/clock.ts";
import { DamageError } from "../../core/damage.ts";
import { digestOf } from "../../core/digest.ts";
import { StoreError } from "../../core/errors.ts";
import { BATCH_MESSAGES_MAX, ID_CHARS_MAX } from "../../core/limits.ts";
import type { SessionSettings } from "../../core/options.ts";
import { baseNameOf } from "../../core/project.ts";
import { sessionSettings } from "../../core/settings.ts";
import { encodeEmbedding } from "../../vector/codec.ts";
import { type DerivedRows, derivedOf } from "../changes/derive.ts";
import { forget, noteErasing, unlessDamaged } from "../changes/forget.ts";
import { FOREIGN_ID_MAX, freeIdBlock, idBlockOf, needsIdBlock, storeIdOf, takeIdBlock } from "../changes/id-blocks.ts";
import { idsHeldBy } from "../changes/related.ts";
import { dissolveSubjects, rebuildSession } from "../changes/write.ts";
import { rootlessSummaries, wrongSpans } from "../changes/write-summaries.ts";
import type { ActionsOf } from "../derived/actions.ts";
import { blockOf } from "../derived/id-block.ts";
import type { DeriveOptions } from "../derived/past-forests.ts";
import type { UndoneRow, UnionRow } from "../derived/unions.ts";
import { FACT_TABLES, type FactRow, type FactTables, type RowsOrigin } from "../facts/fact-rows.ts";
import type { LocalEmbedding } from "../facts/messages.ts";
import { assertOnPath } from "../facts/sessions.ts";
import { ForgottenMessages } from "../facts/tombstones.ts";
import { isCode } from "../file/connect.ts";
import type { RawValues } from "../file/repository.ts";
import type { Repositories } from "../repositories.ts";
import { decodeValue } from "../sql/codecs.ts";
import { columns } from "../sql/statement.ts";
import type { Table } from "../sql/tables.ts";
import { type Changeable, changeableIn, mergedOf, putChangeable, rowText, sessionRows } from "./read-rows.ts";

export interface WriteRowsTerms extends DeriveOptions {
  /** Returns the words of a text as they are indexed, in order. */
  searchWords: (text: string) => readonly string[];
  actionsOf: ActionsOf;
  /** Makes the vectors that the rows leave out. */
  localEmbedder?: LocalEmbedding;
}

export interface WrittenSession {
  sessionId: string;
  /** `continued`: the store had an earlier state. `known`: it has all of this, and perhaps more, so nothing was written. */
  outcome: "new" | "continued" | "known";
  newCount: number;
  /** Copies of messages that were forgotten here. They are left out. */
  forgottenCount: number;
  /** What the rows have and the store could not take over. Each note is a sentence. */
  notes: string[];
}

/**
 * Writes the facts of a session that came from another store, with their ids. Everything else is derived from them.
 *
 * If the store has the session, the rows replace it, as long as they have everything that the store has: each message, entry and
 * branch, and the newest row of the log. Items that only the store has stay. New ids of the store must be the highest in it, because
 * a session's ids rise. So if an id is higher than all of the store's, the store takes a block of ids above it.
 *
 * @param rows  All rows of one session, as `sessionRows` gives them.
 * @throws {StoreError} `ID_TAKEN`, `SESSION_DIVERGED`, `SESSION_FORGOTTEN`, `SESSION_SUPERSEDED`, `EMBEDDER_MISMATCH`,
 *   `ROWS_INVALID`. Then nothing is written.
 */
export function writeSession(
  repositories: Repositories,
  rows: Iterable<FactRow>,
  terms: WriteRowsTerms,
): WrittenSession {
  const { client } = repositories.database;
  return repositories.database.write("import", () => {
    client.exec("SAVEPOINT session_rows");
    const writer = new SessionWriter(repositories, terms);
    const written = writer.write(rows);
    client.exec(
      written.outcome === "known" ? "ROLLBACK TO session_rows; RELEASE session_rows" : "RELEASE session_rows",
    );
    if (written.outcome === "known") writer.completeParent();
    return written;
  });
}

/** What the store has of the session before the rows are written, or what came. Both are noted only to be compared. */
interface Known {
  changeable: Changeable | undefined;
  rows: Set<string>;
  /** Digests are texts of a character for each byte: a buffer would keep the bytes that it was cut from. */
  messages: Map<number, { digest: string; seq: number }>;
  branches: Set<string>;
  entries: Set<number>;
  /** Seqs of forgotten messages, with the times. */
  forgotten: Map<string, number>;
  /** Empty if the store does not know them. */
  tombstones: ForgottenMessages;
  newestPosition: number;
  positions: Set<number>;
  summaries: Set<number>;
}

/**
 * Writes the rows of one session, which come in the order of `sessionRows`. It reads what the store has of the session, replaces it,
 * checks what came, and derives the rest.
 */
class SessionWriter {
  readonly #repositories: Repositories;
  readonly #terms: WriteRowsTerms;
  readonly #notes = new Set<string>();
  #origin!: RowsOrigin;
  #sessionId!: string;
  #parentId: string | null = null;
  #project: string | null = null;
  #known: Known | undefined;
  /** The messages of the path that came, and those that the store has. */
  readonly #path: number[] = [];
  readonly #pathBefore: number[] = [];
  /** The messages whose vectors are made again, and the checksums of these. Two lists, because there may be many. */
  readonly #vectorless: number[] = [];
  readonly #vectorCrcs: number[] = [];
  #newestBefore = 0;
  #newestOfFirstBlock = 0;

  constructor(repositories: Repositories, terms: WriteRowsTerms) {
    this.#repositories = repositories;
    this.#terms = terms;
  }

  write(rows: Iterable<FactRow>): WrittenSession {
    let came = this.#newKnown(null);
    let isNew = false; // a row that the store does not have
    let count = 0;
    let newCount = 0;
    const items: FactTables["items"][] = [];
    for (const given of rows) {
      count += 1;
      if (count === 1) {
        if (given.table !== "origin") invalid("the first row does not say where the session comes from");
        this.#begin(given.row as RowsOrigin);
        came = this.#newKnown(this.#origin.tombstoneKey);
        continue;
      }
      const row = checkedRow(given);
      if (count === 2) this.#beginSession(given, row);
      if (this.#known === undefined || !this.#known.rows.has(keyOf(given))) isNew = true;
      if (this.#known !== undefined) this.#note(came, given);
      if (given.table === "messages") {
        const { id, sessionId, vectorCrc } = given.row;
        if (sessionId === this.#sessionId) this.#path.push(id);
        if (!this.#known?.messages.has(id)) newCount += 1;
        if (vectorCrc !== undefined) {
          this.#vectorless.push(id);
          this.#vectorCrcs.push(vectorCrc);
        }
      }
      if (given.table === "items" && this.#known !== undefined) items.push(given.row);
      if (count > 2) this.#insert(given, row);
    }
    if (count < 2) invalid("there is no session in them");
    const sessionId = this.#sessionId;
    if (!isNew || this.#isOlder(came))
      return { sessionId, outcome: "known", newCount: 0, forgottenCount: 0, notes: [] };
    this.#refuseDiverged(came);
    const outcome = this.#known === undefined ? "new" : "continued";
    if (this.#lostCount(came) > 0) noteErasing(this.#repositories); // what was forgotten elsewhere goes with the rows
    // They are long, and what follows takes memory, too.
    for (const { rows, messages } of [came, this.#known ?? came]) {
      rows.clear();
      messages.clear();
    }
    this.#check();
    this.#embed();
    this.#derive();
    this.#keepOwn(items);
    const forgottenCount = this.#forgetCopies();
    return { sessionId, outcome, newCount: newCount - forgottenCount, forgottenCount, notes: [...this.#notes] };
  }

  /** Forgets what came of messages that were forgotten in any session. @returns how many messages. */
  #forgetCopies(): number {
    const repositories = this.#repositories;
    const { origins, tombstones } = repositories;
    if (tombstones.key() === undefined) return 0;
    const held = idsHeldBy(repositories, this.#sessionId);
    const linesOf = new Map<string, readonly string[]>();
    const messageIds: number[] = [];
    for (let from = 0; from < held.length; from += BATCH_MESSAGES_MAX) {
      for (const { id, keys, digest } of origins.of(held.slice(from, from + BATCH_MESSAGES_MAX), linesOf).values()) {
        if (tombstones.hasCopy(keys, () => Buffer.from(digest, "hex"))) messageIds.push(id);
      }
    }
    if (messageIds.length === 0) return 0;
    if (messageIds.length === held.length) throw new StoreError("SESSION_FORGOTTEN", { sessionId: this.#sessionId });
    const terms = { ...this.#terms, dryRun: false, forgottenAtMs: systemClock() };
    const { messageCount } = forget(repositories, [{ sessionId: this.#sessionId, messageIds }], terms);
    this.#notes.add(`${messageCount} of its messages are left out, because they were forgotten in another session.`);
    return messageCount;
  }

  completeParent(): void {
    const { sessions } = this.#repositories;
    const parent = this.#parentId === null ? undefined : sessions.byId(this.#parentId);
    if (parent === undefined || sessions.byId(this.#sessionId)?.parentSessionId !== null) return;
    sessions.complete(this.#sessionId, null, null, parent.id);
  }

  /** Items that only this store has stay, and so does its title if none came. */
  #keepOwn(items: readonly FactTables["items"][]): void {
    const own = this.#known?.changeable;
    if (own === undefined) return;
    const { title } = this.#repositories.sessions.known(this.#sessionId);
    const { notes, ...merged } = mergedOf(own, { title, items });
    notes.push(...putChangeable(this.#repositories, this.#sessionId, merged));
    for (const note of notes) this.#notes.add(note);
  }

  #begin(origin: RowsOrigin): void {
    const { generations, sequences } = this.#repositories;
    const generation = generations.newest()!;
    const { embedderId, dimension, newestId } = origin;
    if (typeof embedderId !== "string" || !Number.isSafeInteger(newestId) || newestId < 0)
      invalid("their origin is damaged");
    if (newestId > FOREIGN_ID_MAX) invalid(`the id ${newestId} is too high`);
    if (embedderId !== generation.embedderId || dimension !== generation.dimension) {
      throw new StoreError("EMBEDDER_MISMATCH", { stored: generation.embedderId, given: embedderId });
    }
    this.#origin = origin;
    this.#newestBefore = sequences.newest();
    this.#takeBlock();
    this.#newestOfFirstBlock = idBlockOf(this.#repositories).newestOfFirst;
  }

  /** The store's own ids must be the highest, and no other store may give them. */
  #takeBlock(): void {
    const { newestId } = this.#origin;
    const newestBefore = this.#newestBefore;
    if (!needsIdBlock(this.#repositories, newestId)) return;
    takeIdBlock(this.#repositories, freeIdBlock(Math.max(newestBefore, newestId)));
  }

  #beginSession(given: FactRow, row: RawValues): void {
    if (given.table !== "sessions" || row.supersededAtMs !== null) invalid("the second row is not the session");
    const { sessions, tombstones, subjects, generations } = this.#repositories;
    const { id, source, externalId } = given.row as FactTables["sessions"];
    this.#sessionId = id;
    this.#parentId = row.parentSessionId as string | null;
    const stored = sessions.byId(id);
    assertOnPath(stored);
    if (stored === undefined && tombstones.hasSession(id)) throw new StoreError("SESSION_FORGOTTEN", { sessionId: id });
    const same = source === null || externalId === null ? undefined : sessions.idByExternalId(source, externalId);
    if (same !== undefined && same !== id) {
      throw new StoreError("ID_TAKEN", {
        sessionId: id,
        what: `its transcript (${source} "${externalId}")`,
        holder: same,
      });
    }
    if (stored !== undefined) {
      this.#repositories.paths.assertUnshared(id, -1, "change");
      this.#known = this.#newKnown(tombstones.key() ?? null);
      this.#known.changeable = changeableIn(this.#repositories, id);
      for (const own of sessionRows(this.#repositories, id, null)) {
        if (own.table !== "origin") this.#known.rows.add(keyOf(own));
        if (own.table === "messages" && own.row.sessionId === id) this.#pathBefore.push(own.row.id);
        this.#note(this.#known, own);
      }
      const settledFrom = subjects.firstSettled(id);
      if (settledFrom !== undefined) dissolveSubjects(this.#repositories, stored.project, settledFrom);
      for (const branchId of sessions.branchIds(id)) sessions.delete(branchId);
      this.#repositories.factRows.deleteOf(id, generations.newest()!.id);
    }
    const parent = this.#parentId === null ? undefined : sessions.byId(this.#parentId);
    this.#project = stored === undefined ? nameIn(row) : stored.project;
    const own = {
      parentSessionId: parent?.id ?? null,
      project: this.#project,
      frontierVersion: stored?.frontierVersion ?? 0,
    };
    this.#fitting("sessions", row, () => this.#repositories.factRows.putSession({ ...row, ...own }));
  }

  #insert(given: FactRow, row: RawValues): void {
    this.#assertOwn(given.table, row);
    this.#fitting(given.table, row, () => this.#write(given, row));
  }

  #fitting(table: keyof FactTables, row: RawValues, write: () => void): void {
    try {
      write();
    } catch (error) {
      throw this.#refused(error, table, row);
    }
  }

  #write(given: FactRow, row: RawValues): void {
    const { factRows: rows, unions, generations, tombstones } = this.#repositories;
    const generation = generations.newest()!;
    if (given.table === "unions") {
      if (given.row.id <= generation.logPosition) {
        const what = `its log position ${given.row.id}, which is older than the embedder in use,`;
        throw new StoreError("ID_TAKEN", { sessionId: this.#sessionId, what, holder: null });
      }
      unions.add(this.#sessionId, generation.id, given.row as UnionRow);
    } else if (given.table === "undoneUnions") unions.addUndone(this.#sessionId, generation.id, given.row as UndoneRow);
    else if (given.table === "artifacts") rows.insertUnlessThere(given.table, row);
    else if (given.table === "items") {
      const isWritten = rows.insertUnlessThere(given.table, { ...row, id: null });
      if (!isWritten) this.#notes.add(`The item "${given.row.key}" stays as it is in this store.`);
    } else if (given.table === "tombstones") {
      const { tombstoneKey } = this.#origin;
      if (tombstoneKey !== null && tombstones.shareKey(tombstoneKey)) tombstones.add([given.row]);
      else this.#notes.add("What was forgotten of it comes back if its transcript is imported here.");
    } else if (given.table === "origin") invalid("a second session begins in the middle");
    else if (given.table === "sessions") rows.putSession({ ...row, project: this.#project, frontierVersion: 0 });
    else rows.insert(given.table, Object.assign(row, this.#ownValues(given)));
  }

  /** The values that each store sets by itself. */
  #ownValues(given: FactRow): RawValues {
    if (given.table === "pendingVectors") return { claimant: null, claimedUntilMs: null };
    if (given.table !== "messages") return {};
    this.#assertFree(given.row.id);
    return { parentId: given.row.id, embedderId: this.#embedderOf(given.row) };
  }

  #embedderOf({ id, embedderId, embedding, vectorCrc }: FactTables["messages"]): string | null {
    if (embedderId === this.#origin.embedderId) return embedderId;
    if (embedding == null && vectorCrc === undefined) return null;
    return invalid(`message ${id} has a vector of ${embedderId}, and the session is of ${this.#origin.embedderId}`);
  }

  #assertOwn(table: keyof FactTables, row: RawValues): void {
    const { sessions } = this.#repositories;
    if (table === "sessions") {
      const isBranch = row.supersededAtMs !== null && row.parentSessionId === this.#sessionId;
      if (!isBranch) invalid(`session "${row.id}" is no branch of session "${this.#sessionId}"`);
    } else if (typeof row.sessionId === "string" && row.sessionId !== this.#sessionId) {
      const branch = sessions.byId(row.sessionId);
      const isBranch = branch?.supersededAtMs != null && branch.parentSessionId === this.#sessionId;
      if (!isBranch) invalid(`a row of ${table} is of another session`);
    }
    for (const key of ["id", "stepId", "node", "root", "undoneAt"]) {
      const id = row[key];
      if (typeof id === "number" && (id < 1 || id > this.#origin.newestId))
        invalid(`a row of ${table} has the id ${id}`);
    }
  }

  /** Ids of block 0 may be those of another message that was forgotten here. */
  #assertFree(id: number): void {
    if (this.#known !== undefined || blockOf(id) > 0 || id > this.#newestOfFirstBlock) return;
    if (this.#origin.storeId !== null && this.#origin.storeId === storeIdOf(this.#repositories)) return;
    const { messages } = this.#repositories;
    const holder = messages.stepOf(id)?.sessionId ?? null;
    throw new StoreError("ID_TAKEN", { sessionId: this.#sessionId, what: `message ${id}`, holder });
  }

  #refused(error: unknown, table: keyof FactTables, row: RawValues): unknown {
    if (!isCode(error, "CONSTRAINT")) return error;
    const holder = isCode(error, "CONSTRAINT_(PRIMARYKEY|ROWID)")
      ? this.#repositories.factRows.holderOf(table, row.id)
      : undefined;
    if (holder === undefined || holder === this.#sessionId) {
      return new StoreError("ROWS_INVALID", { reason: `a row of ${table} does not fit the others (${error.message})` });
    }
    const names: Partial<Record<keyof FactTables, string>> = { messages: "message", unions: "log position" };
    const what = `${names[table] ?? `the row of ${table} with the id`} ${row.id}`;
    return new StoreError("ID_TAKEN", { sessionId: this.#sessionId, what, holder });
  }

  #newKnown(tombstoneKey: string | null): Known {
    return {
      changeable: undefined,
      rows: new Set(),
      messages: new Map(),
      branches: new Set(),
      entries: new Set(),
      forgotten: new Map(),
      tombstones: new ForgottenMessages(tombstoneKey),
      newestPosition: 0,
      positions: new Set(),
      summaries: new Set(),
    };
  }

  #note(known: Known, given: FactRow): void {
    const { table, row } = given;
    if (table === "messages") known.messages.set(row.id, { digest: row.digest.toString("latin1"), seq: row.seq });
    else if (table === "sessions") known.branches.add(row.id);
    else if (table === "entries") known.entries.add(row.id);
    else if (table === "forgottenMessages") known.forgotten.set(`${row.seq} ${row.forgottenAtMs}`, row.seq);
    else if (table === "tombstones") known.tombstones.add(row);
    else if (table === "unions" || table === "undoneUnions") {
      known.positions.add(row.id);
      if (row.id > known.newestPosition) known.newestPosition = row.id;
    } else if (table === "summaries" && row.status === "done") known.summaries.add(row.id);
  }

  /** Returns what only the first of two states has; undefined if the other has everything. */
  #missing(of: Known, from: Known): string | undefined {
    // A rewind gives seqs out again, so they tell less. What both have forgotten was an earlier message with this seq.
    const seqs = new Set([...from.forgotten].flatMap(([mark, seq]) => (of.forgotten.has(mark) ? [] : [seq])));
    for (const [id, { digest, seq }] of of.messages) {
      if (from.messages.get(id)?.digest === digest) continue;
      const isForgotten = from.tombstones.isEmpty
        ? seqs.has(seq)
        : from.tombstones.has(id, Buffer.from(digest, "latin1"));
      if (!isForgotten) return `message ${id}`;
    }
    for (const id of of.branches) if (!from.branches.has(id)) return `the branch "${id}"`;
    for (const id of of.entries) if (!from.entries.has(id)) return `entry ${id}`;
    for (const [mark, seq] of of.forgotten) if (!from.forgotten.has(mark)) return `a forgotten message at seq ${seq}`;
    // Forgetting rewrites the log.
    const isRewritten = from.forgotten.size > of.forgotten.size;
    if (isRewritten || of.newestPosition === 0 || from.positions.has(of.newestPosition)) return undefined;
    return `log position ${of.newestPosition}`;
  }

  #isOlder(came: Known): boolean {
    if (this.#known === undefined) return false;
    const isNothingNew = this.#missing(came, this.#known) === undefined;
    if (!isNothingNew) return false;
    if (this.#missing(this.#known, came) !== undefined) return true;
    // Both have the same conversation. A summary is worth more than a title.
    const hasNew = [...came.summaries].some((id) => !this.#known!.summaries.has(id));
    return !hasNew && [...this.#known.summaries].some((id) => !came.summaries.has(id));
  }

  #lostCount(came: Known): number {
    const own = [...(this.#known?.messages ?? [])];
    return own.filter(([id, { digest }]) => came.messages.get(id)?.digest !== digest).length;
  }

  #refuseDiverged(came: Known): void {
    if (this.#known === undefined) return;
    const sessionId = this.#sessionId;
    const what = this.#missing(this.#known, came);
    if (what !== undefined) throw new StoreError("SESSION_DIVERGED", { sessionId, what });
  }

  /** What SQLite's constraints do not: checksums, digests, vectors of the local embedder, and that no message is missing. */
  #check(): void {
    const { messages, sessions, summaries } = this.#repositories;
    const { localEmbedder } = this.#terms;
    try {
      for (const id of sessions.withBranches(this.#sessionId)) {
        sessions.byId(id);
        let count = 0;
        for (const { message, digest } of messages.each(id, invalid)) {
          if (!digestOf(message).equals(digest)) invalid(`message ${message.id} is not what was appended`);
          if (localEmbedder !== undefined && messages.rightVector(message, localEmbedder) !== undefined)
            invalid(otherVector(message.id));
          count += 1;
        }
        if (id === this.#sessionId && count !== this.#path.length) invalid(`session "${id}" lacks messages`);
        const lost = messages.lostSeqs({ sessionId: id, limit: 1 });
        if (lost.length > 0) invalid(`session "${id}" has no message at seq ${lost[0]}, and none was forgotten`);
      }
      summaries.discard(wrongSpans(this.#repositories, this.#sessionId));
    } catch (error) {
      if (error instanceof DamageError) invalid(error.message);
      throw error;
    }
  }

  #embed(): void {
    const { messages } = this.#repositories;
    const { localEmbedder } = this.#terms;
    const ids = this.#vectorless;
    if (ids.length === 0) return;
    if (localEmbedder === undefined || localEmbedder.id !== this.#origin.embedderId) invalid("they have no vectors");
    for (let from = 0; from < ids.length; from += BATCH_MESSAGES_MAX) {
      const batch = ids.slice(from, from + BATCH_MESSAGES_MAX);
      const crcs = new Map(batch.map((id, index) => [id, this.#vectorCrcs[from + index]]));
      for (const { id, text } of messages.byIds(batch)) {
        const vector = localEmbedder.embed(text);
        const embedding = vector === undefined ? undefined : encodeEmbedding(vector);
        if (embedding === undefined || crc32(embedding) !== crcs.get(id)) {
          invalid(otherVector(id));
        }
        messages.setVector({ id, embedderId: localEmbedder.id, embedding });
      }
    }
  }

  #derive(): void {
    const repositories = this.#repositories;
    const { sessions, subjects, fullText, actions } = repositories;
    const session = sessions.known(this.#sessionId);
    let derived: DerivedRows;
    try {
      derived = derivedOf(repositories, session, this.#terms);
    } catch (error) {
      if (error instanceof DamageError) invalid(error.message);
      throw error;
    }
    rebuildSession(repositories, this.#sessionId, derived);
    repositories.summaries.discard(rootlessSummaries(repositories, this.#sessionId));
    const settledFrom = subjects.firstSettled(this.#sessionId);
    if (settledFrom !== undefined) dissolveSubjects(repositories, session.project, settledFrom);
    actions.noteLate(this.#path, this.#terms.actionsOf);
    unlessDamaged(fullText, () => {
      const newest = fullText.newestId();
      const before = new Set(this.#pathBefore);
      const ids = this.#path.filter((id) => id <= newest && !before.has(id));
      for (const id of this.#path) before.delete(id);
      fullText.delete([...before]);
      for (let from = 0; from < ids.length; from += BATCH_MESSAGES_MAX) {
        const texts = [...fullText.texts(ids.slice(from, from + BATCH_MESSAGES_MAX))];
        for (const { id, text } of texts) fullText.insert(id, this.#terms.searchWords(text));
      }
    });
  }
}

function otherVector(messageId: number): string {
  return `the embedder makes another vector of message ${messageId} here`;
}

function invalid(reason: string): never {
  throw new StoreError("ROWS_INVALID", { reason });
}

/** Rows of others cannot say that a session is of a folder on this machine. */
function nameIn({ project }: RawValues): string | null {
  return project === null ? null : baseNameOf(project as string);
}

/**
 * Returns what two equal facts have in common. One of two stores may lack the parent or checksum of a session, or a vector, and each
 * has its own projects.
 */
function keyOf(given: FactRow): string {
  const values: Record<string, unknown> = { ...given.row };
  if (given.table === "sessions") {
    Object.assign(values, { parentSessionId: undefined, project: undefined, checksum: undefined });
  }
  if (given.table === "summaries") values.checksum = undefined;
  if (given.table === "messages") {
    const { embedding, vectorCrc } = given.row;
    Object.assign(values, { embedding: undefined, vectorCrc: embedding ? crc32(embedding) : vectorCrc });
  }
  const sorted = Object.fromEntries(Object.entries(values).sort(([left], [right]) => (left < right ? -1 : 1)));
  return createHash("sha256")
    .update(rowText({ table: given.table, row: sorted } as unknown as FactRow))
    .digest("binary");
}

/** Returns the values of a row, if they are of the types of its columns. @throws {StoreError} `ROWS_INVALID`. */
function checkedRow({ table, row }: FactRow): RawValues {
  if (table === "origin") return {};
  const found = Object.hasOwn(FACT_TABLES, table)
    ? FACT_TABLES[table]
    : invalid(`"${String(table)}" is no table of a session`);
  const values = row as unknown as RawValues;
  const own: readonly string[] = found.own;
  const wanted = Object.entries(found.table.columns).filter(([key]) => !own.includes(key));
  for (const [key, column] of wanted) {
    const value = values[key];
    const type = column.type;
    const isOptional = table === "messages" && key === "embedding" && value === undefined;
    const isRight =
      value === null
        ? !column.notNull
        : type === "integer"
          ? Number.isSafeInteger(value)
          : type === "real"
            ? typeof value === "number"
            : typeof value === "string" || Buffer.isBuffer(value);
    if (!isRight && !isOptional) invalid(`a row of ${table} has a wrong ${key}`);
  }
  const known = Object.fromEntries(wanted.map(([key]) => [key, values[key] ?? null]));
  if (table === "undoneUnions") assertUndone(known);
  if (table === "messages" || table === "unions" || table === "undoneUnions") return known;
  const damage = own.includes("checksum") ? undefined : columns(found.table as Table).damageOf(known);
  if (damage !== undefined) invalid(damage);
  if (table === "entries" || table === "items") assertDecodes(known);
  if (table === "sessions") assertSettings(known);
  return known;
}

/** The table has no constraints, and texts that SQLite would change do not fit their checksum. */
function assertUndone({ level, kind, members }: RawValues): void {
  const isOfLog = /^(cluster (start|join|settle)|theme unite)$/.test(`${level} ${kind}`);
  if (!isOfLog) invalid("a row of undoneUnions has a wrong level or kind");
  if (members !== null && !/^\[(\d+(,\d+)*)?\]$/.test(String(members)))
    invalid("a row of undoneUnions has wrong members");
}

function assertDecodes(row: RawValues): void {
  try {
    decodeValue(row as unknown as Parameters<typeof decodeValue>[0]);
  } catch (error) {
    invalid((error as Error).message);
  }
}

function assertSettings({ id, title, settings, metadata }: RawValues): void {
  if (title !== null && (title as string).length > ID_CHARS_MAX)
    invalid(`the title of session "${id}" has more than ${ID_CHARS_MAX} characters`);
  try {
    sessionSettings(JSON.parse(settings as string) as Partial<SessionSettings>);
    JSON.parse((metadata as string | null) ?? "{}");
  } catch (error) {
    invalid(`the settings of session "${id}" are not valid (${(error as Error).message})`);
  }
}
