import type { QuickReader } from "../store/index.ts";
import { sayBefore } from "./before-action.ts";
import type { SessionMemory } from "./begin.ts";
import type { Firing } from "./firing.ts";
import { quoted, type Said, said } from "./quotation.ts";
import { recordOfLost, recordOfSession } from "./work-record.ts";

/** Returns the answer to an event that is read quickly; undefined if there is nothing to quote. Writes nothing. */
export function sayAt(reader: QuickReader, firing: Firing, memory: SessionMemory): Said | undefined {
  return reader.snapshot(() => {
    const ownIds = firing.sessionId === "" ? [] : reader.sessionIds(firing.sessionId);
    switch (firing.event) {
      case "before-compaction":
        return said(quoted(recordOfSession(reader, ownIds)), "what the summary must keep");
      case "session-start": // after a compaction
      case "after-compaction":
        return said(quoted(recordOfLost(reader, ownIds)), "what was said and done before the compaction");
      case "before-action":
        return sayBefore(reader, firing, memory);
      default:
        return undefined;
    }
  });
}
