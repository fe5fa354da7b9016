import { stat } from "node:fs/promises";
import { walkFiles } from "../importers/files.ts";
import { type AgentLocation, agentLocations } from "../importers/locations.ts";

/** A place that is to be watched, and what is in it: nothing of that was read. */
export interface SurveyedPlace {
  /** Null for a path that somebody named. */
  agent: string | null;
  path: string;
  /** Null where nothing is there yet. */
  fileCount: number | null;
  byteLength: number;
}

/** Nobody types here. */
const NO_INPUT = (async function* (): AsyncGenerator<Uint8Array> {})();

/** Look at the standard places of agents, or at the paths that were named: how many files, and of what size. */
export async function surveyPlaces(
  paths: readonly string[],
  machine: Parameters<typeof agentLocations>[0],
): Promise<SurveyedPlace[]> {
  const named = paths.map((path) => ({ agent: null, path }));
  const places: (AgentLocation | (typeof named)[number])[] = named.length > 0 ? named : agentLocations(machine);
  const surveyed: SurveyedPlace[] = [];
  for (const { agent, path } of places) surveyed.push({ agent, path, ...(await contentOf(path)) });
  return surveyed;
}

async function contentOf(path: string): Promise<Pick<SurveyedPlace, "fileCount" | "byteLength">> {
  if ((await sizeOf(path)) === undefined) return { fileCount: null, byteLength: 0 };
  const content = { fileCount: 0, byteLength: 0 };
  for await (const file of walkFiles([path], NO_INPUT)) {
    content.fileCount += 1;
    content.byteLength += (await sizeOf(file.path)) ?? 0;
  }
  return content;
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}
