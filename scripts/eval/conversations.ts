import { existsSync } from "node:fs";
import { join } from "node:path";
import { walkFiles } from "../../src/importers/files.ts";
import { openImport } from "../../src/importers/registry.ts";
import { type MessageInput, StoreError } from "../../src/index.ts";
import { readEntire } from "./recall-data.ts";

export interface Conversation {
  id: string;
  messages: MessageInput[];
}

/**
 * Reads the coding sessions of `entire/` and those that the importers find in `transcripts/`: one conversation for each
 * session, including those of subagents. A file that no importer reads is named on stderr.
 */
export async function readConversations(dataFolder: string): Promise<Conversation[]> {
  const entire = readEntire(dataFolder).flatMap(({ sessions }) =>
    sessions.map(({ id, messages }) => ({ id, messages: messages.map(({ input }) => input) })),
  );
  return [...entire, ...(await readTranscripts(join(dataFolder, "transcripts")))].filter(
    ({ messages }) => messages.length > 0,
  );
}

/** Reads the sessions that the importers find in a folder. */
export async function readTranscripts(folder: string): Promise<Conversation[]> {
  if (!existsSync(folder)) return [];
  // Several files may hold pieces of one session, and some messages twice.
  const sessions = new Map<string, Map<string, MessageInput>>();
  for await (const file of walkFiles([folder])) {
    try {
      for await (const event of (await openImport(file)).events) {
        if (event.kind === "session")
          sessions.set(event.session.externalId, sessions.get(event.session.externalId) ?? new Map());
        else if (event.kind === "message") sessions.get(event.session)!.set(event.message.id, event.message);
      }
    } catch (error) {
      if (!StoreError.is(error, "IMPORT_UNREADABLE")) throw error;
      console.error(`Left out: ${error.message}`);
    }
  }
  return Array.from(sessions, ([id, messages]) => ({ id, messages: [...messages.values()] }));
}
