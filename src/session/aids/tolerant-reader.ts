import { StoreError } from "../../core/errors.ts";
import type { Repositories, Unreadable } from "../../store/index.ts";

export interface UnreadableOption {
  /** Called once for each session that cannot be read completely. What is damaged is left out. Without this function, it throws. */
  onUnreadable?: (unreadable: Unreadable) => void;
}

/** Returns what `read` returns; `without` if what it reads of the session is damaged. */
export type TolerantReader = <T>(sessionId: string, read: () => T, without: T) => T;

export function tolerantReader({ database }: Repositories, { onUnreadable }: UnreadableOption): TolerantReader {
  const told = new Set<string>();
  return (sessionId, read, without) => {
    try {
      return database.guard(read);
    } catch (error) {
      if (!StoreError.is(error, "STORE_CORRUPT") || onUnreadable === undefined) throw error;
      const { reason } = error.details;
      if (!told.has(sessionId)) database.calling("onUnreadable", () => onUnreadable({ sessionId, reason }));
      told.add(sessionId);
      return without;
    }
  };
}
