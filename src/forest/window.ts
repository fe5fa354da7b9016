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
 * @param steps  Of the window, in order, each whole.
 */
export function nextFrontier(
  steps: readonly WindowStep[],
  frontier: Frontier,
  options: WindowOptions,
): Frontier | undefined {
  const { hotSize, evictBatch, hotTokensMax } = options;
  const from = hotFrom(steps, options);
  const waiting = messagesIn(steps.filter(({ seqFirst }) => seqFirst >= frontier.graduatedSeq));
  const isFullAfterRest = frontier.graduatedSeq > from && messagesIn(steps) >= hotSize + 2 * evictBatch;
  const tokenCount = steps.reduce((sum, step) => sum + step.tokenCount, 0);
  if (waiting < hotSize + evictBatch && !isFullAfterRest && tokenCount <= hotTokensMax) return undefined;
  return moved(frontier, {
    graduatedSeq: Math.max(frontier.graduatedSeq, from),
    // After a rest the newest messages are in the forest, too: those that would not be otherwise stay in the window.
    evictedSeq: Math.min(frontier.graduatedSeq, from),
  });
}

/**
 * Where the frontier goes when the caller asks, or undefined if it is there: all but the newest `hotSize` messages
 * graduate, and all but `overlap` more leave the window; or more of them, where those cost over `hotTokensMax`.
 */
export function compactFrontier(
  steps: readonly WindowStep[],
  frontier: Frontier,
  options: WindowOptions,
): Frontier | undefined {
  const { hotSize, overlap, hotTokensMax } = options;
  const graduatedSeq = Math.max(frontier.graduatedSeq, startOfNewest(steps, hotSize, hotTokensMax));
  const verbatimFrom = Math.max(
    startOfAtLeast(steps, hotSize + overlap),
    startOfNewest(steps, Number.POSITIVE_INFINITY, hotTokensMax),
  );
  return moved(frontier, {
    graduatedSeq,
    evictedSeq: Math.max(frontier.evictedSeq, verbatimFrom),
  });
}

/**
 * Where the frontier goes when nobody has spoken for long, or undefined if it is there: all but the newest step graduate.
 * Nothing leaves the window, so a context shows the same messages word for word as before.
 */
export function restFrontier(steps: readonly WindowStep[], frontier: Frontier): Frontier | undefined {
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
