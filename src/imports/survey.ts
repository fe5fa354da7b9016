import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { walkFiles } from "../importers/files.ts";
import { type AgentLocation, agentLocations } from "../importers/locations.ts";

/** A location and the size of its content. Nothing in it was read. */
export interface SurveyedLocation {
  /** The name of the agent; null for a path that somebody named. */
  agent: string | null;
  path: string;
  /** Null if nothing exists there yet. */
  fileCount: number | null;
  byteLength: number;
}

/** Surveyed paths are never standard input. */
const NO_INPUT = (async function* (): AsyncGenerator<Uint8Array> {})();

/** Returns the locations where agents keep their transcripts on this machine. They need not exist. */
export function findAgentLocations(): AgentLocation[] {
  return agentLocations({ env: process.env, platform: process.platform, home: homedir() });
}

/** Counts the files and bytes of the given paths, or of the agents' locations if there are no paths. */
export async function surveyLocations(paths: readonly string[] = []): Promise<SurveyedLocation[]> {
  const locations = paths.length > 0 ? paths.map((path) => ({ agent: null, path })) : findAgentLocations();
  const surveyed: SurveyedLocation[] = [];
  for (const { agent, path } of locations) surveyed.push({ agent, path, ...(await measure(path)) });
  return surveyed;
}

async function measure(path: string): Promise<Pick<SurveyedLocation, "fileCount" | "byteLength">> {
  if ((await byteLengthOf(path)) === undefined) return { fileCount: null, byteLength: 0 };
  const content = { fileCount: 0, byteLength: 0 };
  for await (const file of walkFiles([path], NO_INPUT)) {
    content.fileCount += 1;
    content.byteLength += (await byteLengthOf(file.path)) ?? 0;
  }
  return content;
}

async function byteLengthOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.size;
}
