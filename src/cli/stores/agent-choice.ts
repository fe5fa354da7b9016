import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Which agents of this machine Coppice may call for a store. It is kept in a file beside the store. */
export interface AgentChoice {
  /** The agent that answers `ask`. */
  ask?: string | undefined;
  /** The agent that writes summaries while `watch` runs, and its limits. */
  summaries?: { agent: string; callsPerDay: number; tokensPerDay: number } | undefined;
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

/** Returns the summarizer that was chosen for a store; undefined if there is none. @throws {StoreError} `OPTION_INVALID`. */
export async function chosenSummarizer(storePath: string) {
  const { summaries } = readAgentChoice(storePath);
  if (summaries === undefined) return undefined;
  const { agentSummarizer } = await import("../../session/aids/agent-summaries.ts");
  const { Redactor } = await import("../../imports/redaction/redact.ts");
  const redactor = new Redactor({ keepSecrets: false });
  const options = { ...summaries, redact: (text: string): string => redactor.redacted(text) };
  return agentSummarizer(options as Parameters<typeof agentSummarizer>[0]);
}
