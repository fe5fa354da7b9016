import { createHash } from "node:crypto";
import type { CentroidSource, CentroidStamp } from "./centroid-source.ts";
import { EF_CONSTRUCTION, LINKS, SPACE } from "./graph.ts";

/** Grows when an older version must not read it. */
const FORMAT = 1;

/** Entries compared with the store's rows: so many over all labels, and as many of the newest. */
const SAMPLES = 64;

/** What stands beside an index file and says what it is. */
export interface SideCar {
  format: number;
  space: string;
  links: number;
  efConstruction: number;
  stamp: CentroidStamp;
  /** Log position up to which the entries are what the store holds. */
  position: number;
  /** Of the index file. */
  byteLength: number;
  sha256: string;
  /** By label: the clusters at that point, oldest first. */
  roots: number[][];
  /** Of some of them. */
  samples: readonly Sample[];
}

export interface Sample {
  root: number;
  /** SHA-256 of its log position and its centroid. */
  sha256: string;
}

/** One JSON object with the SHA-256 of what it says, so that a changed digit is noticed. */
export function formatSideCar(sideCar: SideCar): string {
  return `${JSON.stringify({ sha256: sha256Of(JSON.stringify(sideCar)), index: sideCar })}\n`;
}

/** @returns undefined for anything that `formatSideCar` of this version did not write. */
export function parseSideCar(text: string): SideCar | undefined {
  let parsed: { sha256?: unknown; index?: SideCar } | null;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  const index = parsed?.index;
  if (index === undefined || parsed?.sha256 !== sha256Of(JSON.stringify(index))) return undefined;
  const isOurs =
    index.format === FORMAT &&
    index.space === SPACE &&
    index.links === LINKS &&
    index.efConstruction === EF_CONSTRUCTION;
  return isOurs ? index : undefined;
}

export function sideCarOf(
  of: Pick<SideCar, "stamp" | "position" | "roots" | "samples" | "byteLength" | "sha256">,
): SideCar {
  return { format: FORMAT, space: SPACE, links: LINKS, efConstruction: EF_CONSTRUCTION, ...of };
}

/** Samples of clusters, as they are in the store now. @param roots  In the order in which they came. */
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
