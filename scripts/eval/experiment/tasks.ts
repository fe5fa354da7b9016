import { summaryTokensVsFlat } from "../../bench/gemini/tokens.ts";
import type { Tally } from "../replay.ts";
import { type ReplayTask, run as runReplay } from "../replay-task.ts";
import { type CodingResult, type CodingTask, runCoding } from "./coding.ts";
import type { Outcome } from "./figures.ts";
import { type RecordedResult, type RecordedTask, runRecorded } from "./recorded.ts";
import { runTalk, type TalkMeasure, type TalkTask } from "./talk.ts";

/** A piece of the experiment that one process runs. */
export type Task =
  | ({ kind: "coding" } & CodingTask)
  | ({ kind: "talk" } & TalkTask)
  | ({ kind: "replay" } & ReplayTask)
  | ({ kind: "recorded" } & RecordedTask)
  | { kind: "summaries"; name: "threads" | "generated"; dataFolder: string | undefined };

export type TaskResult =
  | ({ kind: "coding" } & CodingResult)
  | { kind: "talk"; outcomes: Outcome<TalkMeasure>[] }
  | { kind: "replay"; tally: Tally }
  | ({ kind: "recorded" } & RecordedResult)
  | { kind: "summaries"; name: "threads" | "generated"; ratio: number };

export async function run(task: Task): Promise<TaskResult> {
  switch (task.kind) {
    case "coding":
      return { kind: "coding", ...(await runCoding(task)) };
    case "talk":
      return { kind: "talk", outcomes: await runTalk(task) };
    case "replay":
      return { kind: "replay", tally: await runReplay(task) };
    case "recorded":
      return { kind: "recorded", ...(await runRecorded(task)) };
    case "summaries":
      return { kind: "summaries", name: task.name, ratio: await summaryTokensVsFlat(task.dataFolder) };
  }
}
