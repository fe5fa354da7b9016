import { Forest, type LogRow } from "./forest.ts";

export interface Replay {
  /** The forest, up to the row that was refused. */
  forest: Forest;
  /** The first row that cannot have happened after those before it, and why. */
  refused: { row: LogRow; reason: string } | undefined;
}

/** Applies the log of one session from its beginning. @param rows  In order of position. */
export function replay(rows: Iterable<LogRow>): Replay {
  const forest = new Forest();
  for (const row of rows) {
    const reason = forest.apply(row);
    if (reason !== undefined) return { forest, refused: { row, reason } };
  }
  return { forest, refused: undefined };
}
