import type { SaveFailure } from "../ann/index-file.ts";
import type { IndexState } from "../ann/nearest-clusters.ts";
import { advice, type Finding, ok } from "../store/finding.ts";

const FIX = "`await session.resolveDirty()` writes it, and goes on with it each time.";

const SAVE_FIXES: Readonly<Record<SaveFailure["cause"], string>> = {
  "disk full": "Make room for it on the disk of the store.",
  "no permission": "Give this user the right to write to the folder of the store.",
  other: FIX,
};

/** Describes the state of the index of clusters. Without a working index nothing is lost; searches are only slower. */
export function indexFinding(state: IndexState): Finding {
  const { indexedCount, comparedCount, waitingCount, isWorthIndexing, libraryError, refusal, saveFailure } = state;
  const compared = `${formatted(comparedCount)} ${comparedCount === 1 ? "cluster is" : "clusters are"} compared one by one`;
  if (!isWorthIndexing)
    return ok("index", `${comparedCount === 0 ? "No cluster is there yet" : compared}: too few for an index.`);
  if (libraryError !== undefined) {
    const text = `The native library hnswlib-node cannot be loaded (${libraryError}), so ${compared}: slower, but as right.`;
    return advice("index", text, "Install what compiles native modules, then run: npm rebuild hnswlib-node");
  }
  if (saveFailure !== undefined) {
    const text = `The index file could not be written: ${saveFailure.reason}.`;
    return advice("index", text, SAVE_FIXES[saveFailure.cause]);
  }
  if (refusal !== undefined) {
    return advice("index", `The index file is not used: ${refusal}. Until it is written anew, ${compared}.`, FIX);
  }
  if (indexedCount === 0) return advice("index", `There is no index file yet, so ${compared}.`, FIX);
  const held = `The index holds ${formatted(indexedCount)} clusters; ${compared}`;
  if (waitingCount >= indexedCount) return advice("index", `${held}, and most of them could be in it.`, FIX);
  return ok("index", `${held}.`);
}

function formatted(count: number): string {
  return count.toLocaleString("en-US");
}
