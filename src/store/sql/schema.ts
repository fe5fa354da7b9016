import { sql } from "drizzle-orm";
import {
  type AnySQLiteColumn,
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
import type { ActionKind, ActionOutcome } from "../../core/action.ts";
import type { JsonValue, Role } from "../../core/message.ts";
import type { SessionSettings, SpanStrategy } from "../../core/options.ts";
import type { Speech } from "../../forest/speech.ts";
import type { Theme } from "../../forest/themes.ts";
import { CODECS, type ValueEncoding } from "./codecs.ts";

// Names of tables and columns are public, because users write SQL. This file is long, so that users find every table in
// one place. Views are in the migrations, because drizzle cannot express them.

const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => "blob", ...CODECS.bytes });

const vector = customType<{ data: Float32Array; driverData: Buffer }>({ dataType: () => "blob", ...CODECS.vector });

const embedding = customType<{ data: Float32Array; driverData: Buffer }>({
  dataType: () => "blob",
  ...CODECS.embedding,
});

/** The CRC-32 of the row's other columns: see checksum.ts. */
const checksum = () => integer("checksum").notNull();

const json = customType<{ data: unknown; driverData: string }>({ dataType: () => "text", ...CODECS.json });

/** A theme at a log position. Its sum is in base64. */
export type ThemeCheckpoint = Omit<Theme, "sum"> & { sum: string; logPosition: number };

const sessionId = () =>
  text("session_id")
    .notNull()
    .references((): AnySQLiteColumn => sessions.id, { onDelete: "cascade" });

const messageReference = (name: string) =>
  integer(name).references((): AnySQLiteColumn => messages.id, { onDelete: "cascade" });

/** The embedders that forests were grown with. Fact. The newest row is in use; `reembed` adds one. */
export const generations = sqliteTable("generations", {
  id: integer("id").primaryKey({ autoIncrement: true }),
  embedderId: text("embedder_id").notNull(),
  dimension: integer("dimension").notNull(),
  createdAtMs: integer("created_at_ms").notNull(),
  // How often clusters were rewritten (`forget`, `verify --rebuild`). Caches of them are valid while it stays the same.
  rewriteCount: integer("rewrite_count").notNull().default(0),
  // The log position at which the previous generation ended; 0 for the first.
  logPosition: integer("log_position").notNull().default(0),
  checksum: checksum(),
});

/** One agent's conversation. Fact; only the frontier moves. */
export const sessions = sqliteTable(
  "sessions",
  {
    id: text("id").primaryKey(),
    project: text("project"),
    title: text("title"),
    // The person whose session it is, if it is a copy from a hub. NULL: it is of this store.
    author: text("author"),

    // The source of an imported session, and its name there.
    source: text("source"),
    externalId: text("external_id"),

    // A subagent's session or a fork begins after the parent's message `fork_seq`.
    parentSessionId: text("parent_session_id").references((): AnySQLiteColumn => sessions.id, { onDelete: "set null" }),
    forkSeq: integer("fork_seq"),

    settings: json("settings").$type<SessionSettings>().notNull(),
    metadata: json("metadata").$type<Record<string, JsonValue>>(),

    // Messages before `graduated_seq` are in the forest; messages before `evicted_seq` have left the window.
    graduatedSeq: integer("graduated_seq").notNull().default(0),
    evictedSeq: integer("evicted_seq").notNull().default(0),
    // The number of moves. Caches of the forest are valid while it stays the same.
    frontierVersion: integer("frontier_version").notNull().default(0),

    createdAtMs: integer("created_at_ms").notNull(),
    checksum: checksum(),

    // Set in a branch: messages that were taken off the path of the parent session, which stays until `fork_seq`.
    supersededAtMs: integer("superseded_at_ms"),
    // The rewinds of the parent, from 1. `undo` takes back the newest. NULL if `undo` made the branch.
    rewindNumber: integer("rewind_number"),
  },
  (t) => [
    uniqueIndex("sessions_by_external_id").on(t.source, t.externalId).where(sql`${t.externalId} is not null`),
    index("sessions_by_project").on(t.project),
    index("sessions_by_parent").on(t.parentSessionId).where(sql`${t.parentSessionId} is not null`),
    index("sessions_superseded").on(t.id).where(sql`${t.supersededAtMs} is not null`),
    check("sessions_frontier_ordered", sql`${t.evictedSeq} >= 0 and ${t.evictedSeq} <= ${t.graduatedSeq}`),
  ],
);

/** SQL for `messages.text`. Damaged JSON must not stop a statement that reads many rows: the checksum finds it. */
const TEXT_OF_ROW = `CASE
  WHEN typeof(stored_text) <> 'blob' THEN stored_text
  WHEN json_valid(parts) THEN
    substr(
      coalesce(CASE parts ->> '$[0].type' WHEN 'text' THEN parts ->> '$[0].text' ELSE parts ->> '$[0].content' END, ''),
      1, CAST(CAST(stored_text AS TEXT) AS INTEGER))
    || substr(CAST(stored_text AS TEXT), instr(CAST(stored_text AS TEXT), ' ') + 1)
  ELSE CAST(stored_text AS TEXT)
END`;

/** One row for each message, exactly as it was appended. Fact, except `parent_id`, which is derived from `unions`. */
export const messages = sqliteTable(
  "messages",
  {
    // Never reused, because handles and parents name messages by id.
    id: integer("id").primaryKey({ autoIncrement: true }),
    sessionId: sessionId(),
    seq: integer("seq").notNull(),

    // The first message of the step.
    stepId: integer("step_id").notNull(),
    // The seq of the user message that began the turn; -1 if there was none.
    turnSeq: integer("turn_seq").notNull(),

    // The parent in the newest generation. Roots, and messages outside the forest, are their own parents.
    parentId: integer("parent_id").notNull(),

    role: text("role").$type<Role>().notNull(),
    // True for system messages and for messages that the caller pinned.
    pinned: integer("pinned", { mode: "boolean" }).notNull(),
    tokenCount: integer("token_count").notNull(),
    createdAtMs: integer("created_at_ms").notNull(),
    name: text("name"),
    externalId: text("external_id"),
    tokenCounter: text("token_counter").notNull(),

    // The first 16 bytes of the SHA-256 of role, name and parts.
    digest: bytes("digest").notNull(),

    // NULL if the text has no words, or if its vector is due (see `pending_vectors`) or never came.
    embedding: embedding("embedding"),
    embedderId: text("embedder_id"),

    // Long columns are last, because SQLite reads a row only up to the last column that is asked for.
    metadata: json("metadata").$type<Record<string, JsonValue>>(),
    // A TEXT is the whole `text`. The BLOB `12 and so on` stands for the first 12 characters of the first part, and `and so on`.
    storedText: text("stored_text").notNull(),
    // JSON. A note replaces a long string; `message_artifacts` says where.
    parts: text("parts").notNull(),
    // The text that is embedded and searched: see core/text.ts.
    text: text("text").notNull().generatedAlwaysAs(sql.raw(TEXT_OF_ROW), { mode: "virtual" }),
    checksum: checksum(),
  },
  (t) => [
    uniqueIndex("messages_by_seq").on(t.sessionId, t.seq),
    uniqueIndex("messages_by_external_id").on(t.sessionId, t.externalId).where(sql`${t.externalId} is not null`),
    index("messages_by_parent").on(t.parentId),
    index("messages_by_step").on(t.stepId).where(sql`${t.stepId} <> ${t.id}`),
    index("messages_pinned").on(t.sessionId, t.seq).where(sql`${t.pinned} = 1`),
    check("messages_role_known", sql`${t.role} in ('system', 'user', 'assistant', 'tool')`),
    check("messages_step_not_later", sql`${t.stepId} <= ${t.id}`),
  ],
);

/** Forgotten messages. Fact: a message that is missing without a row here was lost. */
export const forgottenMessages = sqliteTable(
  "forgotten_messages",
  {
    sessionId: sessionId(),
    seq: integer("seq").notNull(),
    forgottenAtMs: integer("forgotten_at_ms").notNull(),
    checksum: checksum(),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.seq] })],
);

/**
 * The sessions that upkeep may have work for. Derived: triggers add a session when a message comes or its frontier moves, and upkeep
 * deletes it when no step can graduate and no cluster can settle.
 */
export const awakeSessions = sqliteTable("awake_sessions", { sessionId: sessionId().primaryKey() });

/** Messages whose vectors are due from a remote embedder. Fact. Rows end when vectors or graduation come. */
export const pendingVectors = sqliteTable(
  "pending_vectors",
  {
    messageId: messageReference("message_id").primaryKey(),
    sessionId: sessionId(),
    // refused: the embedder accepts other texts and not this one.
    status: text("status").$type<"due" | "refused">().notNull().default("due"),
    dueSinceMs: integer("due_since_ms").notNull(),
    // The number of failed attempts, and the last error, without any key.
    attempts: integer("attempts").notNull().default(0),
    nextTryAtMs: integer("next_try_at_ms").notNull().default(0),
    errorCode: text("error_code"),
    error: text("error"),
    // The open store that is requesting the vector, and when its claim expires.
    claimant: text("claimant"),
    claimedUntilMs: integer("claimed_until_ms"),
  },
  (t) => [
    index("pending_vectors_by_session").on(t.sessionId, t.messageId),
    check("pending_vectors_status_known", sql`${t.status} in ('due', 'refused')`),
  ],
);

/** Long strings of messages, each stored once and compressed. Fact. */
export const artifacts = sqliteTable("artifacts", {
  // In hex. The digest and `byte_length` are of the uncompressed bytes.
  sha256: text("sha256").primaryKey(),
  // "utf16le" with a byte order mark if the string has lone surrogates, which UTF-8 cannot hold.
  encoding: text("encoding").$type<"utf8" | "utf16le">().notNull(),
  byteLength: integer("byte_length").notNull(),
  // True if `content` is deflated (RFC 1951).
  compressed: integer("compressed", { mode: "boolean" }).notNull(),
  content: bytes("content").notNull(),
});

/** The strings of messages that are kept as artifacts. Fact. */
export const messageArtifacts = sqliteTable(
  "message_artifacts",
  {
    messageId: messageReference("message_id").notNull(),
    // JSON Pointer (RFC 6901) into `messages.parts`: `/0/content`.
    pointer: text("pointer").notNull(),
    sha256: text("sha256")
      .notNull()
      .references(() => artifacts.sha256),
    checksum: checksum(),
  },
  (t) => [primaryKey({ columns: [t.messageId, t.pointer] }), index("message_artifacts_by_sha256").on(t.sha256)],
);

/**
 * Vectors of the next generation's embedder, from which `reembed` grows the next forest. Later they are moved to their
 * messages. Costly: a lost row must be embedded and paid for again.
 */
export const reembeddedVectors = sqliteTable(
  "reembedded_vectors",
  {
    generation: integer("generation").notNull(),
    embedderId: text("embedder_id").notNull(),
    messageId: messageReference("message_id").notNull(),
    // NULL if the text has no words.
    embedding: embedding("embedding"),
  },
  (t) => [
    primaryKey({ columns: [t.generation, t.embedderId, t.messageId] }),
    index("reembedded_vectors_by_message").on(t.messageId),
  ],
);

/**
 * The log: every start, join, settle, unite and dissolve, in order. Fact. Replay applies it and decides nothing.
 *
 * `id` is a log position: `theme:123@456` is what theme 123 held after row 456 was written.
 */
export const unions = sqliteTable(
  "unions",
  {
    id: integer("id").primaryKey({ autoIncrement: true }),
    sessionId: sessionId(),
    generation: integer("generation")
      .notNull()
      .references(() => generations.id),
    level: text("level").$type<"cluster" | "theme" | "subject">().notNull(),
    kind: text("kind").$type<"start" | "join" | "settle" | "unite" | "dissolve">().notNull(),
    // start, join: the step, or the first cluster of a subject. settle: the cluster. unite: the absorbed root.
    // dissolve: the cluster that loses its subject.
    node: integer("node").notNull(),
    // join: the cluster. unite: the remaining root. Otherwise: the node itself.
    root: integer("root").notNull(),
    // join: the score. unite: the Ward cost of two themes, or a cluster's cosine with its subject. NULL in other rows.
    score: real("score"),
    checksum: checksum(),
  },
  (t) => [
    index("unions_by_session").on(t.sessionId, t.id),
    index("unions_by_root").on(t.root, t.id),
    // In each session and generation a step enters once, a cluster settles once, and a root is absorbed once.
    uniqueIndex("unions_by_node").on(t.node, t.kind, t.generation, t.sessionId).where(sql`${t.level} <> 'subject'`),
    // A cluster may lose its subject, so its rows may occur again.
    index("unions_of_subjects").on(t.node).where(sql`${t.level} = 'subject'`),
    check(
      "unions_kind_known",
      sql`(${t.level} = 'cluster' and ${t.kind} in ('start', 'join', 'settle')) or (${t.level} = 'theme' and ${t.kind} = 'unite') or (${t.level} = 'subject' and ${t.kind} in ('start', 'unite', 'dissolve'))`,
    ),
  ],
);

/**
 * Rows of the log that a rewind has taken back, with the log position from which they no longer held. Fact: handles of
 * earlier positions name what their roots held then.
 */
export const undoneUnions = sqliteTable(
  "undone_unions",
  {
    id: integer("id").notNull(),
    sessionId: sessionId(),
    generation: integer("generation").notNull(),
    level: text("level").$type<"cluster" | "theme">().notNull(),
    kind: text("kind").$type<"start" | "join" | "settle" | "unite">().notNull(),
    node: integer("node").notNull(),
    root: integer("root").notNull(),
    score: real("score"),
    undoneAt: integer("undone_at").notNull(),
    // start, join: the ids of the step's messages. A rewind may divide a step, and other results may then complete it.
    members: text("members"),
    checksum: checksum(),
  },
  (t) => [
    primaryKey({ columns: [t.id, t.undoneAt] }),
    index("undone_unions_by_root").on(t.root, t.id),
    index("undone_unions_by_session").on(t.sessionId, t.undoneAt),
  ],
);

/** Where the frontier of a session stood when the session had `seq_end` messages. Fact. A rewind puts it back there. */
export const frontierMoves = sqliteTable(
  "frontier_moves",
  {
    sessionId: sessionId(),
    seqEnd: integer("seq_end").notNull(),
    graduatedSeq: integer("graduated_seq").notNull(),
    evictedSeq: integer("evicted_seq").notNull(),
    logPosition: integer("log_position").notNull(),
    checksum: checksum(),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.seqEnd] })],
);

/** All themes of a session at some log positions, so that a rewind need not add up all vectors again. Derived. */
export const themeCheckpoints = sqliteTable(
  "theme_checkpoints",
  {
    id: integer("id").primaryKey(),
    sessionId: sessionId(),
    logPosition: integer("log_position").notNull(),
    graduatedSeq: integer("graduated_seq").notNull(),
    themes: json("themes").$type<ThemeCheckpoint[]>().notNull(),
    checksum: checksum(),
  },
  (t) => [uniqueIndex("theme_checkpoints_by_session").on(t.sessionId, t.logPosition)],
);

/**
 * What a fork shares: messages and log rows of the sessions that hold its past, oldest first. Fact. A fork of a fork has a row
 * for each session. A session that others share is not deleted before them.
 */
export const sharedPasts = sqliteTable(
  "shared_pasts",
  {
    sessionId: sessionId(),
    holderId: text("holder_id")
      .notNull()
      .references((): AnySQLiteColumn => sessions.id, { onDelete: "restrict" }),
    // The messages, both included.
    seqFirst: integer("seq_first").notNull(),
    seqLast: integer("seq_last").notNull(),
    // The newest shared row of the holder's log.
    logPosition: integer("log_position").notNull(),
    checksum: checksum(),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.seqFirst] }), index("shared_pasts_by_holder").on(t.holderId)],
);

/** A session and the forks that share one of its clusters each have a row for it, because each lets it grow. */
const treeColumns = () => ({
  rootId: messageReference("root_id").notNull(),
  sessionId: sessionId(),
  messageCount: integer("message_count").notNull(),
  tokenCount: integer("token_count").notNull(),
  // The sum of the embeddings in log order, not normalized.
  centroidSum: vector("centroid_sum").notNull(),
  vectorCount: integer("vector_count").notNull(),
  seqFirst: integer("seq_first").notNull(),
  seqLast: integer("seq_last").notNull(),
  // The log position of the last start, join or unite.
  logPosition: integer("log_position").notNull(),
});

/** Clusters. Derived: `verify --rebuild` writes the same bytes again. */
export const clusters = sqliteTable(
  "clusters",
  {
    ...treeColumns(),
    stepCount: integer("step_count").notNull(),
    turnLast: integer("turn_last").notNull(),
    atMsLast: integer("last_at_ms").notNull(),
    speakers: json("speakers").$type<Speech[]>().notNull(),
    // The title, in words of the messages.
    label: text("label").notNull(),
    // NULL while the cluster is open.
    settledAt: integer("settled_at"),
    // The root of its subject; NULL until the cluster is assigned to a subject.
    subjectParentId: integer("subject_parent_id"),
    checksum: checksum(),
  },
  (t) => [
    primaryKey({ columns: [t.rootId, t.sessionId] }),
    index("clusters_by_session").on(t.sessionId, t.seqLast),
    index("clusters_open").on(t.sessionId).where(sql`${t.settledAt} is null`),
    index("clusters_settled").on(t.settledAt).where(sql`${t.settledAt} is not null`),
    index("clusters_by_subject").on(t.subjectParentId).where(sql`${t.subjectParentId} is not null`),
    index("clusters_unassigned")
      .on(t.sessionId)
      .where(sql`${t.settledAt} is not null and ${t.subjectParentId} is null`),
  ],
);

/**
 * What the tool calls of messages did. Derived: a row for each action of a step, made when the step is read by upkeep. `noted_to` in
 * `store_settings` has the id of the newest message that was read.
 */
export const actions = sqliteTable(
  "actions",
  {
    // The message with the call, and its part.
    messageId: messageReference("message_id").notNull(),
    ordinal: integer("ordinal").notNull(),
    part: integer("part").notNull(),
    // The message with the result, if there is one.
    resultId: integer("result_id"),
    kind: text("kind").$type<ActionKind>().notNull(),
    // The name of the file, the program or the tool. Actions are found by it.
    name: text("name").notNull(),
    // The path, the program with its arguments, the pattern, the address, or the beginning of the task.
    target: text("target").notNull(),
    outcome: text("outcome").$type<ActionOutcome>().notNull(),
    // The error without what differs each time it occurs.
    error: text("error"),
    checksum: checksum(),
  },
  (t) => [
    primaryKey({ columns: [t.messageId, t.ordinal] }),
    index("actions_by_name").on(t.name, t.messageId),
    index("actions_by_error").on(t.error, t.messageId).where(sql`${t.error} is not null`),
  ],
);

/** Themes. An absorbed theme has no row. Derived, like `clusters`. */
export const themes = sqliteTable(
  "themes",
  { ...treeColumns(), clusterCount: integer("cluster_count").notNull(), checksum: checksum() },
  (t) => [primaryKey({ columns: [t.rootId, t.sessionId] }), index("themes_by_session").on(t.sessionId)],
);

/**
 * Summaries: a row for each version, claim, and failed attempt. Costly: a lost row costs time and money, but no information.
 * Text is never edited.
 *
 * - `cluster`: what a model said of the steps that the cluster held at the log position, without those that an earlier row covers.
 * - `flat`, `sandwich`: the one summary of such a context. Its newest finished row counts. A `due` row is a span that `compact`
 *   wants summarized.
 */
export const summaries = sqliteTable(
  "summaries",
  {
    id: integer("id").primaryKey({ autoIncrement: true }),
    sessionId: sessionId(),
    level: text("level").$type<"cluster" | "overview" | SpanStrategy>().notNull(),
    // The two numbers of the handle: the root and a log position, or the ids of the span's first and last message.
    rootId: integer("root_id").notNull(),
    logPosition: integer("log_position").notNull(),
    // These say what was read.
    seqFirst: integer("seq_first").notNull(),
    seqLast: integer("seq_last").notNull(),
    messageCount: integer("message_count").notNull(),
    sourceTokenCount: integer("source_token_count").notNull(),
    // SHA-256 of the digests of these messages in order of seq, in hex.
    sourceDigest: text("source_digest").notNull(),
    // How many versions ago the messages themselves were summarized; 0 if this version read them all.
    readingDepth: integer("reading_depth").notNull(),

    status: text("status").$type<"due" | "claimed" | "done" | "failed" | "parked">().notNull(),
    title: text("title"),
    text: text("text"),
    tokenCount: integer("token_count"),
    summarizerId: text("summarizer_id").notNull(),
    promptVersion: integer("prompt_version").notNull(),
    // Why there is no text. A failed attempt is repeated. A parked one waits for more messages, or for `next_try_at_ms`.
    error: text("error"),
    attempts: integer("attempts").notNull(),
    createdAtMs: integer("created_at_ms").notNull(),

    // The log positions of the frontier moves that put the summary into the context and took it out. A rewind takes it out, too.
    // `shown_from` is NULL for the spans of `flat` and `sandwich`.
    shownFrom: integer("shown_from"),
    shownUntil: integer("shown_until"),

    // The open store that makes the summary, and when its claim expires. In a failed or parked row, the store that tried.
    claimant: text("claimant"),
    claimedUntilMs: integer("claimed_until_ms"),
    // `next_try_at_ms`: when to try again. NULL: when there is more to summarize.
    errorCode: text("error_code"),
    nextTryAtMs: integer("next_try_at_ms"),
    // True if the summarizer must not be asked for anything until `next_try_at_ms`.
    pauses: integer("pauses", { mode: "boolean" }).notNull().default(false),
    // True for a text of the extractive summarizer. The store's own summarizer replaces it.
    standsIn: integer("stands_in", { mode: "boolean" }).notNull().default(false),
    // NULL if the service does not report costs. If clusters shared a call, the first of their rows has its cost.
    inputTokens: integer("input_tokens"),
    outputTokens: integer("output_tokens"),
    costUsd: real("cost_usd"),
    checksum: checksum(),
  },
  (t) => [
    index("summaries_by_root").on(t.rootId, t.logPosition),
    index("summaries_standing").on(t.sessionId).where(sql`${t.status} = 'done' and ${t.shownUntil} is null`),
    index("summaries_by_session").on(t.sessionId),
    index("summaries_overviews").on(t.sessionId, t.id).where(sql`${t.level} = 'overview'`),
    uniqueIndex("summaries_claimed").on(t.rootId, t.level, t.sessionId).where(sql`${t.status} = 'claimed'`),
    index("summaries_pausing").on(t.summarizerId, t.nextTryAtMs).where(sql`${t.pauses} = 1`),
    check("summaries_done_has_text", sql`(${t.status} = 'done') = (${t.text} is not null)`),
  ],
);

/** The costs of attempts, old versions, and answers that nobody could use. Fact. */
export const discardedCosts = sqliteTable(
  "discarded_costs",
  {
    sessionId: sessionId(),
    summarizerId: text("summarizer_id").notNull(),
    inputTokens: integer("input_tokens").notNull(),
    outputTokens: integer("output_tokens").notNull(),
    costUsd: real("cost_usd"),
    checksum: checksum(),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.summarizerId] })],
);

/**
 * Transcripts that were imported. Derived: rows only save reading, and all are deleted when anything is forgotten.
 * The digests are SHA-256 in hex: of the path, and of the file's size, times and inode with the version that read it.
 */
export const importedFiles = sqliteTable("imported_files", {
  pathDigest: text("path_digest").primaryKey(),
  stateDigest: text("state_digest").notNull(),
  // JSON of `FoundInFile`, in imported-files.ts.
  found: text("found").notNull(),
});

/**
 * What an import must leave out, because it was forgotten. Fact. Rows hold digests and ids, and no text: see tombstones.ts.
 */
export const tombstones = sqliteTable(
  "tombstones",
  {
    // The digest of the name of a message or a session in its source, or of its content and the beginning of its session.
    digest: bytes("digest").primaryKey(),
    // The digest of the id of the session in this store. `restore` finds the rows by it.
    sessionDigest: bytes("session_digest").notNull(),
    // The digest of the beginning of the session, in rows about the content of a message.
    openingDigest: bytes("opening_digest"),
    // NULL in rows about the whole session.
    messageId: integer("message_id"),
    forgottenAtMs: integer("forgotten_at_ms").notNull(),
    checksum: checksum(),
  },
  (t) => [
    index("tombstones_by_session").on(t.sessionDigest),
    index("tombstones_by_opening").on(t.openingDigest).where(sql`${t.openingDigest} is not null`),
  ],
);

/** JSON as text, or bytes: see stored-value.ts. */
const storedValue = customType<{ data: string | Buffer; driverData: string | Buffer }>({ dataType: () => "blob" });

const encoding = () => text("encoding").$type<ValueEncoding>().notNull();

/** JSON of a program that is in order with the messages of a session, but is no message. Fact. It is not searched. */
export const entries = sqliteTable(
  "entries",
  {
    // The position in its session. Never reused.
    id: integer("id").primaryKey({ autoIncrement: true }),
    sessionId: sessionId(),
    // The seq of the next message when the entry was appended.
    beforeSeq: integer("before_seq").notNull(),
    externalId: text("external_id"),
    createdAtMs: integer("created_at_ms").notNull(),
    encoding: encoding(),
    value: storedValue("value").notNull(),
    checksum: checksum(),
  },
  (t) => [
    index("entries_by_session").on(t.sessionId),
    uniqueIndex("entries_by_external_id").on(t.sessionId, t.externalId).where(sql`${t.externalId} is not null`),
  ],
);

/** Values of programs by namespace and key. Fact. */
export const items = sqliteTable(
  "items",
  {
    id: integer("id").primaryKey(),
    // A list of texts as JSON.
    namespace: text("namespace").notNull(),
    key: text("key").notNull(),
    // An item that belongs to a session is forgotten with it.
    sessionId: text("session_id").references((): AnySQLiteColumn => sessions.id, { onDelete: "cascade" }),
    createdAtMs: integer("created_at_ms").notNull(),
    writtenAtMs: integer("updated_at_ms").notNull(),
    encoding: encoding(),
    value: storedValue("value").notNull(),
    checksum: checksum(),
  },
  (t) => [
    uniqueIndex("items_by_key").on(t.namespace, t.key),
    index("items_by_session").on(t.sessionId).where(sql`${t.sessionId} is not null`),
  ],
);

/** What belongs to the whole store, as JSON. Fact. */
export const storeSettings = sqliteTable("store_settings", {
  name: text("name").primaryKey(),
  value: json("value").notNull(),
  checksum: checksum(),
});
