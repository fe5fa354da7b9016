import { sql } from "drizzle-orm";
import {
  type AnySQLiteColumn,
  blob,
  check,
  customType,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { JsonValue, Role } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import type { Speech } from "../forest/speech.ts";
import { decodeVector, encodeVector } from "../vector/codec.ts";

// The vocabulary of the SQL that users write: a name here is public. DESIGN.md beside this file says which tables are
// facts and which are derived. Views stand in the migrations, because drizzle cannot express them.
// Longer than other files: whoever writes SQL finds every table in one place.

/** Little-endian Float32 values, 4 bytes each. */
const vector = customType<{ data: Float32Array; driverData: Buffer | null }>({
  dataType: () => "blob",
  // A placeholder hands NULL to the codec as well.
  toDriver: (values: Float32Array | null) => (values === null ? null : encodeVector(values)),
  fromDriver: (blob) => {
    // A damaged row may hold any type. What does not parse is damage, as it is with JSON: see `guard` in open.ts.
    if (!Buffer.isBuffer(blob) || blob.byteLength % Float32Array.BYTES_PER_ELEMENT !== 0) {
      throw new SyntaxError("a stored vector is not a row of 4-byte numbers");
    }
    return decodeVector(blob, blob.byteLength / Float32Array.BYTES_PER_ELEMENT);
  },
});

/** JSON text; NULL stays NULL, where drizzle's own would write the four letters. */
const json = customType<{ data: unknown; driverData: string | null }>({
  dataType: () => "text",
  toDriver: (value: unknown) => (value === null ? null : JSON.stringify(value)),
  fromDriver: (text) => JSON.parse(text!) as unknown,
});

/**
 * Which embedder the forest was grown with. Fact. The newest row is the one in use; a new generation is a forest grown
 * again from the same messages with another embedder.
 */
export const generations = sqliteTable("generations", {
  id: integer("id").primaryKey({ autoIncrement: true }),
  embedderId: text("embedder_id").notNull(),
  dimension: integer("dimension").notNull(),
  createdAtMs: integer("created_at_ms").notNull(),
  // How often rows of clusters were written anew (`forget`, `verify --rebuild`): what is cached of them holds while this stays.
  rewriteCount: integer("rewrite_count").notNull().default(0),
  // Log position at which the one before it ended: its own rows come after. 0 for the first.
  logPosition: integer("log_position").notNull().default(0),
});

/** One agent's conversation. Fact; the frontier moves, the rest stays. */
export const sessions = sqliteTable(
  "sessions",
  {
    id: text("id").primaryKey(),
    project: text("project"),
    title: text("title"),

    // Where it was imported from, and its name there. NULL for a session that was appended to directly.
    source: text("source"),
    externalId: text("external_id"),

    // A subagent's session, or a fork: messages up to the parent's seq `fork_seq` came before this session's first.
    parentSessionId: text("parent_session_id").references((): AnySQLiteColumn => sessions.id, { onDelete: "set null" }),
    forkSeq: integer("fork_seq"),

    settings: json("settings").$type<SessionSettings>().notNull(),
    metadata: json("metadata").$type<Record<string, JsonValue>>(),

    // The frontier: messages before `graduated_seq` are in the forest, those before `evicted_seq` have left the window.
    // Between the two lies the overlap.
    graduatedSeq: integer("graduated_seq").notNull().default(0),
    evictedSeq: integer("evicted_seq").notNull().default(0),
    // Moves so far: what is cached of the cold part holds while this stays.
    frontierVersion: integer("frontier_version").notNull().default(0),

    createdAtMs: integer("created_at_ms").notNull(),
  },
  (t) => [
    uniqueIndex("sessions_by_external_id").on(t.source, t.externalId).where(sql`${t.externalId} is not null`),
    index("sessions_by_project").on(t.project),
    index("sessions_by_parent").on(t.parentSessionId).where(sql`${t.parentSessionId} is not null`),
    check("sessions_frontier_ordered", sql`${t.evictedSeq} >= 0 and ${t.evictedSeq} <= ${t.graduatedSeq}`),
  ],
);

/** One row a message, exactly as it was appended. Fact, but for `parent_id`, which is derived from `unions`. */
export const messages = sqliteTable(
  "messages",
  {
    // Never reused, not even after `forget`: handles and parents name messages by it.
    id: integer("id").primaryKey({ autoIncrement: true }),
    sessionId: text("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    seq: integer("seq").notNull(),

    // First message of the step this one belongs to; its own id where it starts one.
    stepId: integer("step_id").notNull(),
    // seq of the user message that opened the turn; -1 before the first.
    turnSeq: integer("turn_seq").notNull(),

    // One step towards the root, in the forest of the newest generation; at first, and at every root, its own id.
    parentId: integer("parent_id").notNull(),

    role: text("role").$type<Role>().notNull(),
    // Stays in every context. Set for system messages and for what the caller pinned.
    pinned: integer("pinned", { mode: "boolean" }).notNull(),
    tokenCount: integer("token_count").notNull(),
    createdAtMs: integer("created_at_ms").notNull(),
    name: text("name"),
    externalId: text("external_id"),
    tokenCounter: text("token_counter").notNull(),

    // First 16 bytes of the SHA-256 of role, name and parts: what `sync` matches by and `verify` checks.
    digest: blob("digest", { mode: "buffer" }).notNull(),

    // NULL where the text has no words, and where a vector is due (see `pending_vectors`) or never came.
    embedding: vector("embedding"),
    embedderId: text("embedder_id"),

    // The long columns stand last: SQLite walks a row's overflow pages up to the last column it is asked for.
    metadata: json("metadata").$type<Record<string, JsonValue>>(),
    // What is embedded and searched: see core/text.ts. Derived from `parts`, kept because every reader wants it.
    text: text("text").notNull(),
    // JSON, lossless. A long string is replaced by a note that names its artifact; `message_artifacts` says where.
    parts: text("parts").notNull(),
  },
  (t) => [
    uniqueIndex("messages_by_seq").on(t.sessionId, t.seq),
    uniqueIndex("messages_by_external_id").on(t.sessionId, t.externalId).where(sql`${t.externalId} is not null`),
    index("messages_by_step").on(t.stepId).where(sql`${t.stepId} <> ${t.id}`),
    index("messages_pinned").on(t.sessionId, t.seq).where(sql`${t.pinned} = 1`),
    check("messages_role_known", sql`${t.role} in ('system', 'user', 'assistant', 'tool')`),
    check("messages_step_not_later", sql`${t.stepId} <= ${t.id}`),
  ],
);

/** Places of messages that were forgotten. Fact: a message that is missing without being here is a loss. */
export const forgottenMessages = sqliteTable(
  "forgotten_messages",
  {
    sessionId: text("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    seq: integer("seq").notNull(),
    forgottenAtMs: integer("forgotten_at_ms").notNull(),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.seq] })],
);

/**
 * Messages whose vector is still to come from an embedder that is elsewhere. Fact, for as long as a row stands: with the
 * vector it goes, and so it does where its message enters the forest without one.
 */
export const pendingVectors = sqliteTable(
  "pending_vectors",
  {
    messageId: integer("message_id")
      .primaryKey()
      .references(() => messages.id, { onDelete: "cascade" }),
    sessionId: text("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    // due: will be asked for. refused: the embedder takes other texts and not this one; nobody waits for it.
    status: text("status").$type<"due" | "refused">().notNull().default("due"),
    dueSinceMs: integer("due_since_ms").notNull(),
    // Tries that failed, and what came of the last one. A key never stands in it.
    attempts: integer("attempts").notNull().default(0),
    nextTryAtMs: integer("next_try_at_ms").notNull().default(0),
    errorCode: text("error_code"),
    error: text("error"),
    // Which open store is asking for it now, and when others need no longer believe that.
    claimant: text("claimant"),
    claimedUntilMs: integer("claimed_until_ms"),
  },
  (t) => [
    index("pending_vectors_by_session").on(t.sessionId, t.messageId),
    check("pending_vectors_status_known", sql`${t.status} in ('due', 'refused')`),
  ],
);

/** Long strings of messages, once each, compressed. Fact. */
export const artifacts = sqliteTable("artifacts", {
  // Lower-case hex, of the uncompressed bytes.
  sha256: text("sha256").primaryKey(),
  // "utf8", or for a string with lone surrogates, which UTF-8 cannot hold, "utf16le" after a byte order mark.
  encoding: text("encoding").$type<"utf8" | "utf16le">().notNull(),
  // Of the uncompressed bytes.
  byteLength: integer("byte_length").notNull(),
  // Deflate (RFC 1951), or as it is where that is not shorter.
  compressed: integer("compressed", { mode: "boolean" }).notNull(),
  content: blob("content", { mode: "buffer" }).notNull(),
});

/** Which string of which message is kept as which artifact. Fact. */
export const messageArtifacts = sqliteTable(
  "message_artifacts",
  {
    messageId: integer("message_id")
      .notNull()
      .references(() => messages.id, { onDelete: "cascade" }),
    // JSON Pointer (RFC 6901) into `messages.parts`: `/0/content`.
    pointer: text("pointer").notNull(),
    sha256: text("sha256")
      .notNull()
      .references(() => artifacts.sha256),
  },
  (t) => [primaryKey({ columns: [t.messageId, t.pointer] }), index("message_artifacts_by_sha256").on(t.sha256)],
);

/**
 * Vectors of another embedder on their way: the next generation is grown from them while the one in use serves. Derived:
 * what is lost is embedded, and paid for, again. Rows of a generation that is in use, or was, are waste.
 */
export const reembeddedVectors = sqliteTable(
  "reembedded_vectors",
  {
    generation: integer("generation").notNull(),
    embedderId: text("embedder_id").notNull(),
    messageId: integer("message_id")
      .notNull()
      .references(() => messages.id, { onDelete: "cascade" }),
    // NULL where the text has no words.
    embedding: vector("embedding"),
  },
  (t) => [
    primaryKey({ columns: [t.generation, t.embedderId, t.messageId] }),
    index("reembedded_vectors_by_message").on(t.messageId),
  ],
);

/**
 * The log: every start, join, settle, unite and dissolve, in order. Fact: replay applies it and decides nothing again.
 *
 * Its `id` is a log position, a version of every tree: `theme:123@456` is what theme 123 held once row 456 was written.
 */
export const unions = sqliteTable(
  "unions",
  {
    id: integer("id").primaryKey({ autoIncrement: true }),
    sessionId: text("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    generation: integer("generation")
      .notNull()
      .references(() => generations.id),
    level: text("level").$type<"cluster" | "theme" | "subject">().notNull(),
    kind: text("kind").$type<"start" | "join" | "settle" | "unite" | "dissolve">().notNull(),
    // start, join: the first message of the step; of a subject, a cluster. settle: the cluster. unite: the root that was
    // absorbed. dissolve: the subject, whose clusters are single again from here on.
    node: integer("node").notNull(),
    // start, settle, dissolve: the node itself. join: the cluster. unite: the root that stays.
    root: integer("root").notNull(),
    // join: the score that decided, a cosine plus structural terms. unite: of themes the Ward cost, of subjects the cosine of
    // the two clusters that brought them together. Otherwise NULL.
    score: real("score"),
  },
  (t) => [
    index("unions_by_session").on(t.sessionId, t.id),
    index("unions_by_root").on(t.root, t.id),
    // In each generation a step enters once, a cluster settles once, a root is absorbed once. SQLite uses the index where a
    // query says the same.
    uniqueIndex("unions_by_node").on(t.node, t.kind, t.generation).where(sql`${t.level} <> 'subject'`),
    // Subjects dissolve, so their rows may come again.
    index("unions_of_subjects").on(t.node).where(sql`${t.level} = 'subject'`),
    check(
      "unions_kind_known",
      sql`(${t.level} = 'cluster' and ${t.kind} in ('start', 'join', 'settle')) or (${t.level} = 'theme' and ${t.kind} = 'unite') or (${t.level} = 'subject' and ${t.kind} in ('start', 'unite', 'dissolve'))`,
    ),
  ],
);

/** One row a cluster. Derived from `messages` and `unions`; `verify --rebuild` writes the same bytes again. */
export const clusters = sqliteTable(
  "clusters",
  {
    rootId: integer("root_id")
      .primaryKey()
      .references(() => messages.id, { onDelete: "cascade" }),
    sessionId: text("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    stepCount: integer("step_count").notNull(),
    messageCount: integer("message_count").notNull(),
    tokenCount: integer("token_count").notNull(),
    // Sum of its members' embeddings, in log order, not normalized; and of how many.
    centroidSum: vector("centroid_sum").notNull(),
    vectorCount: integer("vector_count").notNull(),
    seqFirst: integer("seq_first").notNull(),
    seqLast: integer("seq_last").notNull(),
    // What placement knows of its last step: its turn, its time, and who spoke.
    turnLast: integer("turn_last").notNull(),
    atMsLast: integer("last_at_ms").notNull(),
    speakers: json("speakers").$type<Speech[]>().notNull(),
    // Its telling words.
    label: text("label").notNull(),
    // Log position of its last start or join.
    logPosition: integer("log_position").notNull(),
    // Log position from which it takes no members; NULL while it is open.
    settledAt: integer("settled_at"),
    // One step towards the root of its subject, itself at the root; NULL until it has been placed among the subjects.
    subjectParentId: integer("subject_parent_id"),
  },
  (t) => [
    index("clusters_by_session").on(t.sessionId, t.seqLast),
    index("clusters_open").on(t.sessionId).where(sql`${t.settledAt} is null`),
    index("clusters_settled").on(t.settledAt).where(sql`${t.settledAt} is not null`),
    index("clusters_by_subject").on(t.subjectParentId).where(sql`${t.subjectParentId} is not null`),
  ],
);

/** One row a theme that still is one: an absorbed theme has none. Derived, like `clusters`. */
export const themes = sqliteTable(
  "themes",
  {
    rootId: integer("root_id")
      .primaryKey()
      .references(() => messages.id, { onDelete: "cascade" }),
    sessionId: text("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    clusterCount: integer("cluster_count").notNull(),
    messageCount: integer("message_count").notNull(),
    tokenCount: integer("token_count").notNull(),
    centroidSum: vector("centroid_sum").notNull(),
    vectorCount: integer("vector_count").notNull(),
    seqFirst: integer("seq_first").notNull(),
    seqLast: integer("seq_last").notNull(),
    // Log position of the last start, join or unite inside it: a summary written at this position is fresh.
    logPosition: integer("log_position").notNull(),
  },
  (t) => [index("themes_by_session").on(t.sessionId)],
);

/** What a row of a summary says of the work on it. */
const trying = () => ({
  // While it is claimed: by which open store, and until when (by the store's clock) nobody else pays for the same. Later, who
  // has tried in vain.
  claimant: text("claimant"),
  claimedUntilMs: integer("claimed_until_ms"),
  // Of a failed or parked try: its code where the failure has one, and before when it is not made again; NULL: not before there
  // is more to summarize. Where `pauses`, the summarizer is asked for nothing else either.
  errorCode: text("error_code"),
  nextTryAtMs: integer("next_try_at_ms"),
  pauses: integer("pauses", { mode: "boolean" }).notNull().default(false),
  // Made by the extractive summarizer while the store's own has made none. Gives way to that one's.
  standsIn: integer("stands_in", { mode: "boolean" }).notNull().default(false),
  // What its calls cost, as the service reports it; NULL where it does not.
  inputTokens: integer("input_tokens"),
  outputTokens: integer("output_tokens"),
  costUsd: real("cost_usd"),
});

/**
 * The texts that stand for themes, one row a version or a failed try. Costly: deleting them loses time and money, but no
 * information. Text is never edited.
 *
 * A summary covers what its root held at its log position. There is no `dirty` column: a theme is dirty where its log
 * position is past its newest summary's.
 */
export const summaries = sqliteTable(
  "summaries",
  {
    id: integer("id").primaryKey({ autoIncrement: true }),
    sessionId: text("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    level: text("level").$type<"theme">().notNull(),
    rootId: integer("root_id").notNull(),
    logPosition: integer("log_position").notNull(),
    // SHA-256, hex, over the digests of the covered messages in order of seq.
    sourceDigest: text("source_digest").notNull(),
    messageCount: integer("message_count").notNull(),
    sourceTokenCount: integer("source_token_count").notNull(),
    seqFirst: integer("seq_first").notNull(),
    seqLast: integer("seq_last").notNull(),
    // Versions since the sources were last read in full: 0 is a full reading.
    readingDepth: integer("reading_depth").notNull(),

    status: text("status").$type<"claimed" | "done" | "failed" | "parked">().notNull(),
    title: text("title"),
    text: text("text"),
    tokenCount: integer("token_count"),
    summarizerId: text("summarizer_id").notNull(),
    promptVersion: integer("prompt_version").notNull(),
    // Why there is no text. A failed try is made again; a parked one waits until the theme grows, or for its next try.
    error: text("error"),
    attempts: integer("attempts").notNull(),
    createdAtMs: integer("created_at_ms").notNull(),

    // Log positions of the frontier moves that put it into the context and that took it out again. NULL: not yet.
    shownFrom: integer("shown_from"),
    shownUntil: integer("shown_until"),

    ...trying(),
  },
  (t) => [
    index("summaries_by_root").on(t.rootId, t.logPosition),
    index("summaries_standing").on(t.sessionId).where(sql`${t.status} = 'done' and ${t.shownUntil} is null`),
    index("summaries_by_session").on(t.sessionId),
    uniqueIndex("summaries_claimed").on(t.rootId).where(sql`${t.status} = 'claimed'`),
    index("summaries_pausing").on(t.summarizerId, t.nextTryAtMs).where(sql`${t.pauses} = 1`),
    check("summaries_done_has_text", sql`(${t.status} = 'done') = (${t.text} is not null)`),
  ],
);

/**
 * The texts that stand for stretches of a session in its `flat` and `sandwich` contexts, one row a version or a failed try;
 * and stretches that `compact` wants summarized (`due`). Costly, like `summaries`; never edited. The newest that is done
 * counts: with it the tries and wishes for its stretch go, and all but the newest few that are done, which it contains.
 *
 * A row covers the messages from the first to the last that are not pinned: `span:12@480` in `expand`.
 */
export const spanSummaries = sqliteTable(
  "span_summaries",
  {
    id: integer("id").primaryKey({ autoIncrement: true }),
    sessionId: text("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    strategy: text("strategy").$type<"flat" | "sandwich">().notNull(),
    firstId: integer("first_id").notNull(),
    lastId: integer("last_id").notNull(),
    seqFirst: integer("seq_first").notNull(),
    seqLast: integer("seq_last").notNull(),
    messageCount: integer("message_count").notNull(),
    sourceTokenCount: integer("source_token_count").notNull(),
    // SHA-256, hex, over the digests of the covered messages in order of seq.
    sourceDigest: text("source_digest").notNull(),
    // Versions since the sources were last read in full: 0 is a full reading.
    readingDepth: integer("reading_depth").notNull(),

    status: text("status").$type<"due" | "claimed" | "done" | "failed" | "parked">().notNull(),
    title: text("title"),
    text: text("text"),
    tokenCount: integer("token_count"),
    // NULL while it is due.
    summarizerId: text("summarizer_id"),
    promptVersion: integer("prompt_version"),
    // Why there is no text. A failed try is made again; a parked one waits until the stretch is longer, or for its next try.
    error: text("error"),
    attempts: integer("attempts").notNull(),
    createdAtMs: integer("created_at_ms").notNull(),

    ...trying(),
  },
  (t) => [
    index("span_summaries_by_session").on(t.sessionId, t.strategy, t.id),
    uniqueIndex("span_summaries_claimed").on(t.sessionId, t.strategy).where(sql`${t.status} = 'claimed'`),
    index("span_summaries_pausing").on(t.summarizerId, t.nextTryAtMs).where(sql`${t.pauses} = 1`),
    check("span_summaries_done_has_text", sql`(${t.status} = 'done') = (${t.text} is not null)`),
  ],
);

/**
 * What was paid for texts that are not kept: of tries and old versions whose rows have gone, of replies that nobody could use
 * any more. Fact.
 */
export const discardedCosts = sqliteTable(
  "discarded_costs",
  {
    sessionId: text("session_id")
      .notNull()
      .references(() => sessions.id, { onDelete: "cascade" }),
    summarizerId: text("summarizer_id").notNull(),
    inputTokens: integer("input_tokens").notNull(),
    outputTokens: integer("output_tokens").notNull(),
    costUsd: real("cost_usd"),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.summarizerId] })],
);

/**
 * Files of other programs that a watch has brought in whole, by SHA-256 (hex): of the path, and of what would change with the
 * file and of the version that has read it. They spare a reading and nothing else: rows may go at any time, and all go when
 * anything is forgotten. Derived, from what is not in the store.
 */
export const importedFiles = sqliteTable("imported_files", {
  pathDigest: text("path_digest").primaryKey(),
  stateDigest: text("state_digest").notNull(),
});
