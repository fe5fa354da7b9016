import { snippetOf } from "../recall/snippet.ts";
import type { NotableMessage, QuickReader } from "../store/index.ts";
import { sayBefore } from "./before-action.ts";
import type { SessionMemory } from "./begin.ts";
import type { Firing } from "./firing.ts";
import { nearMessages } from "./near-messages.ts";
import { type Line, quoted, type Said, type Section, said } from "./quotation.ts";
import { recordOfLost, recordOfProject, recordOfSession } from "./work-record.ts";

/** The most messages that are quoted for one prompt, and their tokens. */
const NEAR_MAX = 3;
const NEAR_TOKENS_MAX = 500;

/** Messages that begin with this many equal characters count as copies. */
const COPY_CHARS = 120;

/** Returns the answer to an event; undefined if there is nothing to quote. Writes nothing. */
export function sayAt(reader: QuickReader, firing: Firing, memory: SessionMemory): Said | undefined {
  return reader.snapshot(() => {
    const ownIds = firing.sessionId === "" ? [] : reader.sessionIds(firing.sessionId);
    const project = firing.project === undefined ? undefined : reader.projectNow(firing.project);
    switch (firing.event) {
      case "session-start":
        if (firing.source === "compact") return broughtBack(reader, ownIds);
        if (project === undefined) return undefined;
        return said(quoted(recordOfProject(reader, project, new Set(ownIds))), "what was done here before");
      case "before-compaction":
        return said(quoted(recordOfSession(reader, ownIds)), "what the summary must keep");
      case "after-compaction":
        return broughtBack(reader, ownIds);
      case "turn-end":
        return undefined;
      case "before-action":
        return sayBefore(reader, firing, memory);
      case "prompt": {
        const near = project === undefined ? [] : nearSection(reader, firing, project, ownIds, memory);
        // Some agents accept no text right after a compaction. For them, the next prompt brings back what was decided.
        if (memory.isBare) return said(quoted([...recordOfLost(reader, ownIds), ...near]), "what was decided before");
        return said(quoted(near, NEAR_TOKENS_MAX), "what was said about this before");
      }
    }
  });
}

function broughtBack(reader: QuickReader, ownIds: readonly string[]): Said | undefined {
  return said(quoted(recordOfLost(reader, ownIds)), "what was said and done before the compaction");
}

function nearSection(
  reader: QuickReader,
  { prompt, sessionId }: Firing,
  project: string,
  ownIds: readonly string[],
  { quoted, compactedAtMs = Number.NEGATIVE_INFINITY }: SessionMemory,
): Section[] {
  const asked = prompt.trim();
  const own = new Set([sessionId, ...ownIds]);
  const near = nearMessages(reader, project, prompt, ({ id, text, sessionId: of, createdAtMs }) => {
    return quoted.has(id) || text.trim() === asked || (own.has(of) && createdAtMs >= compactedAtMs);
  });
  const beginnings = new Set<string>();
  const distinct = near.filter(({ message: { text } }) => {
    const beginning = text.trim().slice(0, COPY_CHARS);
    return !beginnings.has(beginning) && beginnings.add(beginning);
  });
  const lines = distinct.slice(0, NEAR_MAX).flatMap(({ message, weights }) => {
    const lineOf = (kind: string, { id, role, createdAtMs, text }: NotableMessage): Line => {
      return { kind, id, atMs: createdAtMs, by: role, text: snippetOf(text, weights).text };
    };
    // An old question is worth little without its answer.
    const answer = message.role === "user" ? reader.answerTo(message) : undefined;
    return [lineOf("said", message), ...(answer === undefined ? [] : [lineOf("answered", answer)])];
  });
  return lines.length === 0 ? [] : [{ name: "near", attributes: {}, lines }];
}
