import { afterAll } from "vitest";
import { WorkerProcess } from "./worker-process.ts";

/** Workers that go on from test to test: to start one takes longer than most of what it is to do. */
export class WorkerPool {
  readonly #workers: WorkerProcess[];
  /** Started before it is needed. */
  #spare: WorkerProcess | undefined;

  constructor(count: number) {
    this.#workers = Array.from({ length: count }, () => new WorkerProcess());
    afterAll(() =>
      Promise.all(
        [...this.#workers, ...(this.#spare === undefined ? [] : [this.#spare])].map((worker) => worker.kill()),
      ),
    );
  }

  /** The first so many. */
  first(count: number): WorkerProcess[] {
    return this.#workers.slice(0, count);
  }

  /** The first so many, each with the store open. */
  async on(
    path: string,
    count: number,
    options: { busyTimeoutMs?: number; geminiUrl?: string } = {},
  ): Promise<WorkerProcess[]> {
    const workers = this.first(count);
    await Promise.all(workers.map((worker) => worker.do({ do: "open", path, ...options })));
    return workers;
  }

  /** Put another in the place of one that was killed. */
  replace(worker: WorkerProcess): WorkerProcess {
    const fresh = this.#spare ?? new WorkerProcess();
    this.#spare = new WorkerProcess();
    this.#workers[this.#workers.indexOf(worker)] = fresh;
    return fresh;
  }
}
