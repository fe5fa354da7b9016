import { createHash } from "node:crypto";
import type { CentroidSource, CentroidStamp } from "./centroid-source.ts";
import { EF_CONSTRUCTION, LINKS, SPACE } from "./graph.ts";

/** Describes the form of an index. If any value differs, the program refuses the file. */
const FORM = { format: 1, space: SPACE, links: LINKS, efConstruction: EF_CONSTRUCTION };

/** The number of clusters that are compared with the store's rows: so many spread over all labels, and as many of the newest. */
const SAMPLES = 64;

/** The file beside an index that says what the index is. */
export interface SideCar {
  format: number;
  space: string;
  links: number;
  efConstruction: number;
  stamp: CentroidStamp;
  /** The log position at which the clusters of the index were what the store held. */
  position: number;
  /** The size of the index file. */
  byteLength: number;
  /** The checksum of the index file. */
  sha256: string;
  /** For each label, the clusters at that point, oldest first. */
  roots: number[][];
  samples: readonly Sample[];
}

export interface Sample {
  root: number;
  /** The SHA-256 of the cluster's log position and centroid. */
  sha256: string;
}

/** Writes one JSON object that holds its own SHA-256, so that a changed digit is noticed. */
export function formatSideCar(sideCar: SideCar): string {
  return `${JSON.stringify({ sha256: sha256Of(JSON.stringify(sideCar)), index: sideCar })}\n`;
}

/** Returns undefined for any text that `formatSideCar` of this version did not write. */
export function parseSideCar(text: string): SideCar | undefined {
  let parsed: { sha256?: unknown; index?: SideCar } | null;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  const index = parsed?.index;
  if (index === undefined || parsed?.sha256 !== sha256Of(JSON.stringify(index))) return undefined;
  const isOurs = (Object.keys(FORM) as (keyof typeof FORM)[]).every((key) => index[key] === FORM[key]);
  return isOurs ? index : undefined;
}

export function sideCarOf(content: Omit<SideCar, keyof typeof FORM>): SideCar {
  return { ...FORM, ...content };
}

/** Returns samples of clusters as the store holds them now. @param roots  In the order of their labels. */
export function samplesOf(roots: readonly number[], source: CentroidSource): Sample[] {
  const spread = Array.from({ length: SAMPLES }, (_, index) => roots[Math.floor((index * roots.length) / SAMPLES)]!);
  const chosen = roots.length <= 2 * SAMPLES ? roots : new Set([...spread, ...roots.slice(-SAMPLES)]);
  return [...source.centroids(chosen)].map(({ root, position, vector }) => ({
    root,
    sha256: sha256Of(String(position), Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)),
  }));
}

function sha256Of(...parts: (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}
