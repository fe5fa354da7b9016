import { LABEL, statementsIn, takeCitations } from "../models/citations.ts";

/**
 * Gives each statement of a reply about several clusters to the cluster whose messages it cites most. A statement that cites
 * none of them is left out.
 *
 * @param clusters  The seqs of the messages that were read, by cluster.
 * @returns a text for each cluster. It is empty if nothing was said about the cluster.
 */
export function sharedTexts(text: string, clusters: readonly (readonly number[])[]): string[] {
  const clusterOf = new Map(clusters.flatMap((seqs, cluster) => seqs.map((seq) => [seq, cluster] as const)));
  const lines: string[][] = clusters.map(() => []);
  for (const line of text.split("\n")) {
    const label = [LABEL.identifiers, LABEL.files].find((start) => line.startsWith(start)) ?? "";
    const statements = new Map<number, string[]>();
    for (const statement of statementsIn(line)) {
      const cited = takeCitations(statement).seqs.flatMap((seq) => clusterOf.get(seq) ?? []);
      const cluster = mostFrequent(cited);
      if (cluster !== undefined) statements.set(cluster, [...(statements.get(cluster) ?? []), statement]);
    }
    for (const [cluster, own] of statements) lines[cluster]!.push(label + own.join(", "));
  }
  return lines.map((own) => own.join("\n"));
}

function mostFrequent(values: readonly number[]): number | undefined {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([left, a], [right, b]) => b - a || left - right)[0]?.[0];
}
