import type { QuickReader } from "../store/index.ts";
import { sayBefore } from "./before-action.ts";
import type { SessionMemory } from "./begin.ts";
import type { Firing } from "./firing.ts";
import { quoted, type Said, said } from "./quotation.ts";
import { recordOfLost, recordOfProject, recordOfSession } from "./work-record.ts";

/** Returns the answer to an event that is no prompt; undefined if there is nothing to quote. Writes nothing. */
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
      case "prompt":
        return undefined;
      case "before-action":
        return sayBefore(reader, firing, memory);
    }
  });
}

function broughtBack(reader: QuickReader, ownIds: readonly string[]): Said | undefined {
  return said(quoted(recordOfLost(reader, ownIds)), "what was said and done before the compaction");
}
