import { Option } from "commander";
import type { Store } from "../../session/store.ts";
import { repeatableOption, timeOption } from "../options.ts";
import { findProject } from "./find-project.ts";
import { findSession, SESSION_MEANING } from "./find-session.ts";

/** The flags by which a person chooses sessions and messages. */
export interface ScopeFlags {
  project?: string;
  session?: string[];
  since?: number;
  until?: number;
}

export const PROJECT_OPTION = new Option("--project <project>", "by name or path: only the sessions of this project");
export const SESSION_OPTION = repeatableOption("session <id>", `only this session: ${SESSION_MEANING}`);
export const SINCE_OPTION = timeOption(
  "since",
  "only messages from then on: 2026-11-01, yesterday, last week, 7d",
  "first",
);
export const UNTIL_OPTION = timeOption("until", "only messages up to this day or time", "last");

/** Converts the flags to options of the library. @throws {Failure} `PROJECT_NOT_FOUND`, `SESSION_NOT_FOUND`, `SESSION_AMBIGUOUS`. */
export function scopeOf(store: Store, { project, session, since, until }: ScopeFlags) {
  return {
    ...(project !== undefined && { project: findProject(store, project) }),
    ...(session !== undefined && { sessionIds: session.map((typed) => findSession(store, typed).id) }),
    ...(since !== undefined && { sinceMs: since }),
    ...(until !== undefined && { untilMs: until }),
  };
}
