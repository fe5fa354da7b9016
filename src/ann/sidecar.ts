import { hash } from "node:crypto";
import type { CentroidSource, CentroidStamp } from "./centroid-source.ts";
import { EF_CONSTRUCTION, LINKS, SPACE } from "./graph.ts";

/** The form of an index file, which depends on the machine. A file of any other form is refused. */
const FORM = { format: 2, arch: process.arch as string, space: SPACE, links: LINKS, efConstruction: EF_CONSTRUCTION };

/** An index is compared with the store by samples: this many clusters spread over all labels, and this many of the newest. */
const SAMPLES = 64;

export interface Sidecar {
  form: typeof FORM;
  stamp: CentroidStamp;
  /** The log position at which the store held the clusters of the index. */
  position: number;
  /** The checksum of the index file. */
  sha256: string;
  /** For each label, the clusters at that point, oldest first. */
  roots: number[][];
  samples: readonly Sample[];
}

interface Sample {
  root: number;
  position: number;
  /** The checksum of the cluster's centroid. */
  sha256: string;
}

/** Writes one JSON object that holds its own checksum. */
export function formatSidecar(content: Omit<Sidecar, "form">): string {
  const index: Sidecar = { form: FORM, ...content };
  return `${JSON.stringify({ sha256: hash("sha256", JSON.stringify(index)), index })}\n`;
}

/** Returns undefined for a text that is damaged, or that another version or kind of machine wrote. */
export function parseSidecar(text: string): Sidecar | undefined {
  let parsed: { sha256?: unknown; index?: Sidecar } | null;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  const index = parsed?.index;
  if (!index || parsed?.sha256 !== hash("sha256", JSON.stringify(index))) return undefined;
  return JSON.stringify(index.form) === JSON.stringify(FORM) ? index : undefined;
}

/** Returns samples of clusters as the store holds them now. @param roots  In the order of their labels. */
export function samplesOf(roots: readonly number[], source: CentroidSource): Sample[] {
  const spread = Array.from({ length: SAMPLES }, (_, index) => roots[Math.floor((index * roots.length) / SAMPLES)]!);
  const chosen = roots.length <= 2 * SAMPLES ? roots : new Set([...spread, ...roots.slice(-SAMPLES)]);
  return Array.from(source.centroids(chosen), ({ root, position, vector }) => {
    return { root, position, sha256: hash("sha256", vector) };
  });
}
