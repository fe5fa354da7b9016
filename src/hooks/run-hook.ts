import { existsSync, writeSync } from "node:fs";
import type { Readable } from "node:stream";
import { openQuickly } from "../store/index.ts";
import { answerOf, takesText } from "./answer.ts";
import { sayBefore } from "./before-action.ts";
import { type BegunFiring, begin, type SessionMemory } from "./begin.ts";
import { within } from "./deadline.ts";
import { type Firing, firingOf, isFromStore } from "./firing.ts";
import { HookLog, type LogEntry, unbegunEntry } from "./hook-log.ts";
import type { Said } from "./quotation.ts";

/** The most bytes of an agent's JSON. A larger one is a mistake. */
export const INPUT_BYTES_MAX = 4 * 1024 * 1024;
/** The longest wait for the whole input, and for its next byte, in milliseconds. */
const INPUT_MS_MAX = 1_500;
const INPUT_PAUSE_MS_MAX = 500;

/** Milliseconds after which the process ends, whatever it is doing. */
const HOOK_MS_MAX = 3_000;
/** The start of a session reads a week of work, and many sessions may start at once. A compaction is preceded by an import. */
const LONGER_MS_MAX: Partial<Record<string, number>> = { "session-start": 5_000, "before-compaction": 12_000 };
/** How long the hook waits for the import that an event starts. Other events start none. */
const IMPORT_MS_MAX: Partial<Record<Firing["event"], number>> = { "before-compaction": 8_000, "turn-end": 0 };

export interface HookCall {
  event: string | undefined;
  agent: string | undefined;
  storePath: string;
}

/**
 * Answers one event of an agent, and ends the process with 0. An agent must never fail or wait because of its memory: whatever
 * goes wrong, nothing is printed, and the log has the reason.
 */
export async function runHook(call: HookCall): Promise<never> {
  const run = new HookRun(call);
  const giveUp = (error: unknown): never => {
    run.fail(error);
    process.exit(0);
  };
  process.on("uncaughtException", giveUp); // and unhandled rejections
  setTimeout(() => giveUp(run.late), run.msMax);
  await run.answer(process.stdin, (text) => writeSync(1, text));
  process.exit(0);
}

/** The answer to one event. Whatever goes wrong, it is empty, and the log has the reason. */
export class HookRun {
  readonly msMax: number;
  readonly #call: HookCall;
  readonly #startMs = Date.now();
  #begun: BegunFiring | undefined;
  #importing: Pick<LogEntry, "importing"> = {};

  constructor(call: HookCall) {
    this.#call = call;
    this.msMax = LONGER_MS_MAX[call.event ?? ""] ?? HOOK_MS_MAX;
  }

  /** The failure that the log gets if the run took too long. */
  get late(): string {
    return `It took longer than ${this.msMax} ms.`;
  }

  /** @param write  Called with the answer, unless it is empty. */
  async answer(stdin: Parameters<typeof inputOf>[0], write: (text: string) => void): Promise<void> {
    const { event, agent, storePath } = this.#call;
    try {
      const firing = firingOf(agent, event, await inputOf(stdin));
      if (firing === undefined)
        throw new Error(`The agent ${agent} or the event ${event} is not known to this version.`);
      const begun = begin(storePath, firing, this.#startMs);
      if (begun === undefined) return;
      this.#begun = begun;
      const importMsMax = IMPORT_MS_MAX[firing.event];
      if (importMsMax !== undefined) this.#importing = await imported(firing, storePath, begun.id, importMsMax);
      const said = takesText(firing) ? await this.#saidAt(firing, begun) : undefined;
      const answer = answerOf(firing, said);
      if (answer !== "") write(answer);
      const { tokens, messageIds, about } = said ?? {};
      begun.end({
        ...this.#importing,
        ...(said !== undefined && { tokens: tokens!, quoted: messageIds! }),
        ...(about !== undefined && { about }),
      });
    } catch (error) {
      this.fail(error);
    }
  }

  async #saidAt(firing: Firing, { memory }: BegunFiring): Promise<Said | undefined> {
    const { storePath } = this.#call;
    const say = await answererOf(firing);
    const msLeft = this.#startMs + this.msMax - Date.now();
    return within(msLeft, () => say(storePath, firing, memory));
  }

  fail(error: unknown): void {
    const isLate = (error as NodeJS.ErrnoException | undefined)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    const failure = isLate ? this.late : error instanceof Error ? error.message : String(error);
    if (this.#begun !== undefined) this.#begun.end({ ...this.#importing, failure });
    else new HookLog(this.#call.storePath).add(unbegunEntry({ ...this.#call, failure }, this.#startMs));
  }
}

type Answerer = (storePath: string, firing: Firing, memory: SessionMemory) => Said | undefined;

/** Loads what answers an event. An agent acts often, so what only other events need is not loaded. */
async function answererOf(firing: Firing): Promise<Answerer> {
  if (isFromStore(firing)) return (await import("./from-store.ts")).sayFromStore;
  const say = firing.event === "before-action" ? sayBefore : (await import("./hook.ts")).sayAt;
  return (storePath, ...given) => {
    const reader = openQuickly(storePath);
    try {
      return say(reader, ...given);
    } finally {
      reader.close();
    }
  };
}

/** Reads an agent's JSON. Some agents leave the pipe open after it. */
export function inputOf(stdin: Readable & { isTTY?: boolean }): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    if (stdin.isTTY) return reject(new Error("The agent gave no input."));
    const chunks: Buffer[] = [];
    let byteCount = 0;
    const finish = (reason: string): void => {
      const value = objectIn(Buffer.concat(chunks).toString("utf8"));
      if (value === undefined) reject(new Error(reason));
      else resolve(value);
    };
    const whole = setTimeout(() => finish("The agent did not end its input."), INPUT_MS_MAX);
    const pause = setTimeout(() => finish("The agent's input was incomplete."), INPUT_PAUSE_MS_MAX);
    whole.unref();
    pause.unref();
    stdin.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      byteCount += chunk.length;
      pause.refresh();
      if (byteCount > INPUT_BYTES_MAX) reject(new Error(`The agent's input is longer than ${INPUT_BYTES_MAX} bytes.`));
      if (byteCount > INPUT_BYTES_MAX) stdin.destroy();
    });
    stdin.on("end", () => finish("The agent's input is not a JSON object."));
    stdin.on("error", reject);
  });
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Imports the transcript in a process of its own, which goes on after the hook if it takes longer than `waitMs`, and adds its
 * result to the log.
 *
 * @returns the transcript for the log.
 */
async function imported(
  { agent, transcriptPath }: Firing,
  storePath: string,
  hookId: string,
  waitMs: number,
): Promise<Pick<LogEntry, "importing">> {
  if (transcriptPath === undefined || !existsSync(transcriptPath)) return {};
  const startMs = Date.now();
  const { transcriptFault } = await import("./transcript.ts");
  const fault = transcriptFault(agent, transcriptPath);
  if (fault !== undefined) {
    new HookLog(storePath).addImport(hookId, startMs, fault);
    return {};
  }
  const { spawn } = await import("node:child_process");
  // Claude Code keeps the subagents of a session in a folder with the name of its transcript.
  const subagents = transcriptPath.replace(/\.jsonl$/, "");
  const paths = [transcriptPath, ...(subagents !== transcriptPath && existsSync(subagents) ? [subagents] : [])];
  const words = [process.argv[1]!, "import", ...paths, "--hook", hookId, "--db", storePath, "--json"];
  await new Promise<void>((resolve) => {
    const child = spawn(process.execPath, words, { stdio: "ignore", detached: true, windowsHide: true });
    const waiting = setTimeout(resolve, waitMs);
    child.on("exit", () => {
      clearTimeout(waiting);
      resolve();
    });
    child.on("error", ({ message }) => {
      new HookLog(storePath).addImport(hookId, startMs, message);
      clearTimeout(waiting);
      resolve();
    });
    child.unref();
  });
  return { importing: transcriptPath };
}
