import { rememberedTold } from "../core/verdicts.ts";
import { RECAP_LIMIT_DEFAULT, RECAP_LINES_DEFAULT, RECAP_MS_DEFAULT, recapOf } from "../session/aids/recap.ts";
import type { Remembered } from "../session/aids/remembered.ts";
import { tolerantReader } from "../session/aids/tolerant-reader.ts";
import { QuickReader, type Repositories, type Unreadable } from "../store/index.ts";
import type { Firing } from "./firing.ts";
import { type Line, quoted, type Said, type Section, said, TOLD } from "./quotation.ts";
import { recordOfSession, sectionOf } from "./work-record.ts";

/** The statements that people asked to remember take at most a third of the answer. */
const REMEMBERED_BYTES_MAX = 1_000;

/** The week before the end of this many sessions is told, so that whoever comes back after months is told something, too. */
const SESSIONS_MIN = 4;

/** Returns what `recap` tells of the last work in the project in which a session starts; undefined if there is none. */
export function sayAtStart(repositories: Repositories, firing: Firing): Said | undefined {
  const reader = new QuickReader(repositories.database.client);
  return repositories.database.read(() => {
    if (firing.project === undefined) return undefined;
    const project = reader.projectNow(firing.project);
    const without = new Set(firing.sessionId === "" ? [] : reader.sessionIds(firing.sessionId));
    const others = reader.sessions(project, SESSIONS_MIN + without.size).filter(({ id }) => !without.has(id));
    const last = others.slice(0, SESSIONS_MIN).at(-1);
    const sinceMs = (last?.lastAtMs ?? Date.now()) - RECAP_MS_DEFAULT;
    const options = { project, without, sinceMs, limit: RECAP_LIMIT_DEFAULT, linesMax: RECAP_LINES_DEFAULT };
    const damaged: string[] = [];
    const onUnreadable = ({ sessionId }: Unreadable): void => void damaged.push(sessionId);
    const { topics, remembered } = recapOf(repositories, options, tolerantReader(repositories, { onUnreadable }));
    // The messages of a session that are not damaged are told.
    const sections = [...rememberedSection(remembered), ...topics.map(sectionOf), ...recordOfSession(reader, damaged)];
    return said(quoted(sections), "what was done here before");
  });
}

/** Returns a section with what people asked to remember, newest first. It stands together, so that it is told whatever else there is. */
function rememberedSection(remembered: readonly Remembered[]): Section[] {
  const lines: Line[] = [];
  let bytes = 0;
  for (const one of remembered) {
    const text = rememberedTold(one);
    const byteLength = Buffer.byteLength(text);
    if (bytes + byteLength > REMEMBERED_BYTES_MAX) continue;
    bytes += byteLength;
    lines.push({ kind: TOLD, id: one.messageId, atMs: one.atMs, by: "user", text });
  }
  return lines.length === 0 ? [] : [{ name: "remembered", attributes: {}, lines: [lines] }];
}
