import { withoutMarkdown } from "../../core/inline-markdown.ts";
import type { JsonValue } from "../../core/message.ts";
import { judged, type RememberedNote, type Verdict } from "../../core/verdicts.ts";
import { cutLine, oneLine } from "../../models/lines.ts";
import type { RememberedRow, Repositories } from "../../store/index.ts";

/** The most characters that are shown of a message that another one replaces or rejects. */
const ABOUT_CHARS_MAX = 160;
export const REMEMBERED_LIMIT_DEFAULT = 100;
/** To find what still holds, so many of the newest are read. */
const READ_MAX = 500;

export interface RememberedOptions {
  /** Only of this project. */
  project?: string;
  /** The most to return: 0 to 10,000, by default 100. */
  limit?: number;
}

/** What a person asked to remember. */
export interface Remembered {
  text: string;
  messageId: number;
  sessionId: string;
  seq: number;
  /** Unix milliseconds. */
  atMs: number;
  project: string | null;
  /** Who said it, as far as it is known. */
  by: string | null;
  /** The agent that was asked to remember it. */
  agent: string | null;
  /** What it replaces or rejects. `messageId` and `text`, its beginning, are null if that message is not in this store. */
  about: { kind: Verdict["kind"]; messageId: number | null; text: string | null } | null;
  /** What was said of it later. */
  verdict?: Verdict;
}

/** Returns what people asked to remember, newest first. */
export function rememberedIn(
  { remembered }: Repositories,
  options: { project?: string | undefined; untilMs?: number; limit: number },
): Remembered[] {
  const rows = remembered.messages(options).flatMap((row) => {
    const note = noteOf(row);
    return note === undefined ? [] : [{ row, note }];
  });
  const ids = rows.map(({ row }) => row.id);
  const targets = remembered.targetsOf(ids);
  const found = rows.map(({ row, note }): Remembered => {
    const { id: messageId, text, sessionId, seq, createdAtMs: atMs, project, author } = row;
    const target = targets.get(messageId);
    const about = (kind: Verdict["kind"]): Remembered["about"] => ({
      kind,
      messageId: target?.id ?? null,
      text: target === undefined ? null : cutLine(oneLine(withoutMarkdown(target.text)), ABOUT_CHARS_MAX),
    });
    return {
      ...{ text, messageId, sessionId, seq, atMs, project },
      by: note.by ?? author,
      agent: note.agent ?? null,
      about: note.replaces ? about("replaced") : note.rejects ? about("rejected") : null,
    };
  });
  return judged(
    found,
    ({ messageId }) => messageId,
    (ids) => remembered.verdictsOn(ids),
  );
}

/** Returns what people asked to remember and did not take back, newest first. */
export function stillRemembered(
  repositories: Repositories,
  { limit, ...options }: { project: string | undefined; untilMs?: number; limit: number },
): Remembered[] {
  const all = limit === 0 ? [] : rememberedIn(repositories, { ...options, limit: READ_MAX });
  return all.filter(({ verdict }) => verdict === undefined).slice(0, limit);
}

/** Another program may have written to the session. */
function noteOf({ metadata }: RememberedRow): RememberedNote | undefined {
  const note: JsonValue | undefined = metadata?.remembered;
  return typeof note === "object" && note !== null && !Array.isArray(note) ? (note as RememberedNote) : undefined;
}
