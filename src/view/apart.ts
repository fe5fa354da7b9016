import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ApartReply, ApartRequest, ApartTask } from "./apart-process.ts";
import type { VerifyProgress } from "./api.ts";
import { RefusedRequest } from "./refusal.ts";

/** The program of the process, as source or built. */
const PROGRAM = fileURLToPath(new URL(`./apart-process${extname(import.meta.url)}`, import.meta.url));

const AT_ONCE_MAX = 2;
const WAITING_MAX = 8;
/** How long a statement of a person may take, and all other work. */
const SQL_MS_MAX = 5_000;
const CHECK_MS_MAX = 600_000;

type LastReply = Exclude<ApartReply, "ready" | { progress: VerifyProgress }>;

/** Does what may take long in a process that can be ended. */
export class Apart {
  readonly #running = new Set<ChildProcess>();
  /** The newest check of all sessions, and how far it has come. */
  #verifying: ChildProcess | undefined;
  progress: VerifyProgress = { sessionCount: 0, totalCount: 0 };
  /** Each is called when a process ends. */
  readonly #waiting = new Set<() => void>();

  /** @param signal  Kills the process: nobody waits for the answer any more. */
  async ask<T>(request: ApartRequest, signal: AbortSignal): Promise<T> {
    if (this.#waiting.size >= WAITING_MAX) {
      throw new RefusedRequest(503, "BUSY", "Other checks or statements are running. Wait for one to end.");
    }
    while (this.#running.size >= AT_ONCE_MAX) await this.#oneEnds();
    if (signal.aborted) throw new RefusedRequest(503, "GONE", "Nobody waits for the answer.");
    // A process that is killed cannot remove what it has written.
    const folder = mkdtempSync(join(tmpdir(), "coppice-view-"));
    const child = fork(PROGRAM, { serialization: "advanced", stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const kill = (): void => void child.kill("SIGKILL");
    this.#running.add(child);
    signal.addEventListener("abort", kill);
    let isLate = false;
    const msMax = request.kind === "sql" ? SQL_MS_MAX : CHECK_MS_MAX;
    let timer: NodeJS.Timeout | undefined;
    const begin = (): void => {
      if (request.kind === "verify") {
        this.#verifying = child;
        this.progress = { sessionCount: 0, totalCount: 0 };
      }
      timer = setTimeout(() => {
        isLate = true;
        kill();
      }, msMax);
      child.send({ ...request, folder } satisfies ApartTask, () => {}); // a process that is gone does not reply
    };
    try {
      const reply = await new Promise<LastReply | undefined>((resolve, reject) => {
        child.on("message", (message: ApartReply) => {
          if (message === "ready") begin();
          else if (!("progress" in message)) resolve(message);
          else if (this.#verifying === child) this.progress = message.progress;
        });
        child.once("error", reject);
        child.once("exit", () => resolve(undefined));
      });
      if (reply === undefined) {
        const text = `It took longer than ${msMax / 1_000} seconds and was stopped.`;
        throw new RefusedRequest(isLate ? 408 : 500, isLate ? "TOO_LONG" : "ENDED", isLate ? text : "It ended early.");
      }
      if (this.#verifying === child) this.progress = { ...this.progress, sessionCount: this.progress.totalCount };
      if ("value" in reply) return reply.value as T;
      const { status, body } = reply.refusal;
      throw new RefusedRequest(status, body.error.code, body.error.message);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
      kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
      this.#running.delete(child);
      for (const go of this.#waiting) go();
    }
  }

  async #oneEnds(): Promise<void> {
    await new Promise<void>((resolve) => {
      const go = (): void => {
        this.#waiting.delete(go);
        resolve();
      };
      this.#waiting.add(go);
    });
  }

  async close(): Promise<void> {
    for (const child of this.#running) child.kill("SIGKILL");
    while (this.#running.size > 0) await this.#oneEnds();
  }
}
