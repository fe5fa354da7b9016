import { parseArgs } from "node:util";
import type { StepFeatures } from "../src/forest/cluster.ts";
import { STRUCTURE_WEIGHTS, type StructureWeights } from "../src/forest/placement.ts";
import { type EvalMessage, readChannels, readCodingSessions, readThreads } from "./eval/cluster-data.ts";
import { channelFigures } from "./eval/clusters.ts";
import { GROW_DEFAULTS, growForest, stepsOf } from "./eval/grow.ts";
import { largestShare, mean, singletonShare } from "./eval/measures.ts";

/**
 * `npx tsx scripts/calibrate.ts DIR` prints the measurements that decided the threshold of the local embedder and the weights
 * of structure. It changes one parameter at a time and leaves the others at their defaults.
 *
 * - irc: B³ F and one-to-one overlap in percent, with speakers (targets: 73 and 71).
 * - threads: the shares of the cold messages that are in the largest cluster, and that are alone in theirs, with and without
 *   speakers.
 * - coding: steps of a cluster (quartiles), and the share of steps that are alone in their cluster.
 * - woven: four coding sessions mixed into one, turn by turn. The figures are the mean share of a step's cluster that comes from the
 *   step's own session, and the mean size of clusters. `blind` is the share for consecutive runs of that size.
 */
const { positionals } = parseArgs({ allowPositionals: true });
const [dataFolder] = positionals;
if (dataFolder === undefined) {
  console.error("Usage: npx tsx scripts/calibrate.ts DIR");
  process.exit(2);
}

const SESSIONS_WOVEN = 4;
const WOVEN_STEPS_MIN = 25;

const channels = readChannels(dataFolder);
const channelSteps = channels.map(({ messages }) => stepsOf(messages));
const threads = readThreads(dataFolder, 120).map((messages) => messages.slice(0, -30));
const threadSteps = threads.map((messages) => stepsOf(messages));
const namelessSteps = threads.map((messages) => stepsOf(messages.map(({ name: _, ...message }) => message)));
const sessions = readCodingSessions(dataFolder);
const sessionSteps = sessions.map((messages) => stepsOf(messages));
const woven = weave(sessions.filter((_, index) => sessionSteps[index]!.length >= WOVEN_STEPS_MIN)).map(
  ({ messages, source }) => {
    const steps = stepsOf(messages);
    return { steps, source: steps.map(({ seqFirst }) => source[seqFirst]!) };
  },
);

const { similarityMin } = GROW_DEFAULTS;
report("as it is", similarityMin, STRUCTURE_WEIGHTS);
for (const value of [0.25, 0.3, 0.4, 0.45]) report(`similarityMin ${value}`, value, STRUCTURE_WEIGHTS);
for (const adjacent of [0, 0.3, 0.35, 0.45, 0.5]) report(`adjacent ${adjacent}`, similarityMin, { adjacent });
for (const sameTurn of [0, 0.1, 0.25, 0.4]) report(`sameTurn ${sameTurn}`, similarityMin, { sameTurn });
for (const heard of [0, 0.5, 1.5, 3]) report(`heard ${heard}`, similarityMin, { heard });
report("words alone", similarityMin, { adjacent: 0, sameTurn: 0, heard: 0 });

function report(name: string, threshold: number, changed: Partial<StructureWeights>): void {
  const grow = (steps: readonly StepFeatures[]) =>
    growForest(steps, { similarityMin: threshold, weights: { ...STRUCTURE_WEIGHTS, ...changed } }).clusters;
  const irc = channelFigures(channels, channelSteps.map(grow), "");
  const share = (conversations: readonly StepFeatures[][], of: (labels: number[]) => number) =>
    mean(conversations.map((steps) => of(grow(steps)))).toFixed(2);
  const grown = sessionSteps.map(grow);
  const sizes = grown.flatMap(sizesOf).sort((left, right) => left - right);
  const quartiles = [0.25, 0.5, 0.75].map((rank) => sizes[Math.floor(rank * sizes.length)] ?? 0);
  const purity = woven.map(({ steps, source }) => ({ ...purityOf(grow(steps), source), steps: steps.length, source }));
  const size = mean(purity.map(({ sizeMean }) => sizeMean));
  const blind = purity.map(({ source }) =>
    purityOf(
      source.map((_, index) => Math.floor(index / Math.round(size))),
      source,
    ),
  );
  console.log(
    name.padEnd(20),
    `irc ${irc["irc.b3F"]} ${irc["irc.oneToOne"]}`,
    `| threads ${share(threadSteps, largestShare)} ${share(threadSteps, singletonShare)}`,
    `nameless ${share(namelessSteps, largestShare)} ${share(namelessSteps, singletonShare)}`,
    `| coding ${quartiles.join(" ")} alone ${mean(grown.map(singletonShare)).toFixed(3)}`,
    `| woven ${mean(purity.map(({ share: own }) => own)).toFixed(3)} size ${size.toFixed(1)}`,
    `blind ${mean(blind.map(({ share: own }) => own)).toFixed(3)}`,
  );
}

/** Mixes sessions, four at a time, turn by turn in a fixed pseudo-random order. */
function weave(all: readonly EvalMessage[][]): { messages: EvalMessage[]; source: number[] }[] {
  const weaves: { messages: EvalMessage[]; source: number[] }[] = [];
  for (let from = 0; from + SESSIONS_WOVEN <= all.length; from += SESSIONS_WOVEN) {
    const queues = all
      .slice(from, from + SESSIONS_WOVEN)
      .map((messages, source) => ({ source, turns: turnsOf(messages) }));
    const dealt: { messages: EvalMessage[]; source: number[] } = { messages: [], source: [] };
    for (let state = from + 1; queues.some(({ turns }) => turns.length > 0); ) {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0; // a linear congruential generator, seeded by the index
      const waiting = queues.filter(({ turns }) => turns.length > 0);
      const { source, turns } = waiting[(state >>> 16) % waiting.length]!;
      for (const message of turns.shift()!) {
        dealt.messages.push(message);
        dealt.source.push(source);
      }
    }
    weaves.push(dealt);
  }
  return weaves;
}

function turnsOf(messages: readonly EvalMessage[]): EvalMessage[][] {
  const turns: EvalMessage[][] = [];
  for (const message of messages) {
    if (message.role === "user" || turns.length === 0) turns.push([message]);
    else turns.at(-1)!.push(message);
  }
  return turns;
}

function sizesOf(labels: readonly number[]): number[] {
  const sizes = new Map<number, number>();
  for (const label of labels) sizes.set(label, (sizes.get(label) ?? 0) + 1);
  return [...sizes.values()];
}

/** Returns the mean share of an item's cluster that comes from the item's own source, and the mean size of clusters. */
function purityOf(labels: readonly number[], source: readonly number[]): { share: number; sizeMean: number } {
  const pairs = new Map<string, number>();
  const sizes = new Map<number, number>();
  for (const [index, label] of labels.entries()) {
    const key = `${label} ${source[index]}`;
    pairs.set(key, (pairs.get(key) ?? 0) + 1);
    sizes.set(label, (sizes.get(label) ?? 0) + 1);
  }
  let own = 0;
  for (const [key, count] of pairs) own += (count * count) / sizes.get(Number(key.split(" ")[0]))!;
  return { share: own / labels.length, sizeMean: labels.length / sizes.size };
}
