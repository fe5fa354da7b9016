import type { LogAnswer } from "../../api.ts";

/** The log of a session's forest, as columns. */
export interface Log {
  count: number;
  positions: Float64Array;
  /** A letter a row: `s`tart, `j`oin, s`e`ttle, `u`nite. */
  kinds: string;
  nodes: Float64Array;
  roots: Float64Array;
  scores: Float32Array;
  seqsFirst: Int32Array;
  seqsLast: Int32Array;
  tokenCounts: Int32Array;
}

/** Joins the pages of a log. */
export function logOf(answers: readonly LogAnswer[]): Log {
  const column = (of: (answer: LogAnswer) => (number | null)[]): number[] =>
    answers.flatMap((answer) => of(answer).map((value) => value ?? Number.NaN));
  const positions = Float64Array.from(column((answer) => answer.positions));
  return {
    count: positions.length,
    positions,
    kinds: answers.map(({ kinds }) => kinds).join(""),
    nodes: Float64Array.from(column((answer) => answer.nodes)),
    roots: Float64Array.from(column((answer) => answer.roots)),
    scores: Float32Array.from(column((answer) => answer.scores)),
    seqsFirst: Int32Array.from(column((answer) => answer.seqsFirst)),
    seqsLast: Int32Array.from(column((answer) => answer.seqsLast)),
    tokenCounts: Int32Array.from(column((answer) => answer.tokenCounts)),
  };
}

/** The forest as it was after a row of the log. It applies rows, and decides nothing. */
export class Replay {
  readonly log: Log;
  /** The number of rows that are applied. */
  at = 0;
  clusterCount = 0;
  /** For each cluster, in the order in which they started. */
  readonly roots: number[] = [];
  readonly tokenCounts: number[] = [];
  readonly messageCounts: number[] = [];
  readonly seqsFirst: number[] = [];
  readonly seqsLast: number[] = [];
  readonly isSettled: boolean[] = [];
  /** The cluster of each message; -1 while it is in none. */
  readonly clusterOfSeq: Int32Array;
  readonly #parents: number[] = [];
  readonly #indexOfRoot = new Map<number, number>();

  constructor(log: Log, seqEnd: number) {
    this.log = log;
    this.clusterOfSeq = new Int32Array(seqEnd).fill(-1);
  }

  /** Applies rows until `count` are applied. To go back, it begins again, which takes a few milliseconds for 100,000 rows. */
  moveTo(count: number): void {
    const to = Math.max(0, Math.min(this.log.count, count));
    if (to < this.at) this.#clear();
    for (; this.at < to; this.at++) this.#apply(this.at);
  }

  indexOf(root: number): number | undefined {
    return this.#indexOfRoot.get(root);
  }

  /** Returns the cluster that names the theme of a cluster. */
  themeOf(cluster: number): number {
    let theme = cluster;
    while (this.#parents[theme] !== theme) theme = this.#parents[theme]!;
    return theme;
  }

  #clear(): void {
    this.at = 0;
    this.clusterCount = 0;
    for (const column of [
      this.roots,
      this.tokenCounts,
      this.messageCounts,
      this.seqsFirst,
      this.seqsLast,
      this.isSettled,
      this.#parents,
    ])
      column.length = 0;
    this.#indexOfRoot.clear();
    this.clusterOfSeq.fill(-1);
  }

  #apply(row: number): void {
    const { kinds, nodes, roots, seqsFirst, seqsLast, tokenCounts } = this.log;
    const node = nodes[row]!;
    switch (kinds[row]) {
      case "s": {
        const index = this.clusterCount++;
        this.#indexOfRoot.set(node, index);
        this.roots.push(node);
        this.tokenCounts.push(0);
        this.messageCounts.push(0);
        this.seqsFirst.push(seqsFirst[row]!);
        this.seqsLast.push(seqsLast[row]!);
        this.isSettled.push(false);
        this.#parents.push(index);
        this.#enter(index, seqsFirst[row]!, seqsLast[row]!, tokenCounts[row]!);
        break;
      }
      case "j": {
        const index = this.#indexOfRoot.get(roots[row]!);
        if (index !== undefined) this.#enter(index, seqsFirst[row]!, seqsLast[row]!, tokenCounts[row]!);
        break;
      }
      case "e": {
        const index = this.#indexOfRoot.get(node);
        if (index !== undefined) this.isSettled[index] = true;
        break;
      }
      case "u": {
        const [from, to] = [this.#indexOfRoot.get(node), this.#indexOfRoot.get(roots[row]!)];
        if (from !== undefined && to !== undefined) this.#parents[from] = to;
      }
    }
  }

  #enter(cluster: number, first: number, last: number, tokenCount: number): void {
    // A forgotten step has left no seqs.
    if (first < 0) return;
    this.tokenCounts[cluster]! += tokenCount;
    this.messageCounts[cluster]! += last - first + 1;
    this.seqsLast[cluster] = Math.max(this.seqsLast[cluster]!, last);
    this.clusterOfSeq.fill(cluster, first, last + 1);
  }
}

export interface Band {
  /** The cluster that names it. */
  cluster: number;
  /** Where it begins, and how much it holds, in tokens. */
  start: number;
  tokenCount: number;
  messageCount: number;
  seqFirst: number;
  seqLast: number;
  /** The clusters of a theme. */
  bands: Band[];
}

/** Returns the themes, oldest first, with their clusters, one after the other. */
export function bandsOf(replay: Replay): Band[] {
  const themes = new Map<number, Band>();
  for (let cluster = 0; cluster < replay.clusterCount; cluster++) {
    const root = replay.themeOf(cluster);
    const seqFirst = replay.seqsFirst[cluster]!;
    const seqLast = replay.seqsLast[cluster]!;
    const band: Band = {
      cluster,
      start: 0,
      tokenCount: replay.tokenCounts[cluster]!,
      messageCount: replay.messageCounts[cluster]!,
      seqFirst,
      seqLast,
      bands: [],
    };
    let theme = themes.get(root);
    if (theme === undefined) {
      theme = { ...band, cluster: root, tokenCount: 0, messageCount: 0, bands: [] };
      themes.set(root, theme);
    }
    theme.bands.push(band);
    theme.tokenCount += band.tokenCount;
    theme.messageCount += band.messageCount;
    theme.seqFirst = Math.min(theme.seqFirst, seqFirst);
    theme.seqLast = Math.max(theme.seqLast, seqLast);
  }
  let start = 0;
  const inOrder = [...themes.values()].sort((left, right) => left.seqFirst - right.seqFirst);
  for (const theme of inOrder) {
    theme.start = start;
    for (const band of theme.bands) {
      band.start = start;
      start += band.tokenCount;
    }
  }
  return inOrder;
}
