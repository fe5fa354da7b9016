import { lstatSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { agentLocations } from "../importers/locations.ts";
import type { HookAgent } from "./firing.ts";

/** The most bytes of a transcript that a hook imports. `coppice watch` imports longer ones. */
export const TRANSCRIPT_BYTES_MAX = 256 * 1024 * 1024;

/** The names of the agents in `agentLocations`. opencode keeps no transcripts. */
const LOCATED_AS: Readonly<Record<HookAgent, string>> = {
  "claude-code": "Claude Code",
  codex: "Codex",
  "gemini-cli": "Gemini CLI",
  opencode: "",
  pi: "pi",
};

/**
 * Returns why a hook does not import a file, or undefined if it does: the agent names it, and whoever speaks for the agent could name
 * any. Only regular files are transcripts, in the folders where the agent keeps them, and not links to others.
 */
export function transcriptFault(agent: HookAgent, path: string): string | undefined {
  try {
    if (!isAbsolute(path)) return `The transcript ${path} is not named by a full path.`;
    const folder = realpathSync(dirname(path));
    const machine = { env: process.env, platform: process.platform, home: homedir() };
    const isOwn = agentLocations(machine).some(
      ({ agent: name, path: own }) => name === LOCATED_AS[agent] && isWithin(folder, own),
    );
    if (!isOwn) return `The transcript ${path} is not in a folder of ${agent}, so it was not imported.`;
    const found = lstatSync(join(folder, basename(path)));
    if (!found.isFile()) return `The transcript ${path} is no regular file, so it was not imported.`;
    if (found.size <= TRANSCRIPT_BYTES_MAX) return undefined;
    return `The transcript ${path} is longer than ${TRANSCRIPT_BYTES_MAX} bytes, so it was not imported. \`coppice watch\` imports it.`;
  } catch (error) {
    return `The transcript ${path} cannot be read: ${(error as Error).message}`;
  }
}

function isWithin(folder: string, location: string): boolean {
  try {
    const way = relative(realpathSync(location), folder);
    return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  } catch {
    return false; // the agent has no such folder
  }
}
