import { LABEL, statementsIn, takeCitations } from "../models/citations.ts";

/**
 * Gives each statement of a reply about several clusters to the cluster whose messages it cites. A statement that cites none of
 * them is left out. So is a statement that cites several clusters: if a message of one cluster is forgotten, no summary of
 * another may hold its text.
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
      const [cluster, another] = new Set(cited);
      if (cluster === undefined || another !== undefined) continue;
      statements.set(cluster, [...(statements.get(cluster) ?? []), statement]);
    }
    for (const [cluster, own] of statements) lines[cluster]!.push(label + own.join(", "));
  }
  return lines.map((own) => own.join("\n"));
}
