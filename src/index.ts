// Public API. A name added here is supported until the next major version.
export { type RepairedToolPairs, repairToolPairs } from "./context/layout/repair-tool-pairs.ts";
export type { ContextMessage, Omission, RenderResult, Source } from "./context/result.ts";
export type { Clock } from "./core/clock.ts";
export { type ErrorCode, StoreError } from "./core/errors.ts";
export type {
  DataPart,
  FilePart,
  JsonValue,
  Message,
  MessageInput,
  Part,
  PartInput,
  ReasoningPart,
  Role,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "./core/message.ts";
export type { SessionOptions, Strategy } from "./core/options.ts";
export type { TokenBudget } from "./core/token-budget.ts";
export type { TokenCounter } from "./core/tokens.ts";
export type { Verdict } from "./core/verdicts.ts";
export type { AppendResult } from "./ingest/append.ts";
export type { ReembedEstimate, ReembedResult } from "./ingest/reembed.ts";
export type { EmbedResult } from "./ingest/vector-collector.ts";
export { type AgentSummarizerOptions, agentSummarizer } from "./models/agent/summarizer.ts";
export type { Embedder, EmbedRequest, LocalEmbedder, RemoteEmbedder } from "./models/embedder.ts";
export { type GeminiEmbedderOptions, geminiEmbedder } from "./models/gemini/embedder.ts";
export { type GeminiSummarizerOptions, geminiSummarizer } from "./models/gemini/summarizer.ts";
export { type OpenaiEmbedderOptions, openaiEmbedder } from "./models/openai/embedder.ts";
export { type StaticEmbedderOptions, staticEmbedder } from "./models/static/embedder.ts";
export type { ModelUsage, SummarizeRequest, Summarizer, SummaryText } from "./models/summarizer.ts";
export type { ExpandOptions, Expansion } from "./recall/expand.ts";
export type { RecallHit } from "./recall/hits.ts";
export type { NearestRootsOptions, NearRoot } from "./recall/nearest-roots.ts";
export type { RecallOptions } from "./recall/recall.ts";
export type { Rerank } from "./recall/rerank.ts";
export type { RecallQuery } from "./recall/search.ts";
export type { Lost, LostLine, LostOptions } from "./session/aids/lost.ts";
export type { CommandWay, FileSession, Fix, Friction, Replaced, Work, WorkOptions } from "./session/aids/past-work.ts";
export type { Recap, RecapOptions, RecapTopic } from "./session/aids/recap.ts";
export type { RememberOptions } from "./session/aids/remember.ts";
export type { Remembered, RememberedOptions } from "./session/aids/remembered.ts";
export type { SubjectOptions, SubjectPage } from "./session/aids/subject-page.ts";
export type { SubjectInfo, SubjectsOptions } from "./session/aids/subjects.ts";
export type { Resolving } from "./session/background.ts";
export type { ContextOptions, RenderOptions } from "./session/context-options.ts";
export type { Entries, EntryInput } from "./session/entries.ts";
export type { ItemFilter, Items } from "./session/items.ts";
export type { ExportLine, ExportOptions } from "./session/moving/export.ts";
export { openStore } from "./session/opened-store.ts";
export type { Pressure } from "./session/pressure.ts";
export type { ResolveDirtyOptions, StartResolvingOptions } from "./session/resolver.ts";
export type { ClusterInfo, ProjectInfo, RootInfo, ThemeInfo } from "./session/roots.ts";
export type {
  AppendOptions,
  ForkOptions,
  MessagesOptions,
  RewindOptions,
  RewindResult,
  Session,
  SessionChanges,
  UndoResult,
} from "./session/session.ts";
export type {
  DoctorOptions,
  ExcludeOptions,
  Exclusions,
  ForgetOptions,
  OpenOptions,
  ReembedOptions,
  RenameProjectOptions,
  RestoreOptions,
  Store,
  UpkeepOptions,
  VerifyOptions,
} from "./session/store.ts";
export type {
  BackupOptions,
  BackupReport,
  Branch,
  Entry,
  Finding,
  ForgetReport,
  Item,
  QueryParams,
  QueryRow,
  SessionOverview,
  SessionsOptions,
  StoreStats,
  VerifyReport,
} from "./store/index.ts";
export type { ResolveEvent } from "./summaries/events.ts";
export type { ResolveResult } from "./summaries/resolve-run.ts";
export type { CompactResult } from "./summaries/span.ts";
