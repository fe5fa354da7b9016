import { type Worker as NodeWorker, SHARE_ENV, Worker } from "node:worker_threads";

/**
 * Kills the process after `ms`, although its thread may be blocked by a disk that does not answer or by a long query: a timer would
 * not fire then. Nothing else can end a process whose thread is in a call of the system.
 */
export function killAfter(ms: number): NodeWorker {
  // Without execArgv, the thread would wait for what the process preloads, and the process may be blocked by then.
  const worker = new Worker(CODE, { eval: true, env: SHARE_ENV, execArgv: [], workerData: ms });
  worker.unref();
  worker.on("error", () => {}); // a machine without memory for a thread has only the timer
  return worker;
}

/** A thread of its own cannot end the process with 0. */
const CODE = `
const { workerData: ms } = require("node:worker_threads");
setTimeout(() => process.kill(process.pid, "SIGKILL"), ms);
`;
