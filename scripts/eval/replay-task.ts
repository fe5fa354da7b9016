import type { Strategy } from "../../src/index.ts";
import { type Conversation, readConversations } from "./conversations.ts";
import { inParallel } from "./parallel.ts";
import { emptyTally, replay, sumOf, type Tally } from "./replay.ts";

export interface ReplayTask {
  dataFolder: string;
  strategy: Strategy;
  /** The conversations `from`, `from + every`, … */
  from: number;
  every: number;
}

let read: { dataFolder: string; conversations: Conversation[] } | undefined;

/** Replays some conversations with one strategy. */
export async function run({ dataFolder, strategy, from, every }: ReplayTask): Promise<Tally> {
  if (read?.dataFolder !== dataFolder) read = { dataFolder, conversations: await readConversations(dataFolder) };
  const tally = emptyTally(strategy);
  for (let index = from; index < read.conversations.length; index += every) {
    await replay(read.conversations[index]!, tally);
  }
  return tally;
}

/** The number of pieces of a replay. More than there are cores, because conversations differ in length. */
const PIECES = 8;

/** Replays all conversations with each strategy. */
export async function replayAll(dataFolder: string, strategies: readonly Strategy[]): Promise<Tally[]> {
  const tasks = strategies.flatMap((strategy) =>
    Array.from({ length: PIECES }, (_, from): ReplayTask => ({ dataFolder, strategy, from, every: PIECES })),
  );
  const tallies = await inParallel<ReplayTask, Tally>(new URL(import.meta.url), tasks);
  return strategies.map((strategy) => sumOf(tallies.filter((tally) => tally.strategy === strategy)));
}
