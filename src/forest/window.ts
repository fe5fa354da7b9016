import type { SessionSettings } from "../core/options.ts";

/** The two seqs up to which messages have graduated and have been evicted. A step begins at each of them. */
export interface Frontier {
  /** Messages before this seq are in the forest. */
  graduatedSeq: number;
  /** Messages before this seq have left the window. Never more than `graduatedSeq`. */
  evictedSeq: number;
}

export interface WindowStep {
  seqFirst: number;
  seqLast: number;
  messageCount: number;
  tokenCount: number;
  /** True while a tool call may still be answered. Only the newest step can be open. */
  open: boolean;
}

export type WindowOptions = Pick<SessionSettings, "hotSize" | "overlap" | "evictBatch" | "hotTokensMax">;

export const NOTHING_DUE = Number.POSITIVE_INFINITY;

/**
 * Groups a window's messages, in order of seq, into steps. The frontier cannot stop inside a step. So messages that lie
 * between a step's messages, or after an open step, count as part of the step.
 *
 * @param openStepId  The step that may still get results.
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

export function countWithin(steps: readonly { tokenCount: number }[], tokensMax: number): number {
  let tokens = 0;
  const end = steps.findIndex((step) => {
    tokens += step.tokenCount;
    return tokens > tokensMax;
  });
  return end === -1 ? steps.length : end;
}

/** The share of `hotTokensMax` that stays in the window when it holds too many tokens. */
const KEPT_SHARE = 5 / 8;

/** Returns where the steps begin that `nextFrontier` keeps out of the forest. */
export function hotFrom(
  steps: readonly WindowStep[],
  { hotSize, hotTokensMax }: Pick<WindowOptions, "hotSize" | "hotTokensMax">,
): number {
  return startOfNewest(steps, hotSize, hotTokensMax / 4);
}

/**
 * Returns the next frontier if the window is full, and undefined otherwise.
 *
 * The window is full when `hotSize` + `evictBatch` messages have not graduated, or when it holds more than
 * `hotTokensMax` tokens. `DESIGN.md` says when the window of a session that was idle is full.
 *
 * All but the newest steps graduate: at most `hotSize` messages and a quarter of `hotTokensMax` stay out. A larger
 * share would need more moves, and each move invalidates a prompt cache. Messages that graduated in the previous move
 * are evicted, because their summaries had time to be made. If only the tokens are too many, the window stays full to five
 * eighths, halfway between that quarter and its limit. Otherwise it would free much and little by turns, and a context would
 * have to keep room for much.
 *
 * A step whose vector is due stays out of the forest, and so do all later steps. Earlier steps graduate as soon as they
 * hold `evictBatch` messages.
 *
 * @param steps  All steps of the window, in order.
 * @param dueFrom  The seq of the first message whose vector is due.
 */
export function nextFrontier(
  steps: readonly WindowStep[],
  frontier: Frontier,
  options: WindowOptions,
  dueFrom: number = NOTHING_DUE,
): Frontier | undefined {
  const { hotSize, evictBatch, hotTokensMax } = options;
  const from = hotFrom(steps, options);
  const waiting = steps.filter(({ seqFirst }) => seqFirst >= frontier.graduatedSeq);
  const isFullAfterIdle = frontier.graduatedSeq > from && messagesIn(steps) >= hotSize + 2 * evictBatch;
  const tokenCount = steps.reduce((sum, step) => sum + step.tokenCount, 0);
  const isLong = messagesIn(waiting) >= hotSize + evictBatch || isFullAfterIdle;
  if (!isLong && tokenCount <= hotTokensMax) return undefined;
  const due = startOf(steps, dueFrom);
  if (due < from && messagesIn(waiting.filter(({ seqFirst }) => seqFirst < due)) < evictBatch) return undefined;
  const keptFrom = isLong ? from : startOfNewest(steps, Number.POSITIVE_INFINITY, KEPT_SHARE * hotTokensMax);
  return moved(frontier, {
    graduatedSeq: Math.max(frontier.graduatedSeq, Math.min(from, due)),
    // The newest messages of a session that was idle have graduated. They stay in the window.
    evictedSeq: Math.min(frontier.graduatedSeq, from, Math.max(frontier.evictedSeq, keptFrom)),
  });
}

/**
 * Returns the first seq of the step that was the newest when `nextFrontier` moved the frontier to where it is. If another call
 * moved it, returns `graduatedSeq`.
 *
 * @param steps  All steps of the window, in order.
 */
export function movedAtSeq(steps: readonly WindowStep[], graduatedSeq: number, options: WindowOptions): number {
  let [messages, tokens] = [0, 0];
  const full = steps.findIndex((step) => {
    messages += step.messageCount;
    tokens += step.tokenCount;
    return messages >= options.hotSize + options.evictBatch || tokens > options.hotTokensMax;
  });
  const isRegular = full !== -1 && hotFrom(steps.slice(0, full + 1), options) === graduatedSeq;
  return isRegular ? steps[full]!.seqFirst : graduatedSeq;
}

/** Returns true if a due vector keeps `nextFrontier` from moving. This is cheaper than grouping a long window. */
export function isHeld(
  messages: readonly { seq: number; stepId: number }[],
  { graduatedSeq }: Frontier,
  { hotSize, evictBatch }: Pick<WindowOptions, "hotSize" | "evictBatch">,
  dueFrom: number,
): boolean {
  const newestCold = messages.at(-1 - hotSize);
  if (newestCold === undefined || newestCold.seq < dueFrom || newestCold.stepId === messages.at(-1)!.stepId)
    return false;
  const waitingFrom = messages.findIndex(({ seq }) => seq >= graduatedSeq);
  const batchLast = messages[waitingFrom + evictBatch - 1];
  return waitingFrom >= 0 && batchLast !== undefined && batchLast.seq >= dueFrom;
}

/** Returns the first seq of the step that holds a message; infinity if the message is not in the window. */
function startOf(steps: readonly WindowStep[], seq: number): number {
  return steps.find(({ seqLast }) => seqLast >= seq)?.seqFirst ?? Number.POSITIVE_INFINITY;
}

/**
 * Returns the next frontier when a caller asks to compact, or undefined if the frontier stays. All but the newest
 * `hotSize` messages graduate, and all but the newest `hotSize` + `overlap` are evicted. More graduate and are evicted
 * if the window would hold more than `hotTokensMax` tokens.
 *
 * @param dueFrom  The seq of the first message whose vector is due. Its step and all later steps stay.
 */
export function compactFrontier(
  steps: readonly WindowStep[],
  frontier: Frontier,
  options: WindowOptions,
  dueFrom: number = NOTHING_DUE,
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
 * Returns the next frontier when the session is idle, or undefined if the frontier stays. All but the newest step
 * graduate. Nothing is evicted, so contexts stay the same.
 */
export function idleFrontier(steps: readonly WindowStep[], frontier: Frontier): Frontier | undefined {
  const newestFrom = steps.at(-1)?.seqFirst ?? 0;
  return moved(frontier, { ...frontier, graduatedSeq: Math.max(frontier.graduatedSeq, newestFrom) });
}

/** Returns where the longest run of newest steps within both limits begins. It always includes the newest step. */
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

/** Returns where the shortest run of newest steps with this many messages begins; the first step if there are fewer. */
function startOfAtLeast(steps: readonly WindowStep[], messagesMin: number): number {
  let messages = 0;
  const last = steps.findLast(({ messageCount }) => {
    messages += messageCount;
    return messages >= messagesMin;
  });
  return (last ?? steps[0])?.seqFirst ?? 0;
}

function messagesIn(steps: readonly WindowStep[]): number {
  return steps.reduce((sum, { messageCount }) => sum + messageCount, 0);
}

function moved(from: Frontier, to: Frontier): Frontier | undefined {
  return to.graduatedSeq === from.graduatedSeq && to.evictedSeq === from.evictedSeq ? undefined : to;
}
