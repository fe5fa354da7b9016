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

/** The value of `remembered` in the metadata of a remembered message. */
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

export function withVerdict({ text, verdict }: { text: string; verdict?: Verdict | undefined }): string {
  return verdict === undefined ? text : `${text} [${verdictText(verdict)}]`;
}

/** A longer statement is cut where several are told, so that it does not take the room of the others. */
export const TOLD_CHARS_MAX = 400;

interface RememberedText {
  text: string;
  about: { kind: Verdict["kind"]; text: string | null } | null;
}

interface RememberedBy {
  by: string | null;
  agent: string | null;
}

/** Returns who said what was remembered: `Ada`, or `Ada, by way of codex` if an agent has stored it; null if nothing is known. */
export function rememberedBy({ by, agent }: RememberedBy): string | null {
  if (agent === null) return by;
  return by === null ? `by way of ${agent}` : `${by}, by way of ${agent}`;
}

/** Returns what was remembered as one line, with who said it. A long one is cut. */
export function rememberedTold(one: RememberedText & RememberedBy): string {
  const who = rememberedBy(one);
  return `${rememberedLine(one, TOLD_CHARS_MAX)}${who === null ? "" : ` (${who})`}`;
}

/** Returns what was remembered as one line, with what it rejects. */
export function rememberedLine({ text, about }: RememberedText, charsMax = Number.POSITIVE_INFINITY): string {
  const line = text.replace(/\s+/g, " ").trim();
  const said = line.length <= charsMax ? line : `${line.slice(0, charsMax).toWellFormed()}…`;
  if (about?.kind !== "rejected") return said;
  return `rejected ${about.text === null ? "a message that is not here" : `“${about.text}”`}: ${said}`;
}
