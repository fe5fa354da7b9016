import { readFileSync } from "node:fs";
import { StoreError } from "../../core/errors.ts";
import { replaceFile } from "../../core/files.ts";
import type { AgentName } from "../../session/aids/ask.ts";
import type { OpenOptions, Store } from "../../session/store.ts";

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

/** @throws {StoreError} `FILE_NOT_USABLE`. */
export function writeAgentChoice(storePath: string, change: AgentChoice): void {
  const path = fileOf(storePath);
  try {
    replaceFile(path, `${JSON.stringify({ ...readAgentChoice(storePath), ...change })}\n`);
  } catch (error) {
    throw new StoreError("FILE_NOT_USABLE", { path, reason: `it cannot be written: ${(error as Error).message}` });
  }
}

function fileOf(storePath: string): string {
  return `${storePath}.agents.json`;
}

/** Keeps back what must not be sent: secrets, and texts of projects that were excluded after they had been stored. */
export async function whatStays(store: () => Store) {
  const { baseNameOf } = await import("../../core/project.ts");
  const { ExclusionRules } = await import("../../imports/exclusions.ts");
  const { Redactor } = await import("../../imports/redaction/redact.ts");
  const redactor = new Redactor({ keepSecrets: false });
  return {
    redact: (text: string): string => redactor.redacted(text),
    isLeftOut: (sessionId: string): boolean => {
      const excluded = store().exclude();
      const [row] = store().query("SELECT project, json(metadata) AS metadata FROM sessions WHERE id = ?", [sessionId]);
      const project = row?.project == null ? [] : [String(row.project)];
      const session = { source: "", externalId: sessionId, metadata: JSON.parse(String(row?.metadata ?? "{}")) };
      // Nothing tells the folder of a project that is only a name.
      const isNamed = excluded.paths.some((path) => project.includes(baseNameOf(path)));
      return isNamed || new ExclusionRules(excluded).hasSession(session, project);
    },
  };
}

/**
 * Returns the summarizer that was chosen for a store; undefined if there is none. Before each call it looks again at what is excluded
 * and chosen, because a watch runs for days.
 *
 * @param store  Returns the store, once it is open.
 * @throws {StoreError} `OPTION_INVALID`.
 */
export async function chosenSummarizer(storePath: string, store: () => Store): Promise<OpenOptions["summarizer"]> {
  const { summaries } = readAgentChoice(storePath);
  if (summaries === undefined) return undefined;
  const { agentSummarizer } = await import("../../session/aids/ask.ts");
  const { redact, isLeftOut } = await whatStays(store);
  const { agent, ...limits } = summaries;
  const model = agent as AgentName;
  const summarizer = agentSummarizer({ agent: model, ...limits, redact });
  return {
    ...summarizer,
    summarize: ({ onSend, ...request }) => {
      const check = (): void => {
        if (JSON.stringify(readAgentChoice(storePath).summaries) !== JSON.stringify(summaries)) {
          const reason = "setup has changed what may be sent since the watch was started";
          throw new StoreError("MODEL_REFUSED", { model, reason, concerns: "account" });
        }
        if (isLeftOut(request.sessionId)) {
          throw new StoreError("MODEL_REFUSED", { model, reason: "the project of the session is excluded" });
        }
        onSend?.();
      };
      return summarizer.summarize({ ...request, onSend: check });
    },
  };
}
