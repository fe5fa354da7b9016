import { type Worker as NodeWorker, SHARE_ENV, Worker } from "node:worker_threads";

/**
 * Ends the process after `ms`, although its thread may be blocked by a disk that does not answer or by a long query: a timer would
 * not fire then. Nothing else can end a process whose thread is in a call of the system.
 *
 * @param last  What is appended to a file before the end, if that takes less than `APPEND_MS_MAX`.
 */
export function killAfter(ms: number, last?: { path: string; line: string }): NodeWorker {
  const workerData = { ms, ...last, appendMs: APPEND_MS_MAX };
  // Without execArgv, the thread would wait for what the process preloads, and the process may be blocked by then.
  const worker = new Worker(CODE, { eval: true, env: SHARE_ENV, execArgv: [], workerData });
  worker.unref();
  worker.on("error", () => {}); // a machine without memory for a thread has only the timer
  return worker;
}

const APPEND_MS_MAX = 200;

/** A thread of its own cannot end the process with 0. */
const CODE = `
const { workerData: { ms, path, line, appendMs } } = require("node:worker_threads");
const fs = require("node:fs");
const { O_WRONLY, O_APPEND, O_NONBLOCK } = fs.constants;
const end = () => process.kill(process.pid, "SIGKILL");
setTimeout(() => {
  setTimeout(end, appendMs);
  if (path === undefined) return end();
  fs.open(path, O_WRONLY | O_APPEND | O_NONBLOCK, (error, file) => (error ? end() : fs.write(file, line, end)));
}, ms);
`;
