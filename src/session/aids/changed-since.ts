import { type Stats, statSync } from "node:fs";
import { isPath } from "../../core/project.ts";
import { isChange, writtenBy } from "../../models/actions.ts";
import type { Repositories, SessionRow } from "../../store/index.ts";
import { isAbsolute } from "./past-work.ts";

/** The newest messages of a session whose files are looked at, and the most files. */
const MESSAGES_MAX = 500;
const FILES_MAX = 20;
/** What a session writes last may get its time after the message. */
const SLACK_MS = 2_000;
/** A program may add a line feed at the end of what it is given. */
const SIZE_SLACK = 1;

/** Returns the files of a session that were changed after its last message: see `Work.changedSince`. */
export function changedSince(
  { actions, messages }: Repositories,
  { id, project, author }: Pick<SessionRow, "id" | "project" | "author">,
): string[] {
  const last = messages.lastSeq(id);
  if (author !== null || last === undefined) return [];
  const newest = messages.byId(last.id);
  const found = new Map<string, { isChange: boolean; written: () => string | undefined }>();
  for (const { kind, target, messageId, part } of actions.onFiles({ sessionId: id, seq: last.seq - MESSAGES_MAX })) {
    const path = isAbsolute(target) ? target : project !== null && isPath(project) ? `${project}/${target}` : undefined;
    if (path === undefined) continue;
    const known = found.get(path);
    if (known === undefined && found.size === FILES_MAX) break;
    if (known?.isChange === true || (known !== undefined && !isChange(kind))) continue;
    const written = (): string | undefined => {
      const call = kind === "write" ? messages.byIds([messageId])[0]?.parts[part] : undefined;
      return call?.type === "tool_call" ? writtenBy(call) : undefined;
    };
    found.set(path, { isChange: isChange(kind), written });
  }
  const thenMs = newest!.createdAtMs + SLACK_MS;
  return [...found].flatMap(([path, { written }]) => (isChanged(lookAt(path), thenMs, written) ? [path] : []));
}

function isChanged(now: Stats | undefined, thenMs: number, written: () => string | undefined): boolean {
  if (now === undefined || !now.isFile() || now.mtimeMs <= thenMs) return false;
  // Some file systems do not tell when a file was made, and give 0, or the time of its last change.
  if (now.birthtimeMs > 0 && now.birthtimeMs <= thenMs) return true;
  const text = written();
  return text !== undefined && Math.abs(now.size - Buffer.byteLength(text)) > SIZE_SLACK;
}

function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // a folder that may not be read
  }
}
