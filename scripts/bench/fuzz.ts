import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DATABASE_SECONDS_MAX } from "../../src/core/limits.ts";
import { Progress } from "../progress.ts";
import type { Job, Reply } from "./fuzz/child.ts";

const CHILD = fileURLToPath(new URL("./fuzz/child.ts", import.meta.url));
/** The share of each target in all inputs. */
const SHARES: Record<string, number> = { importers: 0.45, api: 0.25, mcp: 0.15, cli: 0.05, tools: 0.05, rows: 0.05 };
const INPUTS_DEFAULT = 200_000;
/** The number of inputs that share a store. */
const JOB_INPUTS = 250;
/** Longer than SQLite may take with a foreign database, in milliseconds of the process's own time. */
const HANG_MS = DATABASE_SECONDS_MAX * 1_000 + 5_000;
/** The same for a process that waits, or that other processes keep from running. */
const STANDSTILL_MS = 8 * HANG_MS;
/** How often the parent looks for a hang, in milliseconds. */
const WATCH_MS = 500;
/** The unit of process times in Linux's `/proc`, in milliseconds. */
const TICK_MS = 10;
const PROCESSES_MAX = 4;
const STDERR_CHARS_MAX = 2_000;
/** The most failures of one place that are printed. */
const SHOWN_MAX = 3;
const ERROR_CHARS_SHOWN = 1_200;
/** Jobs that take more are named, in MiB. */
const JOB_MB_MAX = 500;
/**
 * The largest heap of a process, in MiB. On a large machine V8 lets much garbage lie, so that more tells of the machine. A process
 * that needs more ends, and counts as a crash.
 */
const HEAP_MB_MAX = 250;

export interface FuzzFailure {
  kind: "crash" | "hang" | "untyped";
  /** The input's name for `--only`, which repeats it: `importers:17`. */
  input: string;
  error: string;
}

/** Inputs with which a process took much memory. */
export interface HungryJob {
  /** The name of the inputs for `--only`: `api:250-499`. */
  inputs: string;
  /** What the process had before them. If this is much too, earlier inputs left it behind. */
  startMb: number;
  peakMb: number;
}

export interface FuzzReport {
  inputs: number;
  failures: FuzzFailure[];
  hungry: HungryJob[];
  /** The most memory that one of the processes took. */
  rssMb: number;
}

export interface FuzzOptions {
  inputs?: number | undefined;
  seed?: number | undefined;
  /** One input, such as `importers:17`, or a range of them, such as `api:250-499`. */
  only?: string | undefined;
  /** Gets each line about a failure or a hungry job when it is found. */
  onFound?: ((line: string) => void) | undefined;
}

/** Feeds odd inputs to every target and prints what fails. Each input is determined by its target, the seed and its number. */
export async function benchFuzz(options: FuzzOptions) {
  const { seed = 1 } = options;
  const { inputs, failures, hungry, rssMb } = await fuzz({ ...options, onFound: (line) => console.error(line) });
  const countOf = (kind: FuzzFailure["kind"]) => failures.filter((failure) => failure.kind === kind).length;
  for (const [place, found] of byPlace(failures)) {
    console.error(`${found.length} × ${place}`);
    for (const { kind, input, error } of found.slice(0, SHOWN_MAX)) {
      console.error(
        `  ${kind}: --seed ${seed} --only ${input}\n    ${error.slice(0, ERROR_CHARS_SHOWN).replaceAll("\n", "\n    ")}`,
      );
    }
  }
  for (const job of hungry) console.error(lineOfJob(job, seed));
  if (failures.length > 0) console.error("A failure may depend on earlier inputs, from the last multiple of 250 on.");
  const figures = { inputs, crashes: countOf("crash"), hangs: countOf("hang"), untyped: countOf("untyped"), rssMb };
  return { name: "fuzz", figures };
}

export async function fuzz({
  inputs = INPUTS_DEFAULT,
  seed = 1,
  only,
  onFound = () => {},
}: FuzzOptions): Promise<FuzzReport> {
  const jobs = only === undefined ? jobsOf(inputs, seed) : [onlyJob(only, seed)];
  const report = {
    inputs: jobs.reduce((sum, { from, to }) => sum + to - from, 0),
    ...{ failures: [], hungry: [], rssMb: 0 },
  };
  const findings = new Findings(report, seed, onFound);
  const processCount = Math.min(availableParallelism(), PROCESSES_MAX, jobs.length);
  await Promise.all(Array.from({ length: processCount }, () => work(jobs, findings)));
  findings.end();
  return report;
}

/** Collects what is found, and tells it at once: a whole run takes an hour. */
class Findings {
  readonly #report: FuzzReport;
  readonly #seed: number;
  readonly #onFound: (line: string) => void;
  readonly #progress: Progress;
  #fedCount = 0;

  constructor(report: FuzzReport, seed: number, onFound: (line: string) => void) {
    this.#report = report;
    this.#seed = seed;
    this.#onFound = onFound;
    this.#progress = new Progress("inputs", report.inputs);
  }

  end(): void {
    this.#progress.end();
  }

  failed(failure: FuzzFailure): void {
    this.#report.failures.push(failure);
    const { kind, input, error } = failure;
    this.#onFound(`${kind}: --seed ${this.#seed} --only ${input}: ${firstLine(error)}`);
  }

  /** Notes the memory that a process took for inputs. */
  took({ target, from, to }: Job, startMb: number, peakMb: number): void {
    this.#report.rssMb = Math.max(this.#report.rssMb, Math.round(peakMb));
    this.#fedCount += to - from;
    this.#progress.reach(this.#fedCount, `${this.#report.failures.length} failures`);
    if (peakMb <= JOB_MB_MAX) return;
    const job = { inputs: `${target}:${from}-${to - 1}`, startMb: Math.round(startMb), peakMb: Math.round(peakMb) };
    this.#report.hungry.push(job);
    this.#onFound(lineOfJob(job, this.#seed));
  }
}

function lineOfJob({ inputs, startMb, peakMb }: HungryJob, seed: number): string {
  return `memory: --seed ${seed} --only ${inputs}: ${peakMb} MiB at most, ${startMb} MiB before`;
}

/** Divides the inputs. The targets take turns, so that a run that was stopped has fed all of them. */
function jobsOf(inputs: number, seed: number): Job[] {
  const jobs = Object.entries(SHARES).flatMap(([target, share]) => {
    const count = Math.round(inputs * share);
    const starts = Array.from({ length: Math.ceil(count / JOB_INPUTS) }, (_, index) => index * JOB_INPUTS);
    return starts.map((from) => ({ target, seed, from, to: Math.min(from + JOB_INPUTS, count), at: from / count }));
  });
  return jobs.sort((a, b) => a.at - b.at);
}

function onlyJob(only: string, seed: number): Job {
  const [, target = "", from, to = from] = /^(\w+):(\d+)(?:-(\d+))?$/.exec(only) ?? [];
  if (!(target in SHARES))
    throw new Error(`Expected --only ${Object.keys(SHARES).join("|")}:NUMBER[-NUMBER], got ${only}`);
  return { target, seed, from: Number(from), to: Number(to) + 1 };
}

/** Feeds jobs to a process until none is left. After a crash or a hang, another process goes on behind the input. */
async function work(jobs: Job[], findings: Findings): Promise<void> {
  let child: Fed | undefined;
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    for (let from: number | undefined = job.from; from !== undefined && from < job.to; ) {
      child ??= await Fed.start();
      const failure = await child.feed({ ...job, from }, findings);
      from = failure?.number === undefined ? undefined : failure.number + 1;
      if (failure === undefined) continue;
      await child.kill();
      child = undefined;
    }
  }
  await child?.kill();
}

/** A process that is fed with inputs. */
class Fed {
  readonly #folder: string;
  readonly #numberFile: string;
  readonly #child: ChildProcess;
  #stderr = "";

  private constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), "coppice-fuzz-"));
    this.#numberFile = join(this.#folder, "number");
    writeFileSync(this.#numberFile, Buffer.alloc(8));
    const stdio = ["ignore", "ignore", "pipe", "ipc"] as const;
    this.#child = fork(CHILD, [this.#numberFile], {
      execArgv: ["--expose-gc", `--max-old-space-size=${HEAP_MB_MAX}`, "--import", import.meta.resolve("tsx")],
      stdio: [...stdio],
    });
    this.#child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARS_MAX);
    });
  }

  static async start(): Promise<Fed> {
    const fed = new Fed();
    await new Promise<void>((resolve, reject) => {
      fed.#child.once("message", () => resolve());
      fed.#child.once("close", () => reject(new Error(`The process does not start: ${fed.#stderr}`)));
    });
    fed.#child.removeAllListeners("close");
    return fed;
  }

  /** Feeds a job. @returns the number of the input at which the process died or stood still. */
  feed(job: Job, findings: Findings): Promise<{ number: number } | undefined> {
    const child = this.#child;
    const startMb = startMeasuring(child.pid!);
    return new Promise((resolve) => {
      let peakMb = startMb;
      let [last, lastAtMs, lastCpuMs] = [-1, performance.now(), 0];
      const end = (failure?: { kind: "crash" | "hang"; error: string; number: number }): void => {
        clearInterval(watch);
        child.removeAllListeners("message").removeAllListeners("close");
        const { number } = failure ?? {};
        findings.took(number === undefined ? job : { ...job, to: number + 1 }, startMb, peakMb);
        if (failure !== undefined) {
          const { kind, error, number } = failure;
          findings.failed({ kind, input: `${job.target}:${number}`, error });
        }
        resolve(failure);
      };
      const watch = setInterval(() => {
        peakMb = peakMbOf(child.pid!) ?? peakMb;
        const number = this.#number();
        const cpuMs = cpuMsOf(child.pid!);
        if (number !== last) [last, lastAtMs, lastCpuMs] = [number, performance.now(), cpuMs ?? 0];
        const ms = performance.now() - lastAtMs;
        const ownMs = cpuMs === undefined ? ms : cpuMs - lastCpuMs;
        if (ownMs > HANG_MS || ms > STANDSTILL_MS) {
          const error = `no end after ${Math.round(ownMs)} ms of its own time, ${Math.round(ms)} ms in all`;
          end({ kind: "hang", number, error });
        }
      }, WATCH_MS);
      child.on("message", (reply: Reply) => {
        if (reply.kind === "untyped") {
          findings.failed({ kind: "untyped", input: `${job.target}:${reply.number}`, error: reply.error });
        } else if (reply.kind === "done") {
          peakMb = peakMbOf(child.pid!) ?? reply.rssMb;
          end();
        }
      });
      child.on("close", (code, signal) => {
        end({
          kind: "crash",
          number: this.#number(),
          error: `the process ended with ${code ?? signal}: ${this.#stderr}`,
        });
      });
      child.send(job);
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child.exitCode === null && child.signalCode === null) {
      const closed = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGKILL");
      await closed;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #number(): number {
    return readFileSync(this.#numberFile).readDoubleLE(0);
  }
}

/** Returns the time that a process has computed for, in milliseconds; undefined on systems other than Linux. */
function cpuMsOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return undefined;
  }
}

/** Lets Linux forget the most memory that a process had. Returns what it has, in MiB. */
function startMeasuring(pid: number): number {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // On another system, the process says what it has had at most since it began.
  }
  return statusMb(pid, "VmRSS") ?? 0;
}

/** Returns the most memory that a process had since it is measured, in MiB; undefined on systems other than Linux. */
function peakMbOf(pid: number): number | undefined {
  return statusMb(pid, "VmHWM");
}

function statusMb(pid: number, name: string): number | undefined {
  try {
    const [, kib] =
      new RegExp(`^${name}:\\s*(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
    return kib === undefined ? undefined : Number(kib) / 1_024;
  } catch {
    return undefined;
  }
}

function firstLine(error: string): string {
  return error.split("\n", 1)[0]!.slice(0, 120);
}

/** Groups failures by the first line of the source that they name. */
function byPlace(failures: readonly FuzzFailure[]): Map<string, FuzzFailure[]> {
  const places = new Map<string, FuzzFailure[]>();
  for (const failure of failures) {
    const [, source] = /\/(src\/[^\s)]+)/.exec(failure.error) ?? [];
    const place = `${failure.kind} ${source ?? firstLine(failure.error).replace(/\d+/g, "N")}`;
    places.set(place, [...(places.get(place) ?? []), failure]);
  }
  return places;
}
