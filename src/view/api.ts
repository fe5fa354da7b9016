// This file is long, so that every route and what it answers are in one place.

import type { Span } from "../core/inline-markdown.ts";
import type { JsonValue, Role } from "../core/message.ts";
import type { Strategy } from "../core/options.ts";
import type {
  Finding,
  Lost,
  RecallHit,
  SessionOverview,
  Store,
  StoreStats,
  SubjectInfo,
  SubjectPage,
  VerifyReport,
} from "../index.ts";
import type { AnswerSession } from "../session/aids/answer.ts";
import type { AskAnswer } from "../session/aids/ask-answer.ts";
import type { NearTheme } from "../session/aids/near-themes.ts";
import type { WorkItem } from "../session/aids/work-items.ts";
import type { WorkCount, WorkOverview } from "../session/aids/work-overview.ts";
import type { Query } from "./requests.ts";

export type { SessionOverview, WorkCount };

// The routes of `coppice view`, and the JSON of each. `requests.ts` has what each is asked for. Every answer is same-origin and needs the
// key that `POST /api/enter` gives, in the header `coppice-key`. A refusal is a `Refusal` with a status of 400 or more. Strings of
// messages are hostile: show them as text, or as sanitized Markdown.

/** The answers of the routes that are read with GET. `sql` in one is a statement for `GET /api/sql` that returns the same facts. */
export interface GetRoutes {
  "/api/about": About;
  "/api/sessions": SessionsAnswer;
  "/api/days": DaysAnswer;
  "/api/news": NewsAnswer;
  "/api/search": SearchAnswer;
  "/api/themes": ThemesAnswer;
  /** What an agent would get for a question. Both routes for questions are refused with status 403 if `About.agent` is null. */
  "/api/evidence": EvidenceAnswer;
  "/api/session": SessionAnswer;
  "/api/outline": OutlineAnswer;
  "/api/messages": MessagesAnswer;
  "/api/members": MembersAnswer;
  "/api/context": ContextAnswer;
  "/api/forest": ForestAnswer;
  "/api/log": LogAnswer;
  "/api/why": WhyAnswer;
  "/api/subjects": SubjectsAnswer;
  "/api/subject": SubjectPage & { sql: string };
  "/api/work-overview": WorkOverview & { sql: string };
  "/api/work": WorkAnswer;
  "/api/lost": { lost: Lost | null };
  "/api/usage": UsageAnswer;
  "/api/health": HealthAnswer;
  /** Both read the whole file in another process, and take seconds with a large store. */
  "/api/doctor": { findings: Finding[] };
  "/api/verify": VerifyReport;
  /** How far the newest `/api/verify` has come. */
  "/api/progress": VerifyProgress;
  "/api/sql": SqlAnswer;
}

export interface VerifyProgress {
  sessionCount: number;
  totalCount: number;
}

// `/api/events` answers with server-sent events named `change`, each with a `Change` as its data. `/api/part` answers with the whole text,
// or the bytes, of one part (see `ViewPart.path`), and `/api/export` with a session as lines of the neutral format.

/** The routes that take JSON with POST. All but `enter` and `ask` are refused with status 403 unless `About.isWritable`. */
export interface PostRoutes {
  /** Sends the evidence to the agent, and ends the agent if the reader goes. It answers one question at a time: others get status 429. */
  "/api/ask": { request: Query<"/api/evidence">; answer: AskAnswer };
  /** Exchanges the token of the URL's fragment for the key. It works once. */
  "/api/enter": { request: { token: string }; answer: { key: string } };
  "/api/rename": { request: { session: string; title: string }; answer: { title: string } };
  /** Pins a message with its step, or unpins it. Messages that have graduated (`graduatedSeq`) are refused with status 400. */
  "/api/pin": { request: { message: number; pinned: boolean }; answer: { pinned: boolean } };
  /** Without `confirm`, nothing is forgotten: the answer says what would go, and holds the word to confirm it with. */
  "/api/forget": { request: { session: string; messages?: number[]; confirm?: string }; answer: ForgetAnswer };
}

export interface Refusal {
  error: { code: string; message: string };
}

/** The facts that the page asks for once. */
export interface About {
  version: string;
  path: string;
  /** True with `--write`. */
  isWritable: boolean;
  /** The name of the agent that answers questions; null if there is none. */
  agent: string | null;
  nowMs: number;
  /** All projects of the store with their names for people, and all agents (`source`), in alphabetical order. */
  projects: { project: string; name: string }[];
  sources: string[];
  roles: Role[];
  strategies: Strategy[];
  /** The session to open first, if the command named one. */
  session: string | null;
  /** The project that a page in a file has; null if it has the whole store. Left out by a server. */
  project?: string | null;
}

// Sessions

export interface SessionsAnswer {
  /** Newest first. */
  sessions: ListedSession[];
  /** The `offset` of the next page, or null after the last one. */
  next: number | null;
  sql: string;
}

export interface ListedSession extends SessionOverview {
  /** The closing words of its agent that tell what came of the session; null if none do. */
  outcome: string | null;
}

export interface DaysAnswer {
  /** The days on which sessions had their newest message, newest first. */
  days: { day: string; fromMs: number; sessionCount: number; messageCount: number; tokenCount: number }[];
  sql: string;
}

/** The messages that were appended after another. */
export interface NewsAnswer {
  newestMessageId: number;
  logPosition: number;
  /** The sessions with new messages, those with the newest first: at most 500. */
  sessions: { session: string; messageCount: number; seqFirst: number }[];
}

// Search

export interface SearchAnswer {
  sessions: SearchSession[];
  /** True if more messages match than these. */
  more: boolean;
  /** How the hits were found, if a reader has to know it. */
  note: string | null;
  tookMs: number;
  sql: string;
}

/** Hits of one session, as everybody is shown them. */
export interface SearchSession extends Omit<AnswerSession, "hits"> {
  hits: SearchHit[];
}

export interface ThemesAnswer {
  themes: NearTheme[];
  tookMs: number;
}

export interface EvidenceAnswer {
  messageCount: number;
  sessionCount: number;
  /** Of all that would be sent; 0 if nothing would. */
  tokenCount: number;
  /** Says why nothing would be sent, or what is to be known of what would. */
  note: string | null;
}

export interface WorkAnswer {
  items: (Omit<WorkItem, "lines"> & { lines: (WorkItem["lines"][number] & { seq: number })[] })[];
  sql: string;
}

export interface SearchHit
  extends Pick<RecallHit, "messageId" | "seq" | "role" | "name" | "createdAtMs" | "supersededBy" | "score" | "parts"> {
  asked: string | null;
  /** The seq of the question, if that is a hit, too. */
  questionSeq?: number;
  /** What answers, without the marks of Markdown. */
  spans: Span[];
  copyCount: number;
  /** What a person said of it later: see `verdictText`. */
  verdict: string | null;
}

// A session

export interface SessionAnswer {
  session: SessionOverview;
  /** The time of its first message. */
  beganAtMs: number;
  /** The first seq after the newest message. Seqs are dense, except for forgotten messages. */
  seqEnd: number;
  /** Messages from `evictedSeq` on are hot; messages before `graduatedSeq` are in the forest. */
  evictedSeq: number;
  graduatedSeq: number;
  /** When the newest of its superseded messages were superseded; null if there are none. Their seqs may have other messages now. */
  supersededAtMs: number | null;
  /** A fork shares the messages up to this seq with others; null for other sessions. */
  sharedSeqLast: number | null;
  parent: SessionLink | null;
  /** Subagents and forks, by where they begin. */
  children: SessionLink[];
  settings: Record<string, number | string>;
  /** A command that goes on with the session. */
  resume: string;
  sql: string;
}

export interface SessionLink {
  session: string;
  title: string | null;
  messageCount: number;
  createdAtMs: number;
  /** It begins after this message of its parent; null if that is not known. */
  forkSeq: number | null;
  /** A fork shares the messages up to this seq with others; null for other sessions. */
  sharedSeqLast: number | null;
}

/** Messages without their contents, as columns of equal length, so that 100,000 fit into a page's memory. */
export interface OutlineAnswer {
  seqs: number[];
  /** A letter a message: `s`ystem, `u`ser, `a`ssistant, `t`ool. */
  roles: string;
  /** A letter a message for what its calls did: `f`ailed, `w`rote or edited a file, e`x`ecuted, `r`ead; `c`: a summary of the agent's; `-`. */
  deeds: string;
  tokenCounts: number[];
  /** The seq of the user message that began the turn; -1 if there was none. */
  turnSeqs: number[];
  createdAtMs: number[];
  /** The seqs of the pinned messages among these. */
  pinned: number[];
  /** The `seqFrom` of the next page, or null after the last one. */
  next: number | null;
}

export interface MessagesAnswer {
  messages: ViewMessage[];
  /** The `seqFrom` of the next page, or null after the last one. */
  next: number | null;
  sql: string;
}

export interface ViewMessage {
  id: number;
  session: string;
  seq: number;
  role: Role;
  name: string | null;
  parts: ViewPart[];
  tokenCount: number;
  createdAtMs: number;
  stepId: number;
  turnSeq: number;
  pinned: boolean;
  metadata: Record<string, JsonValue> | null;
  /** What a person said of it later: see `verdictText`. */
  verdict: string | null;
}

/**
 * A part of a message. Its long strings are cut: `isCut` says so, `charCount` is the number of characters of the whole, and
 * `/api/part` with `path` returns the whole.
 */
export type ViewPart = { path: string; isInjected: boolean } & (
  | { type: "text" | "reasoning"; text: string; isCut: boolean; charCount: number }
  | { type: "tool_call"; toolCallId: string; name: string; args: unknown; isCut: boolean; charCount: number }
  | { type: "tool_result"; toolCallId: string; name: string | null; isError: boolean; content: ViewPart[] }
  /** `href` is `/api/part` with bytes, or null if the message holds none. `url` is foreign: show it, and do not load it. */
  | {
      type: "file";
      mediaType: string;
      name: string | null;
      byteLength: number;
      href: string | null;
      url: string | null;
    }
  | { type: "data"; data: unknown; isCut: boolean; charCount: number }
);

export interface MembersAnswer {
  root: string | null;
  level: string;
  members: ViewMessage[];
  memberCount: number;
  offset: number;
}

// What the model sees

export interface ContextAnswer {
  /** The seq of the newest message of the moment; -1 if there is none. */
  atSeq: number;
  tokensMax: number;
  strategy: Strategy;
  tokenCount: number;
  stablePrefixTokens: number;
  /** The messages before this index do not depend on the query. */
  stablePrefixEnd: number;
  messageCount: number;
  /** The messages of the context, in order. */
  messages: ContextMessageView[];
  /**
   * How each message of the session is there, as runs from the first seq to the last, without gaps. Compare two of these for the
   * difference of two contexts.
   */
  coverage: CoverageRun[];
  /** The same as JSON for a model: the rendered messages. */
  rendered: { role: Role; name?: string; parts: unknown[] }[];
  /** Returns the messages that the context is made from, newest first. */
  sql: string;
}

export interface ContextMessageView {
  index: number;
  role: Role;
  name: string | null;
  tokenCount: number;
  /** True if Coppice wrote it: the memory, or the evidence. */
  isComposed: boolean;
  isStable: boolean;
  /** Its text, in stretches, in order. */
  stretches: Stretch[];
}

/** A part of the context, and what it stands for. */
export interface Stretch {
  how: How;
  text: string;
  tokenCount: number;
  /** The messages that it shows or stands for; null for text that frames others. Of another session, if `session` is given. */
  seqFirst: number | null;
  seqLast: number | null;
  messageCount: number;
  session?: string;
  /** For a summary or a pointer: the handle to expand with `/api/members`. */
  handle: string | null;
}

/**
 * verbatim: every word. shortened: some words are left out. summary: a summary stands for it. quoted: the story quotes
 * lines of it. pointer: only a line says that it exists. frame: tags and notes of Coppice.
 */
export type How = "verbatim" | "shortened" | "summary" | "quoted" | "pointer" | "frame";

export interface CoverageRun {
  how: Exclude<How, "frame"> | "absent";
  seqFirst: number;
  seqLast: number;
}

// The forest

/** The forest as it is now. For earlier positions, replay the log: labels stay with their roots. */
export interface ForestAnswer {
  session: string;
  seqEnd: number;
  evictedSeq: number;
  graduatedSeq: number;
  /** The position of the session's newest log row; 0 if there is none. */
  logPosition: number;
  hotTokenCount: number;
  /** Oldest first. */
  themes: ForestTheme[];
  clusters: ForestCluster[];
  sql: string;
}

export interface ForestRoot {
  /** The handle, for `/api/members`. */
  handle: string;
  /** The message that names the root, as `root` in the log. */
  root: number;
  /** In words of the messages. May be empty. */
  label: string;
  messageCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
}

export interface ForestTheme extends ForestRoot {
  /** The roots of its clusters. */
  clusters: number[];
  summaryCount: number;
  /** Messages that no summary covers. */
  uncoveredCount: number;
}

export interface ForestCluster extends ForestRoot {
  theme: number;
  stepCount: number;
  isSettled: boolean;
  /** The handle of its subject, if it has one with clusters of other sessions. */
  subject: string | null;
  firstAtMs: number;
  lastAtMs: number;
}

/**
 * Rows of the log of a session, as columns of equal length, in order. Replay:
 *
 * - `start`: the step `node` becomes a cluster, and this cluster a theme of its own.
 * - `join`: the step `node` joins the cluster `root`.
 * - `settle`: the cluster `node` takes no more steps.
 * - `unite`: the theme `node` becomes a part of the theme `root`.
 */
export interface LogAnswer {
  positions: number[];
  /** A letter a row: `c`luster, `t`heme, s`u`bject. */
  levels: string;
  /** A letter a row: `s`tart, `j`oin, s`e`ttle, `u`nite, `d`issolve. */
  kinds: string;
  nodes: number[];
  roots: number[];
  /** The score of a join, or the cost of a union; null in other rows. */
  scores: (number | null)[];
  /** For a start or a join, the first and last seq of its step, and its tokens; for other entries -1, -1 and 0. */
  seqsFirst: number[];
  seqsLast: number[];
  tokenCounts: number[];
  /** The `after` of the next page, or null after the last one. */
  next: number | null;
}

/** Why a step is where it is. */
export interface WhyAnswer {
  position: number;
  kind: "start" | "join" | "settle" | "unite" | "dissolve";
  /** A sentence for people. */
  text: string;
  seqFirst: number | null;
  seqLast: number | null;
  /** The score of the log, and what it is made of. Null where the log has none. */
  score: number | null;
  /** The cosine of the step with the cluster as it was then; null if one of them has no vector. */
  similarity: number | null;
  /** True if the step before it is in the same cluster, and if the cluster's last step was in the same turn. */
  isAdjacent: boolean | null;
  isSameTurn: boolean | null;
  /** The role that speaks first in the step. */
  speaker: Role | null;
}

// Subjects and health

export interface SubjectsAnswer {
  /** Those with the most tokens first. */
  subjects: SubjectInfo[];
  sql: string;
}

export interface HealthAnswer {
  stats: StoreStats;
  /** Summaries and vectors by their state. */
  queues: { queue: "summaries" | "vectors"; status: string; count: number; oldestAtMs: number | null }[];
  /** What models cost by day (UTC), newest first; sessions by cost, at most 100. */
  costsByDay: Cost[];
  costsBySession: (Cost & { title: string | null })[];
  sql: string;
}

export interface Cost {
  /** The day, or the id of the session. */
  key: string;
  summarizerId: string;
  summaryCount: number;
  inputTokens: number;
  outputTokens: number;
  /** Null if no price is known. */
  costUsd: number | null;
}

/** What a model read and wrote on a day, as far as transcripts tell. */
export interface UsageAnswer {
  rows: UsageRow[];
  sql: string;
}

export interface UsageRow {
  day: string;
  project: string | null;
  model: string | null;
  agent: string | null;
  replyCount: number;
  /** Without what came from a cache. */
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** Null if no program said it. */
  costUsd: number | null;
}

export interface SqlAnswer {
  columns: string[];
  /** At most 1,000. A BLOB is shown as its size, and an integer beyond 2^53 as text. */
  rows: (string | number | null)[][];
  isCut: boolean;
  tookMs: number;
}

export interface ForgetAnswer extends ReturnType<Store["forget"]> {
  /** Null after something was forgotten. */
  confirm: string | null;
}

/** The store has changed. */
export interface Change {
  newestMessageId: number;
  logPosition: number;
  /** The sessions with new messages since the last event: at most 500. */
  sessions: string[];
}
