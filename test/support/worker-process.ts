import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { MessageInput, SessionOptions } from "../../src/index.ts";

const CHILD = fileURLToPath(new URL("./worker-child.ts", import.meta.url));

/** What a worker can be told to do. */
export type Command =
  | {
      do: "open";
      path: string;
      busyTimeoutMs?: number;
      /** Where a server speaks Gemini's API, to summarize by; the extractive summarizer unless given. */
      geminiUrl?: string;
      /** Milliseconds by which its clock is ahead. */
      aheadMs?: number;
    }
  | ({ session: string; settings?: SessionOptions } & (
      | {
          do: "append";
          messages: MessageInput[];
          /** Only if the session has not changed since this worker last wrote to it or rendered it. */
          expecting?: boolean;
        }
      /** Append, and stop for a while in the middle of the transaction. */
      | { do: "stall"; messages: MessageInput[]; ms: number }
      /** Append a message, an entry and an item, and count up another, in one transaction. */
      | { do: "atomically"; message: MessageInput }
      | { do: "render"; tokensMax: number }
      | { do: "messages" | "compact" }
      | { do: "resolve"; concurrency?: number }
    ));

/** What came of a command. */
export interface Outcome {
  /** What the call returned. */
  // biome-ignore lint/suspicious/noExplicitAny: it depends on the command.
  value?: any;
  /** The store's refusal. */
  error?: { code: string; details: Record<string, unknown> };
}

/** What is sent to the worker. It answers with the number and one outcome, for each command. */
export interface Run {
  runNumber: number;
  commands: readonly Command[];
}

/** A process with a store of its own on a file that others have open, too. */
export class WorkerProcess {
  readonly #child: ChildProcess = fork(CHILD);
  readonly #ready = once(this.#child, "message");
  readonly #gone = once(this.#child, "exit");
  #wasKilled = false;
  #runNumber = 0;

  /**
   * Do one thing after another.
   *
   * @returns what came of each. Fewer than there were commands if the worker was killed: of the others nobody knows.
   * @throws {Error} if the worker dies of anything else.
   */
  async run(commands: readonly Command[]): Promise<Outcome[]> {
    await this.#ready;
    const outcomes: Outcome[] = [];
    if (this.#wasKilled || commands.length === 0) return outcomes;
    const run: Run = { runNumber: ++this.#runNumber, commands };
    return new Promise((resolve, reject) => {
      const done = (): void => {
        this.#child.off("message", hear).off("exit", leave);
        if (outcomes.length === commands.length || this.#wasKilled) resolve(outcomes);
        else reject(new Error("The worker died."));
      };
      const hear = ({ runNumber, outcome }: { runNumber: number; outcome: Outcome }): void => {
        if (runNumber !== run.runNumber) return; // of a test that did not wait for it
        outcomes.push(outcome);
        if (outcomes.length === commands.length) done();
      };
      // What it had sent before it died is read before the channel is closed.
      const leave = (): void => {
        if (this.#child.connected) this.#child.once("disconnect", done);
        else done();
      };
      this.#child.on("message", hear).on("exit", leave);
      this.#child.send(run);
    });
  }

  /** The one command's result; its refusal is thrown. */
  // biome-ignore lint/suspicious/noExplicitAny: it depends on the command.
  async do(command: Command): Promise<any> {
    const [outcome] = await this.run([command]);
    if (outcome === undefined) throw new Error("The worker was killed.");
    if (outcome.error !== undefined) throw Object.assign(new Error(outcome.error.code), outcome.error);
    return outcome.value;
  }

  /** Stop or continue the process, as a machine does that has no time for it. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }

  /** `kill -9`. */
  async kill(): Promise<void> {
    this.#wasKilled = true;
    this.#child.kill("SIGKILL");
    await this.#gone;
  }
}
