import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { walkFiles } from "../importers/files.ts";
import { type AgentLocation, agentLocations } from "../importers/locations.ts";

/** A location and the size of its content. */
export interface SurveyedLocation {
  /** Null for a path that the caller named. */
  agent: string | null;
  path: string;
  /** Null if nothing exists there yet. */
  fileCount: number | null;
  byteLength: number;
}

/** Returns the locations where agents keep their transcripts on this machine. They need not exist. */
export function findAgentLocations(): AgentLocation[] {
  return agentLocations({ env: process.env, platform: process.platform, home: homedir() });
}

/** Counts the files and bytes of the given paths, or of the agents' locations if there are no paths. */
export async function surveyLocations(paths: readonly string[] = []): Promise<SurveyedLocation[]> {
  const locations = paths.length > 0 ? paths.map((path) => ({ agent: null, path })) : findAgentLocations();
  return Promise.all(locations.map(survey));
}

async function survey({ agent, path }: { agent: string | null; path: string }): Promise<SurveyedLocation> {
  if (!existsSync(path)) return { agent, path, fileCount: null, byteLength: 0 };
  let fileCount = 0;
  let byteLength = 0;
  for await (const file of walkFiles([path])) {
    fileCount += 1;
    byteLength += file.byteLength ?? 0;
  }
  return { agent, path, fileCount, byteLength };
}
