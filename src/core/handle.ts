import { StoreError } from "./errors.ts";

/** What a session's own forest is made of. */
export type SessionLevel = "cluster" | "theme";

/** A subject holds clusters of several sessions; a span is a stretch of one. */
export type Level = SessionLevel | "subject" | "span";

/**
 * A root, its level, and the log position it is meant at: `cluster:123`, `theme:123@456`, `subject:77@460`. With a position it means the
 * same for ever, even after the root is absorbed; without one it means "now".
 *
 * Of a span, its first and its last message: `span:12@480`. It always has both, and means those between them that are not
 * pinned.
 */
export interface Handle {
  level: Level;
  root: number;
  position: number | undefined;
}

export function formatHandle(level: Level, root: number, position?: number): string {
  return position === undefined ? `${level}:${root}` : `${level}:${root}@${position}`;
}

/** @throws {StoreError} `HANDLE_INVALID` for anything else, also for numbers past 2^53. */
export function parseHandle(text: string): Handle {
  const match = /^(cluster|theme|subject|span):(\d+)(?:@(\d+))?$/.exec(text);
  if (match === null)
    throw new StoreError("HANDLE_INVALID", { handle: text, reason: "expected a level, a colon and a number" });
  const root = Number(match[2]);
  const position = match[3] === undefined ? undefined : Number(match[3]);
  if (!Number.isSafeInteger(root) || !Number.isSafeInteger(position ?? 0)) {
    throw new StoreError("HANDLE_INVALID", { handle: text, reason: "its number is too large" });
  }
  if (match[1] === "span" && position === undefined) {
    throw new StoreError("HANDLE_INVALID", { handle: text, reason: "a span names its last message, too: span:12@480" });
  }
  return { level: match[1] as Level, root, position };
}
