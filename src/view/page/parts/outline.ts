import type { OutlineAnswer } from "../../api.ts";
import { PAGE_MAX } from "../../questions.ts";
import { get } from "../client.ts";

/** A session without the contents of its messages: one entry of each list a message. */
export interface Outline {
  count: number;
  seqs: Int32Array;
  roles: string;
  /** A letter a message: see `OutlineAnswer`. */
  deeds: string;
  tokenCounts: Int32Array;
  createdAtMs: Float64Array;
  /** The index of the turn of each message. Messages before the first prompt are a turn, too. */
  turnOf: Int32Array;
  /** For each turn: the index of its first message, and the tokens of all. */
  turns: { index: number; tokenCount: number }[];
}

/** @param seqEnd  The first seq after the newest message. */
export async function loadOutline(session: string, seqEnd: number, signal: AbortSignal): Promise<Outline> {
  const starts = Array.from({ length: Math.max(1, Math.ceil(seqEnd / PAGE_MAX)) }, (_, page) => page * PAGE_MAX);
  const answers = await Promise.all(
    starts.map((seqFrom) => get("/api/outline", { session, seqFrom, limit: PAGE_MAX }, signal)),
  );
  return outlineOf(
    answers.map((answer, page) => until(answer, page === answers.length - 1 ? Infinity : (page + 1) * PAGE_MAX)),
  );
}

/** Leaves out what the next page has, too: seqs have gaps where messages were forgotten. */
function until(answer: OutlineAnswer, seqEnd: number): OutlineAnswer {
  let end = answer.seqs.length;
  while (end > 0 && answer.seqs[end - 1]! >= seqEnd) end--;
  return end === answer.seqs.length
    ? answer
    : {
        ...answer,
        seqs: answer.seqs.slice(0, end),
        roles: answer.roles.slice(0, end),
        deeds: answer.deeds.slice(0, end),
      };
}

/** Joins the pages of an outline. */
export function outlineOf(answers: OutlineAnswer[]): Outline {
  const count = answers.reduce((sum, { seqs }) => sum + seqs.length, 0);
  const outline: Outline = {
    count,
    seqs: new Int32Array(count),
    roles: answers.map(({ roles }) => roles).join(""),
    deeds: answers.map(({ deeds }) => deeds).join(""),
    tokenCounts: new Int32Array(count),
    createdAtMs: new Float64Array(count),
    turnOf: new Int32Array(count),
    turns: [],
  };
  let index = 0;
  let turnSeq: number | undefined;
  for (const answer of answers) {
    for (let row = 0; row < answer.seqs.length; row++, index++) {
      outline.seqs[index] = answer.seqs[row]!;
      outline.tokenCounts[index] = answer.tokenCounts[row]!;
      outline.createdAtMs[index] = answer.createdAtMs[row]!;
      if (answer.turnSeqs[row]! !== turnSeq) {
        turnSeq = answer.turnSeqs[row]!;
        outline.turns.push({ index, tokenCount: 0 });
      }
      const turn = outline.turns.length - 1;
      outline.turnOf[index] = turn;
      outline.turns[turn]!.tokenCount += answer.tokenCounts[row]!;
    }
  }
  return outline;
}

/** Returns the index of the message with a seq, or of the one after it. */
export function indexOfSeq({ seqs, count }: Outline, seq: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (seqs[middle]! < seq) low = middle + 1;
    else high = middle;
  }
  return Math.min(low, Math.max(0, count - 1));
}
