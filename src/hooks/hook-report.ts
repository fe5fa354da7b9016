import { advice, type Finding, ok, quoted } from "../store/index.ts";
import { HookLog, IMPORT_EVENT, type LogEntry } from "./hook-log.ts";
import { readSwitch } from "./hook-switch.ts";

/** A firing that has not ended after this time was killed. */
const KILLED_AFTER_MS = 60_000;
/** An import that a hook has started may take longer, because a long transcript takes minutes. */
const IMPORT_KILLED_AFTER_MS = 10 * 60_000;

/** The last results of an agent's hooks. */
export interface AgentReport {
  agent: string;
  /** The last event that was answered, when, and how long it took. */
  event: string;
  atMs: number;
  ms: number;
  /** The last failure; undefined if there was none. */
  failure: { atMs: number; event: string; reason: string } | undefined;
  /** The last import that a hook started, if it failed. `path` is the transcript. */
  importFailure: { atMs: number; path: string; reason: string } | undefined;
}

/** Returns what the log says about each agent whose hooks have fired. */
export function reportsOf(storePath: string, nowMs = Date.now()): AgentReport[] {
  const entries = new HookLog(storePath).entries();
  const firings = entries.filter(({ event }) => event !== IMPORT_EVENT);
  const ended = new Set(firings.flatMap(({ id, ms }) => (ms === undefined ? [] : [id])));
  const reports = new Map<string, AgentReport>();
  for (const { agent, event, atMs, ms, failure, id } of firings) {
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
      importFailure: importFailureOf(entries, agent, nowMs),
    });
  }
  return [...reports.values()];
}

/** Returns the failure of an agent's newest import. An import that may still be running does not count. */
function importFailureOf(entries: readonly LogEntry[], agent: string, nowMs: number): AgentReport["importFailure"] {
  const own = entries.filter((entry) => entry.agent === agent);
  const ends = own.filter(({ event }) => event === IMPORT_EVENT);
  const ended = new Set(ends.map(({ id }) => id));
  const paths = new Map(
    own.flatMap(({ id, importing }) => (importing === undefined ? [] : [[id, importing] as const])),
  );
  const killed = own.filter(
    ({ id, importing, atMs }) => importing !== undefined && !ended.has(id) && nowMs - atMs > IMPORT_KILLED_AFTER_MS,
  );
  const [newest] = [...ends, ...killed].toSorted((left, right) => right.atMs - left.atMs);
  if (newest === undefined) return undefined;
  const { id, atMs, event, failure } = newest;
  const reason = event === IMPORT_EVENT ? failure : "it was killed before it had read everything";
  return reason === undefined ? undefined : { atMs, path: paths.get(id) ?? "", reason };
}

/** Returns what `doctor` says about the hooks. A store without hooks has no finding. */
export function hookFindings(storePath: string): Finding[] {
  const reports = reportsOf(storePath);
  const findings = reports.map(({ agent, event, atMs, ms, failure }) => {
    const last = `The hook of ${agent || "an unnamed agent"} last fired at ${timeOf(atMs)} (${event || "no event"}, ${ms} ms)`;
    if (failure === undefined) return ok("hooks", `${last}.`);
    const text = `${last}, and failed at ${timeOf(failure.atMs)} (${failure.event || "no event"}): ${failure.reason}`;
    const fix =
      "Nothing was lost. If it happens again, the other findings may name the cause, and coppice hook off turns hooks off.";
    return failure.atMs === atMs ? advice("hooks", text, fix) : ok("hooks", text);
  });
  for (const { agent, importFailure } of reports) {
    if (importFailure === undefined) continue;
    const { atMs, path, reason } = importFailure;
    const text = `The import that the hook of ${agent} started last failed at ${timeOf(atMs)}: ${reason}`;
    findings.push(advice("hooks", text, importFix(path)));
  }
  const { isOff, projectsOff } = readSwitch(storePath);
  if (isOff) findings.push(ok("hooks", "Hooks are off everywhere. coppice hook on turns them on."));
  for (const path of projectsOff) findings.push(ok("hooks", `Hooks are off in ${path}.`));
  return findings;
}

/** Says what to do about an import that failed. */
export function importFix(path: string): string {
  const again = path === "" ? "" : ` coppice import ${quoted(path)} tries now, and says what is wrong.`;
  return `The transcript still has what was said, and the next import after a turn tries again.${again}`;
}

function timeOf(unixMs: number): string {
  return new Date(unixMs).toISOString().replace(/\.\d+Z$/, "Z");
}
