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
  type SQLiteTable,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { JsonValue, Role } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import type { Speech } from "../forest/speech.ts";
import { decodeVector, encodeVector } from "../vector/codec.ts";

// The names of tables and columns are public, because users write SQL. This file is longer than others, so that they find every
// table in one place. Views are in the migrations, because drizzle cannot express them.

/** Little-endian Float32 values, 4 bytes each. */
const vector = customType<{ data: Float32Array; driverData: Buffer }>({
  dataType: () => "blob",
  toDriver: encodeVector,
  fromDriver: (blob) => {
    // A damaged row may hold any type. `guard` in open.ts takes a SyntaxError for damage, as with JSON.
    if (!Buffer.isBuffer(blob) || blob.byteLength % Float32Array.BYTES_PER_ELEMENT !== 0) {
      throw new SyntaxError("a stored vector is not a row of 4-byte numbers");
    }
    return decodeVector(blob, blob.byteLength / Float32Array.BYTES_PER_ELEMENT);
  },
});

/** The CRC-32 of the row's other columns: see checksum.ts. NULL in rows of older versions. */
const checksum = () => integer("checksum");

const json = customType<{ data: unknown; driverData: string }>({
  dataType: () => "text",
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (text) => JSON.parse(text) as unknown,
});

/** Rows that are deleted with their session. */
const sessionId = () =>
  text("session_id")
    .notNull()
    .references((): AnySQLiteColumn => sessions.id, { onDelete: "cascade" });

/** Rows that are deleted with their message. */
const messageReference = (name: string) =>
  integer(name).references((): AnySQLiteColumn => messages.id, { onDelete: "cascade" });

/** The embedders that forests were grown with. Fact. The newest row is in use; `reembed` grows a new generation. */
export const generations = sqliteTable("generations", {
  id: integer("id").primaryKey({ autoIncrement: true }),
  embedderId: text("embedder_id").notNull(),
  dimension: integer("dimension").notNull(),
  createdAtMs: integer("created_at_ms").notNull(),
  // How often rows of clusters were rewritten (`forget`, `verify --rebuild`). Caches of them are valid while this stays the same.
  rewriteCount: integer("rewrite_count").notNull().default(0),
  // The log position at which the previous generation ended; 0 for the first.
  logPosition: integer("log_position").notNull().default(0),
});

/** One agent's conversation. Fact; only the frontier moves. */
export const sessions = sqliteTable(
  "sessions",
  {
    id: text("id").primaryKey(),
    project: text("project"),
    title: text("title"),

    // The source that the session was imported from, and its name there. NULL if it was appended to directly.
    source: text("source"),
    externalId: text("external_id"),

    // For a subagent's session or a fork: the parent's messages up to seq `fork_seq` came before this session's first.
    parentSessionId: text("parent_session_id").references((): AnySQLiteColumn => sessions.id, { onDelete: "set null" }),
    forkSeq: integer("fork_seq"),

    settings: json("settings").$type<SessionSettings>().notNull(),
    metadata: json("metadata").$type<Record<string, JsonValue>>(),

    // The frontier: messages before `graduated_seq` are in the forest, and messages before `evicted_seq` have left the window.
    // Messages in between are the overlap.
    graduatedSeq: integer("graduated_seq").notNull().default(0),
    evictedSeq: integer("evicted_seq").notNull().default(0),
    // The number of moves. Caches of the cold part are valid while this stays the same.
    frontierVersion: integer("frontier_version").notNull().default(0),

    createdAtMs: integer("created_at_ms").notNull(),
    checksum: checksum(),
  },
  (t) => [
    uniqueIndex("sessions_by_external_id").on(t.source, t.externalId).where(sql`${t.externalId} is not null`),
    index("sessions_by_project").on(t.project),
    index("sessions_by_parent").on(t.parentSessionId).where(sql`${t.parentSessionId} is not null`),
    check("sessions_frontier_ordered", sql`${t.evictedSeq} >= 0 and ${t.evictedSeq} <= ${t.graduatedSeq}`),
  ],
);

/** One row for each message, exactly as it was appended. Fact, except `parent_id`, which is derived from `unions`. */
export const messages = sqliteTable(
  "messages",
  {
    // Never reused, not even after `forget`, because handles and parents name messages by it.
    id: integer("id").primaryKey({ autoIncrement: true }),
    sessionId: sessionId(),
    seq: integer("seq").notNull(),

    // The first message of the step; the message's own id if it starts one.
    stepId: integer("step_id").notNull(),
    // The seq of the user message that opened the turn; -1 before the first.
    turnSeq: integer("turn_seq").notNull(),

    // The next node towards the root, in the forest of the newest generation. At first, and for every root, its own id.
    parentId: integer("parent_id").notNull(),

    role: text("role").$type<Role>().notNull(),
    // True for system messages and for what the caller pinned. They stay in every context.
    pinned: integer("pinned", { mode: "boolean" }).notNull(),
    tokenCount: integer("token_count").notNull(),
    createdAtMs: integer("created_at_ms").notNull(),
    name: text("name"),
    externalId: text("external_id"),
    tokenCounter: text("token_counter").notNull(),

    // The first 16 bytes of the SHA-256 of role, name and parts. `sync` matches by it, and `verify` checks it.
    digest: blob("digest", { mode: "buffer" }).notNull(),

    // NULL if the text has no words, or if its vector is due (see `pending_vectors`) or never came.
    embedding: vector("embedding"),
    embedderId: text("embedder_id"),

    // The long columns are last, because SQLite reads a row's overflow pages up to the last column it is asked for.
    metadata: json("metadata").$type<Record<string, JsonValue>>(),
    // The text that is embedded and searched: see core/text.ts. Derived from `parts`, and stored because every reader needs it.
    text: text("text").notNull(),
    // Lossless JSON. A note that names an artifact replaces a long string; `message_artifacts` says where.
    parts: text("parts").notNull(),
    checksum: checksum(),
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

/** Forgotten messages. Fact: a message that is missing without a row here was lost. */
export const forgottenMessages = sqliteTable(
  "forgotten_messages",
  {
    sessionId: sessionId(),
    seq: integer("seq").notNull(),
    forgottenAtMs: integer("forgotten_at_ms").notNull(),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.seq] })],
);

/**
 * Messages whose vectors are due from a remote embedder. Fact. A row is deleted when its vector is stored, or when its message
 * enters the forest without one.
 */
export const pendingVectors = sqliteTable(
  "pending_vectors",
  {
    messageId: messageReference("message_id").primaryKey(),
    sessionId: sessionId(),
    // refused: the embedder takes other texts but not this one, so nobody waits for its vector.
    status: text("status").$type<"due" | "refused">().notNull().default("due"),
    dueSinceMs: integer("due_since_ms").notNull(),
    // The number of failed tries, and the last one's error, without any key.
    attempts: integer("attempts").notNull().default(0),
    nextTryAtMs: integer("next_try_at_ms").notNull().default(0),
    errorCode: text("error_code"),
    error: text("error"),
    // The open store that asks for the vector now, and until when its claim holds.
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
  // Hexadecimal. This and `byte_length` are of the uncompressed bytes.
  sha256: text("sha256").primaryKey(),
  // "utf16le", after a byte order mark, for a string with lone surrogates: UTF-8 cannot hold it.
  encoding: text("encoding").$type<"utf8" | "utf16le">().notNull(),
  byteLength: integer("byte_length").notNull(),
  // True if `content` is deflated (RFC 1951), because that is shorter.
  compressed: integer("compressed", { mode: "boolean" }).notNull(),
  content: blob("content", { mode: "buffer" }).notNull(),
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
  },
  (t) => [primaryKey({ columns: [t.messageId, t.pointer] }), index("message_artifacts_by_sha256").on(t.sha256)],
);

/**
 * Vectors of the next generation's embedder. `reembed` grows the next forest from them while the one in use serves. Costly: a
 * lost row is embedded, and paid for, again. Once the generation is in use, its rows are moved to their messages.
 */
export const reembeddedVectors = sqliteTable(
  "reembedded_vectors",
  {
    generation: integer("generation").notNull(),
    embedderId: text("embedder_id").notNull(),
    messageId: messageReference("message_id").notNull(),
    // NULL if the text has no words.
    embedding: vector("embedding"),
  },
  (t) => [
    primaryKey({ columns: [t.generation, t.embedderId, t.messageId] }),
    index("reembedded_vectors_by_message").on(t.messageId),
  ],
);

/**
 * The log: every start, join, settle, unite and dissolve, in order. Fact: replay applies it, and decides nothing again.
 *
 * `id` is a log position, a version of every tree: `theme:123@456` is what theme 123 held once row 456 was written.
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
    // start, join: the first message of the step, or the cluster that a subject starts with. settle: the cluster. unite: the
    // absorbed root. dissolve: the cluster that has no subject from here on.
    node: integer("node").notNull(),
    // start, settle, dissolve: the node itself. join: the cluster. unite: the remaining root.
    root: integer("root").notNull(),
    // join: the score that decided, a cosine plus structural terms. unite: the Ward cost of two themes, or the cosine of the two
    // clusters that united their subjects. NULL in other rows.
    score: real("score"),
    checksum: checksum(),
  },
  (t) => [
    index("unions_by_session").on(t.sessionId, t.id),
    index("unions_by_root").on(t.root, t.id),
    // In each generation a step enters once, a cluster settles once, and a root is absorbed once. SQLite uses the index for
    // queries with the same condition.
    uniqueIndex("unions_by_node").on(t.node, t.kind, t.generation).where(sql`${t.level} <> 'subject'`),
    // Clusters may lose their subjects, so their rows may occur again.
    index("unions_of_subjects").on(t.node).where(sql`${t.level} = 'subject'`),
    check(
      "unions_kind_known",
      sql`(${t.level} = 'cluster' and ${t.kind} in ('start', 'join', 'settle')) or (${t.level} = 'theme' and ${t.kind} = 'unite') or (${t.level} = 'subject' and ${t.kind} in ('start', 'unite', 'dissolve'))`,
    ),
  ],
);

/** The columns that both clusters and themes have. */
const treeColumns = () => ({
  rootId: messageReference("root_id").primaryKey(),
  sessionId: sessionId(),
  messageCount: integer("message_count").notNull(),
  tokenCount: integer("token_count").notNull(),
  // The sum of the embeddings in log order, not normalized, and the number of embeddings.
  centroidSum: vector("centroid_sum").notNull(),
  vectorCount: integer("vector_count").notNull(),
  seqFirst: integer("seq_first").notNull(),
  seqLast: integer("seq_last").notNull(),
  // The log position of the last start or join, or of a theme's last unite. A summary of a theme at this position is fresh.
  logPosition: integer("log_position").notNull(),
});

/** Clusters. Derived from `messages` and `unions`: `verify --rebuild` writes the same bytes again. */
export const clusters = sqliteTable(
  "clusters",
  {
    ...treeColumns(),
    stepCount: integer("step_count").notNull(),
    // The last step, as placement sees it.
    turnLast: integer("turn_last").notNull(),
    atMsLast: integer("last_at_ms").notNull(),
    speakers: json("speakers").$type<Speech[]>().notNull(),
    // The words that tell the cluster from others.
    label: text("label").notNull(),
    // The log position at which the cluster settled; NULL while it is open.
    settledAt: integer("settled_at"),
    // The root of its subject, which may be the cluster itself; NULL until it is assigned to one.
    subjectParentId: integer("subject_parent_id"),
    checksum: checksum(),
  },
  (t) => [
    index("clusters_by_session").on(t.sessionId, t.seqLast),
    index("clusters_open").on(t.sessionId).where(sql`${t.settledAt} is null`),
    index("clusters_settled").on(t.settledAt).where(sql`${t.settledAt} is not null`),
    index("clusters_by_subject").on(t.subjectParentId).where(sql`${t.subjectParentId} is not null`),
  ],
);

/** Themes. An absorbed theme has no row. Derived, like `clusters`. */
export const themes = sqliteTable(
  "themes",
  { ...treeColumns(), clusterCount: integer("cluster_count").notNull(), checksum: checksum() },
  (t) => [index("themes_by_session").on(t.sessionId)],
);

/** The columns that both tables of summaries have. */
const summaryColumns = () => ({
  id: integer("id").primaryKey({ autoIncrement: true }),
  sessionId: sessionId(),
  seqFirst: integer("seq_first").notNull(),
  seqLast: integer("seq_last").notNull(),
  messageCount: integer("message_count").notNull(),
  sourceTokenCount: integer("source_token_count").notNull(),
  // SHA-256, hex, over the digests of the covered messages in order of seq.
  sourceDigest: text("source_digest").notNull(),
  // The number of versions since all sources were read; 0 if this version read them all.
  readingDepth: integer("reading_depth").notNull(),

  title: text("title"),
  text: text("text"),
  tokenCount: integer("token_count"),
  // Why there is no text. A failed try is repeated. A parked one waits until there is more to summarize, or for its next try.
  error: text("error"),
  attempts: integer("attempts").notNull(),
  createdAtMs: integer("created_at_ms").notNull(),

  // The open store that makes the summary, and until when (by the store's clock) nobody else pays for the same. In the row of
  // a failed or parked try, the store that tried.
  claimant: text("claimant"),
  claimedUntilMs: integer("claimed_until_ms"),
  // The error's code, and when the try is repeated. NULL: not before there is more to summarize.
  errorCode: text("error_code"),
  nextTryAtMs: integer("next_try_at_ms"),
  // True if the summarizer is asked for nothing else until then.
  pauses: integer("pauses", { mode: "boolean" }).notNull().default(false),
  // True for a text of the extractive summarizer, which gives way to one of the store's own summarizer.
  standsIn: integer("stands_in", { mode: "boolean" }).notNull().default(false),
  // The costs of the calls. NULL if the service does not report them.
  inputTokens: integer("input_tokens"),
  outputTokens: integer("output_tokens"),
  costUsd: real("cost_usd"),
  checksum: checksum(),
});

/**
 * Summaries of themes: a row for each version, claim, and failed try. Costly: a lost row costs time and money, but no
 * information. Text is never edited.
 *
 * A summary covers what its root held at its log position. There is no `dirty` column: a theme is dirty if its log position is
 * past its newest summary's.
 */
export const summaries = sqliteTable(
  "summaries",
  {
    ...summaryColumns(),
    level: text("level").$type<"theme">().notNull(),
    rootId: integer("root_id").notNull(),
    logPosition: integer("log_position").notNull(),
    status: text("status").$type<"claimed" | "done" | "failed" | "parked">().notNull(),
    summarizerId: text("summarizer_id").notNull(),
    promptVersion: integer("prompt_version").notNull(),

    // The log positions of the frontier moves that put the summary into the context and took it out. NULL before.
    shownFrom: integer("shown_from"),
    shownUntil: integer("shown_until"),
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
 * Summaries of spans, for `flat` and `sandwich` contexts: a row for each version, claim, and failed try, and for each span that
 * `compact` wants summarized (`due`). Costly, like `summaries`, and never edited. The newest finished row counts. It supersedes
 * the tries and due rows for its span, and all older finished rows except a few.
 *
 * A row covers the messages from the first to the last that are not pinned: `span:12@480` in `expand`.
 */
export const spanSummaries = sqliteTable(
  "span_summaries",
  {
    ...summaryColumns(),
    strategy: text("strategy").$type<"flat" | "sandwich">().notNull(),
    firstId: integer("first_id").notNull(),
    lastId: integer("last_id").notNull(),
    status: text("status").$type<"due" | "claimed" | "done" | "failed" | "parked">().notNull(),
    // NULL while it is due.
    summarizerId: text("summarizer_id"),
    promptVersion: integer("prompt_version"),
  },
  (t) => [
    index("span_summaries_by_session").on(t.sessionId, t.strategy, t.id),
    uniqueIndex("span_summaries_claimed").on(t.sessionId, t.strategy).where(sql`${t.status} = 'claimed'`),
    index("span_summaries_pausing").on(t.summarizerId, t.nextTryAtMs).where(sql`${t.pauses} = 1`),
    check("span_summaries_done_has_text", sql`(${t.status} = 'done') = (${t.text} is not null)`),
  ],
);

/** The costs of summaries that were not kept: tries, old versions, and replies that nobody could use. Fact. */
export const discardedCosts = sqliteTable(
  "discarded_costs",
  {
    sessionId: sessionId(),
    summarizerId: text("summarizer_id").notNull(),
    inputTokens: integer("input_tokens").notNull(),
    outputTokens: integer("output_tokens").notNull(),
    costUsd: real("cost_usd"),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.summarizerId] })],
);

/**
 * Transcripts that a watch has imported whole. Derived from other programs' files: rows spare a reading, may be deleted at any
 * time, and are all deleted when anything is forgotten. Both columns are SHA-256, hex: of the path, and of the file's state
 * together with the version that read it.
 */
export const importedFiles = sqliteTable("imported_files", {
  pathDigest: text("path_digest").primaryKey(),
  stateDigest: text("state_digest").notNull(),
});

/**
 * The tables whose rows have checksums, each with the columns that are not covered because they change later. A column that a
 * later version adds belongs here too, because the checksums of older rows do not know it.
 */
export const UNSEALED: ReadonlyMap<SQLiteTable, readonly string[]> = new Map<SQLiteTable, readonly string[]>([
  [sessions, ["parentSessionId", "graduatedSeq", "evictedSeq", "frontierVersion"]],
  [messages, ["parentId", "embedding", "embedderId"]],
  [unions, []],
  [clusters, ["settledAt", "subjectParentId"]],
  [themes, []],
  [summaries, ["rootId", "logPosition", "claimedUntilMs", "shownFrom", "shownUntil"]],
  [spanSummaries, ["claimedUntilMs"]],
]);
