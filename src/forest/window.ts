import type { SessionSettings } from "../core/options.ts";

export interface Frontier {
  /** Messages before this place are in the forest. */
  graduatedSeq: number;
  /** Messages before this place have left the window. At most `graduatedSeq`. */
  evictedSeq: number;
}

/** A step of the window. Pinned messages are in no window. */
export interface WindowStep {
  seqFirst: number;
  seqLast: number;
  messageCount: number;
  tokenCount: number;
  /** A call of it is unanswered and may still be. Only the newest step can be open, and that never graduates. */
  open: boolean;
}

export type WindowOptions = Pick<SessionSettings, "hotSize" | "overlap" | "evictBatch" | "hotTokensMax">;

/** What a window waits for: vectors of an embedder that is elsewhere. By places of messages. */
export interface VectorWait {
  /** The first message whose vector is due. */
  dueFrom: number;
  /** The first whose vector has not been due for long. At least `dueFrom`. */
  youngFrom: number;
}

export const NO_WAIT: VectorWait = { dueFrom: Number.POSITIVE_INFINITY, youngFrom: Number.POSITIVE_INFINITY };

/** How often as much as it is to hold a window may hold, in messages or tokens, while vectors are due. */
const HELD_FACTOR = 2;

/** The same in messages, for vectors that have not been due for long: those of a history that was appended at once. */
const FLOODED_FACTOR = 64;

/**
 * The steps of a window, in order. What stands between the messages of a step, and whatever follows an open one, counts as
 * part of it: the frontier cannot pass between them.
 *
 * @param messages  In order of seq.
 * @param openStepId  Of the step to which results may still come.
 */
export function windowSteps(
  messages: readonly { stepId: number; seq: number; tokenCount: number }[],
  openStepId?: number,
): WindowStep[] {
  const steps = new Map<number, WindowStep>();
  for (const { stepId, seq, tokenCount } of messages) {
    const step = steps.get(stepId);
    if (step === undefined) {
      const open = openStepId === stepId;
      steps.set(stepId, { seqFirst: seq, seqLast: seq, messageCount: 1, tokenCount, open });
    } else {
      step.seqLast = seq;
      step.messageCount += 1;
      step.tokenCount += tokenCount;
    }
  }
  const units: WindowStep[] = [];
  for (const step of steps.values()) {
    const unit = units.at(-1);
    if (unit === undefined || (!unit.open && unit.seqLast < step.seqFirst)) {
      units.push(step);
      continue;
    }
    unit.seqLast = Math.max(unit.seqLast, step.seqLast);
    unit.messageCount += step.messageCount;
    unit.tokenCount += step.tokenCount;
    unit.open ||= step.open;
  }
  return units;
}

/** How many steps, from the first on, cost no more than that together. */
export function countWithin(steps: readonly { tokenCount: number }[], tokensMax: number): number {
  let tokens = 0;
  const end = steps.findIndex((step) => {
    tokens += step.tokenCount;
    return tokens > tokensMax;
  });
  return end === -1 ? steps.length : end;
}

/** First place of the newest steps, which no pressure lets into the forest: only a rest does. */
export function hotFrom(
  steps: readonly WindowStep[],
  { hotSize, hotTokensMax }: Pick<WindowOptions, "hotSize" | "hotTokensMax">,
): number {
  return startOfNewest(steps, hotSize, hotTokensMax / 4);
}

/**
 * Where the frontier goes under the window's pressure, or undefined while there is none.
 *
 * It moves in batches: once `evictBatch` messages more than `hotSize` have not graduated, or once the verbatim messages
 * cost more than `hotTokensMax`. A rest lets the newest messages into the forest, so after one too few may ever wait: until
 * `hotSize` newer ones have come, it also moves once the window holds two batches more than `hotSize`. A move lets into the
 * forest all but the newest steps (at most `hotSize` messages and a quarter of `hotTokensMax`), and evicts what the move
 * before let in, whose summaries have had a batch's time to be made. So
 * `hotSize` + `evictBatch` messages are left verbatim, or, where it was the tokens, fewer; and after two moves in a row
 * the window costs at most a quarter of `hotTokensMax`, unless its newest step alone costs more: leaving half would move
 * the frontier half as far, and each move costs a prompt cache the window.
 *
 * A step whose vectors are due stays out of the forest, and so does all that follows it; once a batch before it may go, that
 * goes. The wait ends when the window holds twice what it is to hold at most: then the oldest that have been due for long go
 * without their vectors, a batch at a time, or, of the tokens, so many that a quarter is free again.
 *
 * @param steps  Of the window, in order, each whole.
 */
export function nextFrontier(
  steps: readonly WindowStep[],
  frontier: Frontier,
  options: WindowOptions,
  wait: VectorWait = NO_WAIT,
): Frontier | undefined {
  const { hotSize, evictBatch, hotTokensMax } = options;
  const from = hotFrom(steps, options);
  const waiting = messagesIn(steps.filter(({ seqFirst }) => seqFirst >= frontier.graduatedSeq));
  const isFullAfterRest = frontier.graduatedSeq > from && messagesIn(steps) >= hotSize + 2 * evictBatch;
  const tokenCount = steps.reduce((sum, step) => sum + step.tokenCount, 0);
  if (waiting < hotSize + evictBatch && !isFullAfterRest && tokenCount <= hotTokensMax) return undefined;
  const released = releasedFrom(steps, options, wait);
  const due = startOf(steps, wait.dueFrom);
  const ready = messagesIn(steps.filter(({ seqFirst }) => seqFirst >= frontier.graduatedSeq && seqFirst < due));
  if (due < from && ready < evictBatch && released <= due) return undefined;
  return moved(frontier, {
    graduatedSeq: Math.max(frontier.graduatedSeq, Math.min(from, Math.max(due, released))),
    // After a rest the newest messages are in the forest, too: those that would not be otherwise stay in the window.
    evictedSeq: Math.min(frontier.graduatedSeq, from),
  });
}

/**
 * Whether so many vectors are due at the front of a window that `nextFrontier` would leave it where it is. Told without
 * grouping it into steps: while a history comes in at once, every append ends here.
 *
 * @param messages  Of the window, in order of seq.
 */
export function isHeld(
  messages: readonly { seq: number }[],
  { graduatedSeq }: Frontier,
  { hotSize, evictBatch }: WindowOptions,
  { dueFrom, youngFrom }: VectorWait,
): boolean {
  const windowMax = hotSize + 2 * evictBatch;
  if (youngFrom > dueFrom) return false; // some have been due for long
  if (messages.length <= HELD_FACTOR * windowMax || messages.length > FLOODED_FACTOR * windowMax) return false;
  const graduated = messages.findIndex(({ seq }) => seq >= graduatedSeq);
  const batchLast = messages[graduated + evictBatch - 1];
  return graduated >= 0 && batchLast !== undefined && batchLast.seq >= dueFrom;
}

/** Whether a window holds more messages than it may while vectors are due that have been so for long. */
export function isOverHeld(messageCount: number, { hotSize, evictBatch }: WindowOptions): boolean {
  return messageCount > HELD_FACTOR * (hotSize + 2 * evictBatch);
}

/** First place that has to stay out of the forest, of what waits for vectors: 0 while there is room for all. */
function releasedFrom(
  steps: readonly WindowStep[],
  { hotSize, evictBatch, hotTokensMax }: WindowOptions,
  { youngFrom }: VectorWait,
): number {
  const windowMax = hotSize + 2 * evictBatch;
  const count = messagesIn(steps);
  const tokenCount = steps.reduce((sum, step) => sum + step.tokenCount, 0);
  if (count <= HELD_FACTOR * windowMax && tokenCount <= HELD_FACTOR * hotTokensMax) return 0;
  const keptOf = (factor: number, tokensMax: number): number =>
    startOfNewest(steps, factor * windowMax - 2 * evictBatch, tokensMax);
  const held = keptOf(HELD_FACTOR, 0.75 * HELD_FACTOR * hotTokensMax);
  const flooded = count > FLOODED_FACTOR * windowMax ? keptOf(FLOODED_FACTOR, Number.POSITIVE_INFINITY) : 0;
  return Math.max(Math.min(held, startOf(steps, youngFrom)), flooded);
}

/** First place of the step that a message is in; past all steps where it is in none. */
function startOf(steps: readonly WindowStep[], seq: number): number {
  return steps.find(({ seqLast }) => seqLast >= seq)?.seqFirst ?? Number.POSITIVE_INFINITY;
}

/**
 * Where the frontier goes when the caller asks, or undefined if it is there: all but the newest `hotSize` messages
 * graduate, and all but `overlap` more leave the window; or more of them, where those cost over `hotTokensMax`.
 *
 * @param dueFrom  Place of the first message whose vector is due: nothing from its step on graduates, or leaves.
 */
export function compactFrontier(
  steps: readonly WindowStep[],
  frontier: Frontier,
  options: WindowOptions,
  dueFrom: number = NO_WAIT.dueFrom,
): Frontier | undefined {
  const { hotSize, overlap, hotTokensMax } = options;
  const free = Math.min(startOfNewest(steps, hotSize, hotTokensMax), startOf(steps, dueFrom));
  const graduatedSeq = Math.max(frontier.graduatedSeq, free);
  const verbatimFrom = Math.max(
    startOfAtLeast(steps, hotSize + overlap),
    startOfNewest(steps, Number.POSITIVE_INFINITY, hotTokensMax),
  );
  return moved(frontier, {
    graduatedSeq,
    evictedSeq: Math.max(frontier.evictedSeq, Math.min(verbatimFrom, graduatedSeq)),
  });
}

/**
 * Where the frontier goes when nobody has spoken for long, or undefined if it is there: all but the newest step graduate.
 * Nothing leaves the window, so a context shows the same messages word for word as before.
 */
export function idleFrontier(steps: readonly WindowStep[], frontier: Frontier): Frontier | undefined {
  const newestFrom = steps.at(-1)?.seqFirst ?? 0;
  return moved(frontier, { ...frontier, graduatedSeq: Math.max(frontier.graduatedSeq, newestFrom) });
}

/** First place of the longest run of newest steps within both limits; the newest step is in it whatever its size. */
function startOfNewest(steps: readonly WindowStep[], messagesMax: number, tokensMax: number): number {
  let [messages, tokens, from] = [0, 0, 0];
  for (const [index, step] of steps.toReversed().entries()) {
    messages += step.messageCount;
    tokens += step.tokenCount;
    if (index > 0 && (messages > messagesMax || tokens > tokensMax)) break;
    from = step.seqFirst;
  }
  return from;
}

/** First place of the shortest run of newest steps that holds this many messages; of all steps if they hold fewer. */
function startOfAtLeast(steps: readonly WindowStep[], messagesMin: number): number {
  const newestFirst = steps.toReversed();
  const enough = newestFirst.findIndex((_, index) => messagesIn(newestFirst.slice(0, index + 1)) >= messagesMin);
  return (newestFirst[enough] ?? steps[0])?.seqFirst ?? 0;
}

function messagesIn(steps: readonly WindowStep[]): number {
  return steps.reduce((sum, { messageCount }) => sum + messageCount, 0);
}

function moved(from: Frontier, to: Frontier): Frontier | undefined {
  return to.graduatedSeq === from.graduatedSeq && to.evictedSeq === from.evictedSeq ? undefined : to;
}
