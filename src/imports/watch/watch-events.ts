import type { SurveyedPlace } from "../survey.ts";
import type { Visit } from "./followed-files.ts";

/** What a watch tells of, as it happens; with `--json` each is a line. */
export type WatchEvent =
  /** What will be watched. Nothing of it was read. */
  | { event: "places"; places: readonly SurveyedPlace[] }
  /** New messages of a file are in the store. */
  | { event: "imported"; path: string; format: string | null; sessionIds: readonly string[]; newCount: number }
  /** Something of a file did not become a message; without a line, it is about the file. */
  | { event: "warning"; path: string; line: number | null; reason: string }
  /** All that was there at the beginning is in the store. */
  | { event: "caught_up"; fileCount: number; newCount: number }
  /** The store, or its embedder, does not take anything just now. Nothing is lost. */
  | { event: "waiting"; code: string; reason: string; retryInMs: number }
  /** The system watches no more folders; all of them are looked at every so often instead. */
  | { event: "polling"; reason: string; everyMs: number }
  /** It has ended, and everything that was told of is in the store. */
  | { event: "stopped"; newCount: number };

/** A visit as events: none, where it brought nothing. */
export function* eventsOfVisit({ path, format, sessionIds, newCount, warnings, error }: Visit): Generator<WatchEvent> {
  for (const { line, reason } of warnings) yield { event: "warning", path, line, reason };
  if (error !== null) yield { event: "warning", path, line: null, reason: error.message };
  if (newCount > 0) yield { event: "imported", path, format, sessionIds, newCount };
}
