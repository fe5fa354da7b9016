import { StoreError } from "./errors.ts";

export type SessionLevel = "cluster" | "theme";

export type Level = SessionLevel | "subject" | "span";

/**
 * A root, its level, and a log position: `cluster:123`, `theme:123@456`, `subject:77@460`. With a position, the meaning of a
 * handle never changes, even if the root is absorbed. Without a position, a handle means the current state.
 *
 * A span's handle has the id of its first message as `root` and that of its last message as `position`: `span:12@480`.
 */
export interface Handle {
  level: Level;
  root: number;
  position: number | undefined;
}

export function formatHandle(level: Level, root: number, position?: number): string {
  return position === undefined ? `${level}:${root}` : `${level}:${root}@${position}`;
}

/** @throws {StoreError} `HANDLE_INVALID` for any other text, and for numbers above 2^53. */
export function parseHandle(text: string): Handle {
  const refuse = (reason: string): never => {
    throw new StoreError("HANDLE_INVALID", { handle: text, reason });
  };
  const match = /^(cluster|theme|subject|span):(\d+)(?:@(\d+))?$/.exec(text);
  if (match === null) return refuse("expected a level, a colon and a number");
  const root = Number(match[2]);
  const position = match[3] === undefined ? undefined : Number(match[3]);
  if (!Number.isSafeInteger(root) || !Number.isSafeInteger(position ?? 0)) refuse("its number is too large");
  if (match[1] === "span" && position === undefined) refuse("a span also names its last message: span:12@480");
  return { level: match[1] as Level, root, position };
}

/** Returns the id in `12` or `message:12`; undefined for a handle. */
export function messageIdOf(target: string | number): number | undefined {
  if (typeof target !== "string" && typeof target !== "number") {
    throw new StoreError("OPTION_INVALID", { option: "target", expected: "a handle or a message id", actual: target });
  }
  const digits = /^(?:message:)?(\d+)$/.exec(String(target))?.[1];
  if (typeof target === "string" && digits === undefined) return undefined;
  const id = Number(digits ?? target);
  if (!Number.isSafeInteger(id) || id < 0) throw new StoreError("MESSAGE_NOT_FOUND", { messageId: id });
  return id;
}
