import type { Repositories } from "../store/repositories.ts";

const ORIGINS = "hubOrigins";

/** The store in which a session of this store began, by which the hub names it. Only pulled sessions began elsewhere. */
export function originOf({ database, settings }: Repositories, sessionId: string, storeId: string): string {
  return database.read(() => (settings.get(ORIGINS) as Record<string, string> | undefined)?.[sessionId]) ?? storeId;
}

/** Call it inside the transaction that writes the session. */
export function noteOrigin({ settings }: Repositories, sessionId: string, origin: string): void {
  settings.set(ORIGINS, { ...(settings.get(ORIGINS) as Record<string, string> | undefined), [sessionId]: origin });
}
