// A file of its own: the command line loads it before a command runs.
import type { WorkLine } from "./work-lines.ts";

/** Returns what belongs together of told lines: what a user asked, and the answer to it. */
export function inPieces<L extends Pick<WorkLine, "by">>(told: readonly L[]): L[][] {
  const pieces: L[][] = [];
  for (const [index, line] of told.entries()) {
    const isAnswer = line.by !== "user" && told[index - 1]?.by === "user";
    if (isAnswer) pieces.at(-1)!.push(line);
    else pieces.push([line]);
  }
  return pieces;
}
