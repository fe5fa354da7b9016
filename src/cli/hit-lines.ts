import type { Store } from "../session/store.ts";
import { cutToWidth } from "./display-width.ts";
import { speaker } from "./message-lines.ts";
import type { Terminal } from "./terminal.ts";
import { formatCount, formatTime, oneLine } from "./text.ts";

type RecallHit = Awaited<ReturnType<Store["recall"]>>[number];

/** Text between two `**` that neither begins nor ends with white space. */
const MARKED = /\*\*(?=\S)(.+?)(?<=\S)\*\*/gu;

/** The number of copies that are listed. The others are counted. */
const COPIES_MAX = 5;

/**
 * Yields a hit between its neighbors, under a line that identifies its message, and an empty line at the end.
 *
 * @param idOf  Returns the form in which a session's id is shown.
 */
export function* hitLines(
  hit: RecallHit,
  terminal: Terminal,
  idOf: (sessionId: string) => string = (id) => id,
): Generator<string> {
  const { messageId, sessionId, seq, createdAtMs, root, copies, score, parts } = hit;
  const dim = (text: string): string => terminal.style("dim", text);
  const details = [
    `#${seq}`,
    `message ${messageId}`,
    formatTime(createdAtMs),
    `session ${idOf(sessionId)}`,
    root ?? "hot",
  ];
  yield `${speaker(hit, terminal)}  ${dim(details.join(" · "))}`;
  yield* neighborLines(hit, (neighborSeq) => neighborSeq < seq, terminal);
  yield oneLine(hit.snippet).replace(MARKED, (marked, words: string) => {
    const bold = terminal.style("bold", words);
    return bold === words ? marked : bold;
  });
  yield* neighborLines(hit, (neighborSeq) => neighborSeq > seq, terminal);
  if (copies.length > 0) {
    const named = copies.slice(0, COPIES_MAX).map((copy) => `message ${copy.messageId} in ${idOf(copy.sessionId)}`);
    const more = copies.length > COPIES_MAX ? ", …" : "";
    yield dim(`${formatCount(copies.length, "copy", "copies")}: ${named.join(", ")}${more}`);
  }
  if (parts !== undefined) {
    const sum = Object.entries(parts).map(([part, value]) => `${value.toFixed(3)} ${part}`);
    yield dim(`score ${score.toFixed(3)} = ${sum.join(" + ").replaceAll("+ -", "- ")}`);
  }
  yield "";
}

/** Yields one line for each neighbor, without marks, because neighbors only show the surroundings of the hit. */
function* neighborLines(
  { neighbors }: RecallHit,
  isWanted: (seq: number) => boolean,
  terminal: Terminal,
): Generator<string> {
  for (const { seq, role, name, snippet } of neighbors) {
    if (!isWanted(seq)) continue;
    const line = oneLine(`  ${name ?? role} #${seq}: ${snippet.replace(MARKED, "$1")}`);
    yield terminal.style("dim", terminal.width === undefined ? line : cutToWidth(line, terminal.width));
  }
}
