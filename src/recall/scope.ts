import { StoreError } from "../core/errors.ts";
import { PART_TYPES, ROLES } from "../core/message.ts";
import { oneOf } from "../core/options.ts";
import type { SearchScope } from "../store/search-scope.ts";

/**
 * What of some options narrows a search down.
 *
 * @throws {StoreError} `OPTION_INVALID` for a value that no message can have, and for times that are none.
 */
export function scopeOf({ project, sessionIds, roles, partTypes, sinceMs, untilMs }: SearchScope): SearchScope {
  if (project !== undefined) text("project", project);
  if (sessionIds !== undefined) for (const id of list("sessionIds", sessionIds)) text("sessionIds", id);
  if (roles !== undefined) for (const role of list("roles", roles)) oneOf("roles", role, ROLES);
  if (partTypes !== undefined) for (const type of list("partTypes", partTypes)) oneOf("partTypes", type, PART_TYPES);
  if (sinceMs !== undefined) time("sinceMs", sinceMs);
  if (untilMs !== undefined) time("untilMs", untilMs);
  return {
    ...(project !== undefined && { project }),
    ...(sessionIds !== undefined && { sessionIds }),
    ...(roles !== undefined && { roles }),
    ...(partTypes !== undefined && { partTypes }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(untilMs !== undefined && { untilMs }),
  };
}

function list<T>(option: string, value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value;
  throw new StoreError("OPTION_INVALID", { option, expected: "a list", actual: value });
}

function text(option: string, value: unknown): void {
  if (typeof value === "string") return;
  throw new StoreError("OPTION_INVALID", { option, expected: "text", actual: value });
}

function time(option: string, value: unknown): void {
  if (typeof value === "number" && Number.isFinite(value)) return;
  throw new StoreError("OPTION_INVALID", { option, expected: "a time in Unix milliseconds", actual: value });
}
