import { type ChildProcess, spawn } from "node:child_process";
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { ownCallsFolder } from "../../core/data-folder.ts";
import { StoreError } from "../../core/errors.ts";
import { replaceFile } from "../../core/files.ts";
import { estimateTokens } from "../../core/token-estimate.ts";
import type { ModelUsage } from "../summarizer.ts";
import {
  AGENT_MS_MAX,
  AGENT_NAMES,
  type AgentCall,
  type AgentEvent,
  type AgentName,
  type AgentNews,
  CALLED_AGENTS,
  type CalledAgent,
} from "./agents.ts";
import { agentFailure } from "./failure.ts";

/** An agent that prints more is stopped. An answer has some kilobytes, and the events around it fifty times as many. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
/** What is kept of output that is no answer, to tell why there is none. */
const NOTES_CHARS_MAX = 4_000;
/** An agent that was asked to end has this long until it is killed. */
const GRACE_MS = 500;

export interface AgentRequest {
  system: string;
  /** The text that the agent gets on its stdin, so that it is in no list of processes. */
  prompt: string;
  signal: AbortSignal;
  /** 1 to 86,400,000; by default 300,000. */
  timeoutMs?: number | undefined;
  /** Called with each piece of the answer. */
  onText?: ((text: string) => void) | undefined;
  onUsage?: ((usage: ModelUsage) => void) | undefined;
}

/**
 * Has an agent of this machine answer one prompt, in a process that ends with the answer, with all that it has started.
 *
 * The agent runs in `ownCallsFolder`, without tools, hooks and files of projects. What it writes down there is never imported.
 *
 * @returns the answer.
 * @throws {StoreError} `MODEL_REFUSED` if the agent is not installed or not logged in; `MODEL_UNAVAILABLE` if it is at its limit,
 *   with `retryAfterMs`, if it fails or takes too long; `MODEL_ANSWER_INVALID` if it prints no answer, or no end of it;
 *   `FILE_NOT_USABLE` if its folder cannot be made. It rejects with the signal's reason if aborted.
 */
export async function callAgent(name: AgentName, request: AgentRequest): Promise<string> {
  const { system, prompt, signal, timeoutMs = AGENT_MS_MAX, onText, onUsage } = request;
  signal.throwIfAborted();
  const agent: CalledAgent = CALLED_AGENTS[name];
  const folder = ownCallsFolder();
  const call = prepared(agent, folder, system);
  const child = spawn(agent.program, agent.args(call), {
    cwd: folder,
    // Claude Code does not start within Claude Code.
    env: { ...process.env, PATH: pathWithUsual(), CLAUDECODE: undefined, COPPICE_HOOK: "0", ...agent.env?.(call) },
    // A group of its own can be ended as a whole.
    detached: process.platform !== "win32",
  });
  let stopReason: { error: unknown } | undefined;
  let killTimer: NodeJS.Timeout | undefined;
  const stop = (error: unknown): void => {
    if (stopReason !== undefined) return;
    stopReason = { error };
    endGroup(child, "SIGTERM");
    killTimer = setTimeout(() => endGroup(child, "SIGKILL"), GRACE_MS);
  };
  const unavailable = (reason: string): StoreError => new StoreError("MODEL_UNAVAILABLE", { model: name, reason });
  const abort = (): void => {
    stop(signal.reason);
    endGroup(child, "SIGKILL"); // a second Ctrl-C ends this process at once
  };
  signal.addEventListener("abort", abort);
  const timer = setTimeout(() => stop(unavailable(`it had not ended after ${timeoutMs / 1_000} s`)), timeoutMs);
  const killNow = (): void => endGroup(child, "SIGKILL");
  process.once("exit", killNow);
  const output = new AgentOutput(agent, onText, () => {
    const reason = `it printed more than ${OUTPUT_BYTES_MAX / 1024 / 1024} MB`;
    stop(new StoreError("MODEL_ANSWER_INVALID", { model: name, reason }));
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => output.add(text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => output.note(text));
  child.stdin.on("error", () => {}); // an agent that reads no further says why, or answers
  child.stdin.end(agent.isWithoutSystem ? `${system}\n\n${prompt}` : prompt);
  try {
    const code = await ended(child).catch((error: NodeJS.ErrnoException) => {
      throw stopReason === undefined ? notStarted(name, error) : stopReason.error;
    });
    if (stopReason !== undefined) throw stopReason.error;
    output.end();
    const { answer, failure, notes, inputTokens, outputTokens } = output;
    if (inputTokens + outputTokens > 0 || (answer !== "" && code === 0)) {
      onUsage?.({
        inputTokens: inputTokens || estimateTokens(system) + estimateTokens(prompt),
        outputTokens: outputTokens || estimateTokens(answer),
      });
    }
    if (code === 0 && failure === "" && answer.trim() !== "") return answer;
    throw agentFailure(name, { said: failure || notes, isTold: failure !== "", code });
  } finally {
    clearTimeout(timer);
    clearTimeout(killTimer);
    signal.removeEventListener("abort", abort);
    process.off("exit", killNow);
  }
}

function notStarted(model: AgentName, error: NodeJS.ErrnoException): StoreError {
  const { program } = CALLED_AGENTS[model];
  const why = error.code === "ENOENT" ? "is not on the path" : `cannot be started: ${error.message}`;
  const reason = `its program ${program} ${why}`;
  return new StoreError("MODEL_REFUSED", { model, reason, concerns: "account" }, { cause: error });
}

/** Writes the files of a call into the folder. Calls at the same time write the same, each in one step. */
function prepared(agent: CalledAgent, folder: string, system: string): AgentCall {
  const systemFile = join(folder, `system-${hash("sha256", system).slice(0, 12)}.md`);
  try {
    replaceFile(systemFile, system);
    for (const [path, settings] of Object.entries(agent.files ?? {})) {
      replaceFile(join(folder, path), JSON.stringify(settings));
    }
  } catch (error) {
    const reason = `agents are called in this folder, and it cannot be written: ${(error as Error).message}`;
    throw new StoreError("FILE_NOT_USABLE", { path: folder, reason });
  }
  return { system, systemFile };
}

/** Returns the agents whose programs are on the path. */
export function installedAgents(): AgentName[] {
  const folders = pathWithUsual().split(delimiter);
  return AGENT_NAMES.filter((name) => folders.some((folder) => existsSync(join(folder, CALLED_AGENTS[name].program))));
}

/** Returns the path with the folders where agents usually are. A service does not have them. */
function pathWithUsual(): string {
  const usual = [join(homedir(), ".local", "bin"), dirname(process.execPath), "/usr/local/bin", "/opt/homebrew/bin"];
  return [process.env.PATH, ...usual].filter(Boolean).join(delimiter);
}

/** Ends a process and all that it has started. */
function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") spawn("taskkill", ["/pid", String(child.pid), "/t", "/f"], { stdio: "ignore" });
    else process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}

/** Waits for the end of a process, and ends what it leaves behind. @returns the exit code; null after a signal. */
function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
    child.once("exit", (code) => {
      endGroup(child, "SIGKILL");
      // A process that has left the group may hold the pipes.
      setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        resolve(code);
      }, GRACE_MS).unref();
    });
  });
}

/** Reads what an agent prints. */
class AgentOutput {
  answer = "";
  /** What went wrong at last. */
  failure = "";
  /** The beginning of what is no event. */
  notes = "";
  inputTokens = 0;
  outputTokens = 0;
  readonly #agent: CalledAgent;
  readonly #onText: (text: string) => void;
  readonly #onTooMuch: () => void;
  #line = "";
  #byteCount = 0;

  constructor(agent: CalledAgent, onText: (text: string) => void = () => {}, onTooMuch: () => void) {
    this.#agent = agent;
    this.#onText = onText;
    this.#onTooMuch = onTooMuch;
  }

  add(text: string): void {
    if (!this.#hasRoom(text)) return;
    const lines = text.split("\n");
    lines[0] = this.#line + lines[0]!;
    this.#line = lines.pop()!;
    for (const line of lines) this.#read(line);
  }

  /** Takes what was printed on stderr. */
  note(text: string): void {
    if (this.#hasRoom(text)) this.#keep(text);
  }

  end(): void {
    this.#read(this.#line);
    this.#line = "";
  }

  #hasRoom(text: string): boolean {
    this.#byteCount += text.length;
    if (this.#byteCount > OUTPUT_BYTES_MAX) this.#onTooMuch();
    return this.#byteCount <= OUTPUT_BYTES_MAX;
  }

  #keep(text: string): void {
    if (this.notes.length < NOTES_CHARS_MAX) this.notes = (this.notes + text).slice(0, NOTES_CHARS_MAX);
  }

  #read(line: string): void {
    if (line.trim() === "") return;
    let event: AgentEvent;
    try {
      event = JSON.parse(line);
    } catch {
      // It is kept below.
    }
    let news: AgentNews | undefined;
    try {
      if (typeof event === "object" && event !== null) news = this.#agent.read(event);
    } catch {
      // Its fields have other types than those that are known.
    }
    if (news === undefined) {
      this.#keep(`${line}\n`);
      return;
    }
    const { text, whole, failure, inputTokens, outputTokens } = news;
    const piece = typeof text === "string" ? text : this.answer === "" && typeof whole === "string" ? whole : "";
    this.answer += piece;
    if (piece !== "") this.#onText(piece);
    if (failure !== undefined) this.failure = failure;
    else if (whole !== undefined || outputTokens !== undefined) this.failure = ""; // it has tried again
    if (Number.isFinite(inputTokens)) this.inputTokens += inputTokens!;
    if (Number.isFinite(outputTokens)) this.outputTokens += outputTokens!;
  }
}
