export type { DerivedRows } from "./changes/derive.ts";
export { dropCopy, erase, type ForgetReport, forget, isErasingDue, restoreForgotten } from "./changes/forget.ts";
export { fork } from "./changes/fork.ts";
export {
  allHubNotes,
  assertHub,
  beganHere,
  endOf,
  forgottenEverywhere,
  forgottenNumbers,
  forgottenOnHubIn,
  type HubItem,
  type HubNoteChanges,
  type HubNotes,
  hubNotesOf,
  idHere,
  isForgottenCopy,
  type NameOnHub,
  newIdHere,
  noteHub,
  noteOnHub,
  notePushed,
  type OnDamaged,
  takeForgottenCopy,
  undecidedSessions,
  unlessDamagedIn,
} from "./changes/hub-notes.ts";
export { freeIdBlock, idBlockOf, storeIdOf, takeIdBlock } from "./changes/id-blocks.ts";
export {
  type CarriedSummary,
  isPlacedNow,
  moveVectors,
  type NewForest,
  nextTarget,
  similarityOf,
  stageVectors,
  switchGeneration,
} from "./changes/new-generation.ts";
export {
  changeExclusions,
  exclusionsOf,
  hubNameOf,
  mergeProjects,
  namesOfProjects,
  projectNotesOf,
  projectNow,
  projectOnHub,
  REMOTE,
  renameProject,
} from "./changes/projects.ts";
export { type ForgetTarget, idsOf, type RelatedSession, relatedTo, sharingFirst, targetOf } from "./changes/related.ts";
export { type RewindTarget, type RewindTerms, rewind, rewindSession, takeBack } from "./changes/rewind.ts";
export {
  advanceOpenStep,
  loadSessionState,
  messageCountOf,
  type NextMove,
  type SessionState,
} from "./changes/session-state.ts";
export {
  assignClusters,
  changeSession,
  changeSettings,
  claimVectors,
  completeSession,
  createSession,
  type FreshMessage,
  type FrontierMove,
  type ImportedFile,
  indexTexts,
  noteImportedFiles,
  pinStep,
  renewVectorClaims,
  type SessionWrites,
  startGeneration,
  storeVectors,
  vectorsFailed,
} from "./changes/write.ts";
export {
  claimSummaries,
  type HeldClaim,
  type NoClaim,
  recordSummaries,
  releaseClaims,
  releaseLeftoverClaims,
  renewClaims,
  restoreSummaries,
  type SummaryWork,
} from "./changes/write-summaries.ts";
export {
  appendEntries,
  deleteItem,
  deleteItems,
  type EntryResult,
  putItem,
  restoreEntries,
  restoreItem,
} from "./changes/write-values.ts";
export { databaseFindings } from "./checks/database-findings.ts";
export { scrub } from "./checks/scrub.ts";
export { type StoreStats, storeStats } from "./checks/stats.ts";
export { type VerifyProgress, type VerifyReport, verifyStore } from "./checks/verify.ts";
export { type Lease, newClaimant } from "./derived/claimant.ts";
export type { ClusterRow, StoredCluster } from "./derived/cluster-rows.ts";
export type { DatedCluster } from "./derived/clusters.ts";
export { type Costs, NO_COSTS } from "./derived/costs.ts";
export type { EvidenceRow, TextRow } from "./derived/evidence.ts";
export type { FullTextRepository, IndexTotals, SearchText } from "./derived/full-text.ts";
export { idAt, placeCountOf } from "./derived/id-block.ts";
export { enteringSteps, soundSteps, ThemeRoots } from "./derived/past-forests.ts";
export type { ClaimableVector } from "./derived/pending-vectors.ts";
export type { FollowedRow, StagedMessage, Target, UnstagedMessage } from "./derived/reembedding.ts";
export { type SearchScope, sampleStep } from "./derived/search-scope.ts";
export type { SessionOverview, SessionsOptions, Unreadable } from "./derived/session-overviews.ts";
export type { SettledCluster, SubjectMember } from "./derived/subjects.ts";
export type { DoneSummary, NewSummary, Try } from "./derived/summaries.ts";
export type { NamedScope } from "./facts/conditions.ts";
export type { Entry } from "./facts/entries.ts";
export type { FactRow } from "./facts/fact-rows.ts";
export { GenerationRepository } from "./facts/generations.ts";
export type { FoundInFile, KnownPart } from "./facts/imported-files.ts";
export type { Item, NewItem } from "./facts/items.ts";
export type { GraduatingMessage, MessageRow, NotableMessage, Span, TitledMessage } from "./facts/messages.ts";
export { areCopies, type KnownOrigin } from "./facts/origins.ts";
export type { Path } from "./facts/paths.ts";
export type { RememberedRow } from "./facts/remembered.ts";
export { assertOnPath, type Branch, isSession, type SessionRow } from "./facts/sessions.ts";
export { sourceDigestOf } from "./facts/spans.ts";
export { fileHas } from "./facts/traces.ts";
export { type BackupOptions, type BackupReport, backupStore } from "./file/backup.ts";
export { fileFindings } from "./file/file-findings.ts";
export { advice, type Finding, ok, problem, quoted } from "./file/finding.ts";
export { openDatabase, openForHook, type StoreDatabase } from "./file/open.ts";
export { Queries, type QueryParams, type QueryRow } from "./file/query.ts";
export { type RestoreReport, refuseInUse, restoreStore } from "./file/restore.ts";
export { movable, rowOfText, rowText, sessionRows } from "./moves/read-rows.ts";
export { type WriteRowsTerms, type WrittenSession, writeSession } from "./moves/write-rows.ts";
export { openQuickly, QuickReader, type QuickSession } from "./quick-reader.ts";
export { makeRepositories, type Repositories } from "./repositories.ts";
export { encodeValue } from "./sql/codecs.ts";
