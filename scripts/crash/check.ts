import { isDeepStrictEqual } from "node:util";
import type { Message, Store } from "../../src/index.ts";
import { saidAt } from "./conversation.ts";
import type { Promises } from "./promises.ts";

/** The state of a file after a kill, compared with what its writers were promised. */
export interface Verdict {
  /** Acknowledged messages that are missing. */
  lost: number;
  /** Messages, acknowledged or not, that differ from those that were appended with their seq. */
  altered: number;
  /** True if only part of a transaction was written, a log row or a summary is missing, or `verify` finds a problem. */
  isUnsound: boolean;
  /** One line for each fault. */
  faults: string[];
  /** The number of stored messages, by session. */
  counts: Map<string, number>;
}

/** Checks a file whose writer was killed. First rebuilds the derived rows that the killed process had deleted. */
export function check(store: Store, promises: Promises): Verdict {
  const verdict: Verdict = { lost: 0, altered: 0, isUnsound: false, faults: [], counts: new Map() };
  const blame = (fault: string): void => {
    verdict.isUnsound = true;
    verdict.faults.push(fault);
  };
  if (promises.isDamaged) store.verify({ rebuild: true });
  const { ok, problems } = store.verify();
  if (!ok) blame(`verify: ${problems.map(({ text }) => text).join("; ")}`);

  for (const { id, messageCount } of store.sessions()) verdict.counts.set(id, messageCount);
  for (const [session, promised] of promises.counts) {
    const stored = verdict.counts.get(session);
    if (stored === undefined) blame(`session ${session} is gone`);
    const missing = promised - (stored ?? 0);
    if (missing <= 0) continue;
    verdict.lost += missing;
    verdict.faults.push(`${session}: ${missing} of ${promised} messages are gone`);
  }
  for (const [session, stored] of verdict.counts) {
    const messages = stored === 0 ? [] : store.resume(session).messages();
    const altered = messages.filter((message) => !isAsSaid(message)).map(({ seq }) => seq);
    verdict.altered += altered.length;
    if (altered.length > 0) verdict.faults.push(`${session}: altered at ${altered.slice(0, 10).join(", ")}`);
    const bySeq = new Map(messages.map((message) => [message.seq, message]));
    const forgotten = promises.forgotten.get(session) ?? new Map<number, boolean>();
    const back = [...forgotten].filter(([seq, isAcknowledged]) => isAcknowledged && bySeq.has(seq));
    if (back.length > 0) blame(`${session}: forgotten, and there again: ${back.slice(0, 10).map(([seq]) => seq)}`);
    const seqs = Array.from({ length: messages.at(-1)?.seq ?? 0 }, (_, seq) => seq);
    const empty = seqs.filter((seq) => !bySeq.has(seq) && !forgotten.has(seq));
    if (empty.length > 0) blame(`${session}: gone, and nobody forgot them: ${empty.slice(0, 10)}`);
    const newest = promises.newest.get(session);
    if (newest !== undefined && bySeq.has(newest.seq) && bySeq.get(newest.seq)!.id !== newest.messageId) {
      blame(`${session}: seq ${newest.seq} is not that of message ${newest.messageId}`);
    }
    const { changing } = promises;
    const added = stored - (changing?.session === session ? changing.from : (promises.counts.get(session) ?? 0));
    const isWhole = changing?.session === session ? stored === changing.to || added % changing.batch === 0 : added <= 0;
    if (!isWhole) blame(`${session}: ${added} messages of a transaction are there`);
  }
  const { logPosition, summaryCount } = store.stats();
  if (logPosition < promises.logPosition) blame(`the log ends at ${logPosition}, not ${promises.logPosition}`);
  if (summaryCount < promises.summaryCount) blame(`${promises.summaryCount - summaryCount} summaries are gone`);
  return verdict;
}

function isAsSaid({ sessionId, seq, role, name, parts, metadata, pinned, externalId, createdAtMs }: Message): boolean {
  const said = saidAt(sessionId, seq);
  const id = sessionId === "appended" || sessionId === "imported" ? `id ${seq}` : undefined;
  return (
    isDeepStrictEqual(
      [role, name, parts, metadata, externalId],
      [said.role, said.name, said.parts, said.metadata, id],
    ) &&
    pinned === (said.pinned ?? false) &&
    (said.createdAt === undefined || createdAtMs === said.createdAt)
  );
}
