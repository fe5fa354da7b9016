// Public API. A name added here is supported until the next major version.
export {
  type PairedMessage,
  type RemovedPair,
  type RepairedToolPairs,
  repairToolPairs,
} from "./context/repair-tool-pairs.ts";
export type { ContextMessage, ContinuitySource, Omission, Recalled, RenderResult, Source } from "./context/result.ts";
export type { Clock } from "./core/clock.ts";
export { type ErrorCode, StoreError } from "./core/errors.ts";
export type { Level } from "./core/handle.ts";
export type { JsonValue, Message, MessageInput, Part, PartInput, Role } from "./core/message.ts";
export type { SessionOptions, Strategy } from "./core/options.ts";
export type { TokenBudget } from "./core/token-budget.ts";
export type { TokenCounter } from "./core/tokens.ts";
export type { AppendResult } from "./ingest/append.ts";
export type { ReembedProgress, ReembedResult } from "./ingest/reembed.ts";
export type { ReembedEstimate } from "./ingest/reembed-estimate.ts";
export type { EmbedResult } from "./ingest/vector-collector.ts";
export type { Embedder, EmbedRequest, LocalEmbedder, RemoteEmbedder } from "./models/embedder.ts";
export { type GeminiEmbedderOptions, geminiEmbedder } from "./models/gemini/embedder.ts";
export { type GeminiSummarizerOptions, geminiSummarizer } from "./models/gemini/summarizer.ts";
export type { SourceText, SummarizeRequest, Summarizer, SummaryText } from "./models/summarizer.ts";
export type { ModelUsage, OnUsage } from "./models/usage.ts";
export type { ExpandOptions, Expansion, FoundRoots } from "./recall/expand.ts";
export type { NearestRootsOptions, NearRoot } from "./recall/nearest-roots.ts";
export type { ScoreParts } from "./recall/ranking.ts";
export type { RecallOptions } from "./recall/recall.ts";
export type { RecallHit, RecallNeighbor } from "./recall/recall-hit.ts";
export type { RecallQuery } from "./recall/search.ts";
export type { Resolving } from "./session/background.ts";
export type { ContextOptions, RenderOptions } from "./session/context-options.ts";
export type {
  ExportedMessage,
  ExportedSession,
  ExportLine,
  ExportOptions,
  UnreadableMessage,
} from "./session/export.ts";
export { openStore } from "./session/opened-store.ts";
export type { Pressure } from "./session/pressure.ts";
export type { ResolveDirtyOptions, StartResolvingOptions } from "./session/resolver.ts";
export type { RootInfo, RootSummary } from "./session/roots.ts";
export type { MessagesOptions, Session } from "./session/session.ts";
export type { EmbedPendingOptions, OpenOptions, ReembedOptions, Store } from "./session/store.ts";
export type { SubjectInfo } from "./session/subjects.ts";
export type { BackupOptions, BackupReport } from "./store/backup.ts";
export type { Finding } from "./store/finding.ts";
export type { ForgetReport } from "./store/forget.ts";
export type { SessionOverview } from "./store/sessions.ts";
export type { StoreStats } from "./store/stats.ts";
export type { SubjectSession } from "./store/subjects.ts";
export type { VerifyReport } from "./store/verify.ts";
export type { DeferReason, OnResolveEvent, ResolveEvent } from "./summaries/events.ts";
export type { ResolveResult } from "./summaries/resolve-run.ts";
export type { CompactResult } from "./summaries/span.ts";
