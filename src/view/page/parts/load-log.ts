import type { LogAnswer } from "../../api.ts";
import { PAGE_MAX } from "../../questions.ts";
import { get } from "../client.ts";
import { type Log, logOf } from "./replay.ts";

export async function loadLog(session: string, signal: AbortSignal): Promise<Log> {
  const answers: LogAnswer[] = [];
  for (let after: number | null = 0; after !== null; after = answers.at(-1)!.next) {
    answers.push(await get("/api/log", { session, after, limit: PAGE_MAX }, signal));
  }
  return logOf(answers);
}
