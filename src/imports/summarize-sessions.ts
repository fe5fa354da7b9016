import { StoreError } from "../core/errors.ts";
import type { OpenedStore } from "../session/opened-store.ts";
import type { Session } from "../session/session.ts";

export type SummaryCounts = Awaited<ReturnType<Session["resolveDirty"]>>;

export function noSummaries(): SummaryCounts {
  return { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 };
}

/**
 * Does upkeep, and makes the summaries that sessions lack. Skips sessions that were forgotten meanwhile.
 * @throws the signal's reason; what `Session.resolveDirty` throws.
 */
export async function summarizeSessions(
  store: OpenedStore,
  sessionIds: Iterable<string>,
  { signal, onProgress }: { signal?: AbortSignal | undefined; onProgress?: ((doneCount: number) => void) | undefined },
): Promise<SummaryCounts> {
  const total = noSummaries();
  const withSignal = signal === undefined ? {} : { signal };
  // Upkeep makes sessions idle, which then have more to summarize. If it finds damage, that is told at the end.
  let damage: StoreError | undefined;
  await store.upkeep(withSignal).catch((error: unknown) => {
    if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
    damage = error;
  });
  let doneCount = 0;
  for (const sessionId of sessionIds) {
    signal?.throwIfAborted();
    onProgress?.(doneCount++);
    try {
      const session = store.resume(sessionId);
      session.compact({ strategy: "union-find" });
      const { lastError = total.lastError, ...counts } = await session.resolveImported(withSignal);
      session.compact({ strategy: "union-find" }); // adds the summaries to the context
      for (const name of Object.keys(counts) as (keyof typeof counts)[]) total[name] += counts[name];
      if (lastError !== undefined) total.lastError = lastError;
    } catch (error) {
      if (!StoreError.is(error, "SESSION_NOT_FOUND")) throw error;
    }
  }
  if (damage !== undefined) throw damage;
  return total;
}
