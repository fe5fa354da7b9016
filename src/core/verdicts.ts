/** The ids of the sessions that hold what people asked to remember begin so. Each project has one. */
export const REMEMBERED = "remembered-";
/** The ids of all other sessions are before the first or not before this one. */
export const AFTER_REMEMBERED = "remembered.";

export function isRemembered(sessionId: string): boolean {
  return sessionId >= REMEMBERED && sessionId < AFTER_REMEMBERED;
}

/** Names a message in any store. After a rewind another message may have its seq, and then the time differs. */
export interface MessageName {
  sessionId: string;
  seq: number;
  atMs: number;
}

/** What the metadata of a remembered message has under `remembered`. */
export interface RememberedNote {
  by?: string;
  agent?: string;
  replaces?: MessageName;
  rejects?: MessageName;
}

/** What a person said later of a message. */
export interface Verdict {
  kind: "replaced" | "rejected";
  /** The remembered message that says so. */
  messageId: number;
  /** Its text: what holds instead, or why the message is rejected. */
  text: string;
}

/** Reads the newest verdict on each of these messages that has one. */
export type ReadVerdicts = (messageIds: readonly number[]) => ReadonlyMap<number, Verdict>;

/** Returns the same lines or messages with the verdicts on their messages. */
export function judged<T extends { verdict?: Verdict }>(
  said: readonly T[],
  idOf: (one: T) => number,
  read: ReadVerdicts,
): T[] {
  const verdicts = read(said.map(idOf));
  if (verdicts.size === 0) return [...said];
  return said.map((one) => {
    const verdict = verdicts.get(idOf(one));
    return verdict === undefined ? one : { ...one, verdict };
  });
}

/** Returns a verdict on one line, such as `rejected: it blocks on NFS (message:12)`. */
export function verdictText({ kind, messageId, text }: Verdict): string {
  return `${kind}: ${text.replace(/\s+/g, " ").trim()} (message:${messageId})`;
}

/** Returns what was said, with the verdict on it. */
export function withVerdict({ text, verdict }: { text: string; verdict?: Verdict | undefined }): string {
  return verdict === undefined ? text : `${text} [${verdictText(verdict)}]`;
}

/** Returns what was remembered as one line, with what it rejects. */
export function rememberedLine({
  text,
  about,
}: {
  text: string;
  about: { kind: Verdict["kind"]; text: string | null } | null;
}): string {
  const said = text.replace(/\s+/g, " ").trim();
  if (about?.kind !== "rejected") return said;
  return `rejected ${about.text === null ? "a message that is not here" : `“${about.text}”`}: ${said}`;
}
