import type { DatabaseFile } from "./foreign-database.ts";
import type { ImportEvent } from "./importer.ts";
import { isNotYet } from "./message-event.ts";

/**
 * Yields the events of one session of a database, or nothing if it is unchanged. While the database is followed, unfinished messages
 * give no warnings, because they will come later.
 *
 * @param fingerprint  Changes when something is added to the session, or grows. Undefined if that cannot be told.
 */
export async function* changedSession(
  { fingerprints, isFinished }: DatabaseFile,
  id: string,
  fingerprint: string | undefined,
  read: () => AsyncIterable<ImportEvent>,
): AsyncGenerator<ImportEvent> {
  const known = fingerprints?.get(id);
  // A session with an unfinished message is read again when the database is finished.
  const fingerprintHolding = `${fingerprint} holding`;
  if (known !== undefined && (known === fingerprint || (known === fingerprintHolding && !isFinished))) return;
  let isHolding = false;
  for await (const event of read()) {
    // The warnings of a session that cannot be understood say why. The other sessions are read.
    if (event.kind === "misread") continue;
    const isHeld = event.kind === "warning" && isNotYet(event);
    isHolding ||= isHeld;
    if (!isHeld || fingerprints === undefined) yield event;
  }
  if (fingerprint !== undefined) fingerprints?.set(id, isHolding ? fingerprintHolding : fingerprint);
}

/** Returns sessions in the same order, but each after the one that started it. A cycle of parents ends where it began. */
export function parentsFirst<Session>(
  sessions: readonly Session[],
  idOf: (session: Session) => unknown,
  parentOf: (session: Session) => unknown,
): Session[] {
  const waiting = new Map(sessions.map((session) => [idOf(session), session]));
  const ordered: Session[] = [];
  for (const session of sessions) {
    const chain: Session[] = [];
    for (let next: Session | undefined = session; next !== undefined; next = waiting.get(parentOf(next))) {
      if (!waiting.delete(idOf(next))) break;
      chain.push(next);
    }
    ordered.push(...chain.reverse());
  }
  return ordered;
}
