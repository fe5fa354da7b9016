import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Which agents of this machine Coppice may call for a store. It is kept in a file beside the store. */
export interface AgentChoice {
  /** The agent that answers `ask`. */
  ask?: string;
}

/** Returns what was chosen. A file that cannot be read counts as none. */
export function readAgentChoice(storePath: string): AgentChoice {
  try {
    const found: unknown = JSON.parse(readFileSync(fileOf(storePath), "utf8"));
    return typeof found === "object" && found !== null ? found : {};
  } catch {
    return {};
  }
}

/** @throws if the file cannot be written. */
export function writeAgentChoice(storePath: string, change: AgentChoice): void {
  const path = fileOf(storePath);
  const written = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(written, `${JSON.stringify({ ...readAgentChoice(storePath), ...change })}\n`, { mode: 0o600 });
  renameSync(written, path);
}

function fileOf(storePath: string): string {
  return `${storePath}.agents.json`;
}
