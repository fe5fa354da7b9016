import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ownCallsFolder } from "../../core/data-folder.ts";
import { StoreError } from "../../core/errors.ts";
import { replaceFile } from "../../core/files.ts";

/** What summaries by an agent have used today. */
export interface DailyUse {
  callCount: number;
  tokenCount: number;
}

/** Returns what an agent has used since midnight, by this and other processes of the person. */
export function usedToday(agent: string, now = new Date()): DailyUse {
  const none = { callCount: 0, tokenCount: 0 };
  try {
    const { day, ...used } = JSON.parse(readFileSync(fileOf(agent), "utf8"));
    return day === dayOf(now) ? { ...none, ...used } : none;
  } catch {
    return none;
  }
}

/** Adds to what an agent has used. @throws {StoreError} `FILE_NOT_USABLE`. */
export function addUse(agent: string, { callCount, tokenCount }: DailyUse, now = new Date()): void {
  const before = usedToday(agent, now);
  const after = { callCount: before.callCount + callCount, tokenCount: before.tokenCount + tokenCount };
  const path = fileOf(agent);
  try {
    replaceFile(path, `${JSON.stringify({ day: dayOf(now), ...after })}\n`);
  } catch (error) {
    throw new StoreError("FILE_NOT_USABLE", { path, reason: `it cannot be written: ${(error as Error).message}` });
  }
}

/** Returns the milliseconds until the next day. */
export function untilTomorrowMs(now = new Date()): number {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1).getTime() - now.getTime();
}

function dayOf(now: Date): string {
  return [now.getFullYear(), now.getMonth() + 1, now.getDate()].join("-");
}

function fileOf(agent: string): string {
  return join(ownCallsFolder(), `used-${agent}.json`);
}
