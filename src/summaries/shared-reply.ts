import { LABEL, statementsIn, takeCitations } from "../core/citations.ts";
import { addTo } from "../core/groups.ts";

/**
 * Gives each statement of a reply about several clusters to the cluster of the newest message that it cites, so that a rewind
 * takes it away with that message. A statement that cites none of the messages is left out.
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
      const cited = takeCitations(statement).seqs.filter((seq) => clusterOf.has(seq));
      const cluster = clusterOf.get(Math.max(...cited));
      if (cluster === undefined) continue;
      addTo(statements, cluster, statement);
    }
    for (const [cluster, own] of statements) lines[cluster]!.push(label + own.join(", "));
  }
  return lines.map((own) => own.join("\n"));
}
