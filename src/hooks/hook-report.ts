import { advice, type Finding, ok } from "../store/finding.ts";
import { HookLog } from "./hook-log.ts";
import { readSwitch } from "./hook-switch.ts";

/** A firing that has not ended after this time was killed. */
const KILLED_AFTER_MS = 60_000;

/** The last results of an agent's hooks. */
export interface AgentReport {
  agent: string;
  /** The last event that was answered, when, and how long it took. */
  event: string;
  atMs: number;
  ms: number;
  /** The last failure; undefined if there was none. */
  failure: { atMs: number; event: string; reason: string } | undefined;
}

/** Returns what the log says about each agent whose hooks have fired. */
export function reportsOf(storePath: string, nowMs = Date.now()): AgentReport[] {
  const entries = new HookLog(storePath).entries();
  const ended = new Set(entries.flatMap(({ id, ms }) => (ms === undefined ? [] : [id])));
  const reports = new Map<string, AgentReport>();
  for (const { agent, event, atMs, ms, failure, id } of entries) {
    const isKilled = ms === undefined && !ended.has(id) && nowMs - atMs > KILLED_AFTER_MS;
    if (ms === undefined && !isKilled) continue;
    const reason = isKilled ? "it was killed before it answered" : failure;
    const before = reports.get(agent);
    reports.set(agent, {
      agent,
      event,
      atMs,
      ms: ms ?? 0,
      failure: reason === undefined ? before?.failure : { atMs, event, reason },
    });
  }
  return [...reports.values()];
}

/** Returns what `doctor` says about the hooks. A store without hooks has no finding. */
export function hookFindings(storePath: string): Finding[] {
  const findings = reportsOf(storePath).map(({ agent, event, atMs, ms, failure }) => {
    const last = `The hook of ${agent || "an unnamed agent"} last fired at ${timeOf(atMs)} (${event || "no event"}, ${ms} ms)`;
    if (failure === undefined) return ok("hooks", `${last}.`);
    const text = `${last}, and failed at ${timeOf(failure.atMs)} (${failure.event || "no event"}): ${failure.reason}`;
    const fix =
      "Nothing was lost. If it happens again, the other findings may name the cause, and coppice hook off turns hooks off.";
    return failure.atMs === atMs ? advice("hooks", text, fix) : ok("hooks", text);
  });
  const { isOff, projectsOff } = readSwitch(storePath);
  if (isOff) findings.push(ok("hooks", "Hooks are off everywhere. coppice hook on turns them on."));
  for (const path of projectsOff) findings.push(ok("hooks", `Hooks are off in ${path}.`));
  return findings;
}

function timeOf(unixMs: number): string {
  return new Date(unixMs).toISOString().replace(/\.\d+Z$/, "Z");
}
