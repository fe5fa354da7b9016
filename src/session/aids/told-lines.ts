import { jointAfter, namesNothing, needsNeighbors, rankTold, type Told } from "../../models/told.ts";
import type { NotableMessage } from "../../store/index.ts";
import { sourcesIn, toldBy, type WorkLine } from "./work-lines.ts";

/** An agent mostly begins its closing words with what came out, and lists the details below. */
const FIRST_WORTH = [1.6, 0.8, 0.3];
/** The words that closed the last turn tell where the work stands. */
const LAST_FACTOR = 1.4;
/** Each session in which more was done than answering has its best sentence. */
const BEST_WORTH = 20;
const WORK_MESSAGES_MIN = 3;
/** What was asked, and what was said during the work, matters less to who comes back. */
const ASKED_FACTOR = 0.3;
const PASSING_FACTOR = 0.3;
/** How work ended, in English and in Japanese. */
const OUTCOME =
  /\b(?:pass(?:ed|es|ing)?|fail(?:ed|s|ing|ures?)?|commit(?:ted)?|merged|pushed|deployed|released|published|0 (?:issues|errors))\b|成功|失敗|通過|コミット|廃止|先送り/i;
const OUTCOME_WORTH = 1;
/** A shorter sentence of an agent, in bytes, is mostly a name of a list. */
const SHORT_BYTES = 24;
const SHORT_FACTOR = 0.4;
/** "All tests pass" is told if no sentence names what came out. */
const NAMELESS_FACTOR = 0.4;
/** A sentence has about so many bytes for each token. */
const BYTES_PER_TOKEN = 4;
/** The message that a line names costs about so many tokens. */
const SOURCE_TOKENS = 6;

/**
 * Returns what messages tell to somebody who comes back: what came out, in the words that closed the turns. Each line has the sentences
 * of one message, and lines are in order.
 *
 * @param messages  Of each session in order.
 * @param tokensMax  About the tokens of all lines.
 */
export function toldLines(messages: readonly NotableMessage[], tokensMax: number): WorkLine[] {
  const told = toldBy(messages).filter(({ by, text }) => by !== "user" || !needsNeighbors(text));
  const sessionOf = new Map(messages.map(({ id, sessionId }) => [id, sessionId]));
  const lastIds = new Set(
    new Map(
      told.flatMap(({ isOutcome, messageId }) => (isOutcome ? [[sessionOf.get(messageId), messageId]] : [])),
    ).values(),
  );
  let index = 0;
  let asked = 0;
  const candidates = told.map((one, order) => {
    const before = told[order - 1];
    index = one.messageId === before?.messageId ? index + 1 : 0;
    if (one.by === "user" || sessionOf.get(one.messageId) !== (before && sessionOf.get(before.messageId)))
      asked = one.seq;
    const turnLength = one.seq - asked;
    return { ...one, turnLength, worth: worthToReturn(one, index, turnLength, lastIds.has(one.messageId)) };
  });
  const best = new Map<string, (typeof candidates)[number]>();
  for (const one of candidates) {
    const sessionId = sessionOf.get(one.messageId)!;
    if (one.isOutcome && one.turnLength >= WORK_MESSAGES_MIN && one.worth > (best.get(sessionId)?.worth ?? 0))
      best.set(sessionId, one);
  }
  for (const one of best.values()) one.worth += BEST_WORTH;
  const chosen = rankTold(
    candidates,
    { of: ({ text }) => Buffer.byteLength(text) / BYTES_PER_TOKEN, first: () => SOURCE_TOKENS },
    tokensMax,
  );
  return linesOf(chosen, candidates, messages);
}

/**
 * Returns a line for each message of some sentences. `…` stands where sentences between two are left out, or the rest of a list.
 *
 * @param told  All sentences of the messages, in order.
 */
export function linesOf(
  chosen: readonly Told[],
  told: readonly Told[],
  messages: readonly NotableMessage[],
): WorkLine[] {
  const isChosen = new Set(chosen);
  const lines = new Map<number, string>();
  for (const [index, one] of told.entries()) {
    const line = lines.get(one.messageId);
    const before = told[index - 1];
    const isNext = before !== undefined && isChosen.has(before);
    if (isChosen.has(one)) {
      const begun = line === undefined || isNext ? line : withGap(line);
      lines.set(one.messageId, begun === undefined ? one.text : `${begun}${jointAfter(begun)}${one.text}`);
    } else if (line !== undefined && isNext && before.beginsList) lines.set(one.messageId, withGap(line));
  }
  const lineOf = sourcesIn(messages);
  return Array.from(lines, ([messageId, text]) => lineOf({ text, messageId }));
}

function withGap(line: string): string {
  return line.endsWith("…") ? line : `${line} …`;
}

/** @param turnLength  The messages since the user spoke. More work mostly means that more came out. */
function worthToReturn(
  { by, isOutcome, worth, text }: Told,
  index: number,
  turnLength: number,
  isLast: boolean,
): number {
  if (by === "user") return ASKED_FACTOR * worth;
  if (!isOutcome) return PASSING_FACTOR * worth;
  const size = 1 + Math.log2(1 + turnLength) / 4;
  const short = index > 0 && Buffer.byteLength(text) < SHORT_BYTES ? SHORT_FACTOR : 1;
  const nameless = by === "agent" && namesNothing(text) ? NAMELESS_FACTOR : 1;
  const outcome = OUTCOME.test(text) ? OUTCOME_WORTH : 0;
  return (worth + outcome + (FIRST_WORTH[index] ?? 0)) * size * short * nameless * (isLast ? LAST_FACTOR : 1);
}
