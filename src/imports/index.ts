/** `coppice/import`: import transcripts, follow them while they grow, and read formats of your own. */
export type {
  ExportedOrigin,
  ImportEvent,
  ImportedEntry,
  ImportedItem,
  ImportedMessage,
  ImportedSession,
  Importer,
  ImportFile,
} from "../importers/importer.ts";
export type { AgentLocation } from "../importers/locations.ts";
export type { ImportedRows } from "../session/moving/moved-rows.ts";
export { defineImporter } from "./define-importer.ts";
export { type ImportFilesOptions, type ImportProgress, type ImportResult, importFiles } from "./import-files.ts";
export { importRows } from "./import-rows.ts";
export type { FileReport, ImportWarning } from "./import-run.ts";
export type { SummaryCounts } from "./summarize-sessions.ts";
export { findAgentLocations, type SurveyedLocation, surveyLocations } from "./survey.ts";
export type { WatchEvent } from "./watch/followed-files.ts";
export { type WatchFilesOptions, type WatchResult, watchFiles } from "./watch-files.ts";
