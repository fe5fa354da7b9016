import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { Progress } from "../progress.ts";

const CHILD = fileURLToPath(new URL("parallel-child.ts", import.meta.url));

/**
 * Calls the exported function `run` of a module with each input, in a process for each core, and returns the results in order.
 * Inputs and results are copied. If a call fails, the others are stopped.
 */
export async function inParallel<Input, Result>(module: URL, inputs: readonly Input[]): Promise<Result[]> {
  const results: Result[] = [];
  const progress = new Progress(`tasks of ${basename(module.pathname)}`, inputs.length);
  let [next, doneCount] = [0, 0];
  const children: ChildProcess[] = [];
  const work = async () => {
    const child = fork(CHILD, [module.href], {
      execArgv: ["--import", import.meta.resolve("tsx")],
      serialization: "advanced",
    });
    children.push(child);
    while (next < inputs.length) {
      const index = next++;
      results[index] = await ask<Result>(child, inputs[index]);
      progress.reach(++doneCount);
    }
    child.disconnect();
  };
  try {
    await Promise.all(Array.from({ length: Math.min(availableParallelism(), inputs.length) }, work));
  } finally {
    for (const child of children) child.kill();
    progress.end();
  }
  return results;
}

function ask<Result>(child: ChildProcess, input: unknown): Promise<Result> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      child.off("message", onMessage);
      child.off("exit", onExit);
    };
    const onMessage = (answer: unknown) => {
      settle();
      const { error, result } = answer as { error?: string; result: Result };
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    };
    const onExit = (code: number | null) => {
      settle();
      reject(new Error(`A process of the evaluation ended with code ${code}.`));
    };
    child.on("message", onMessage);
    child.on("exit", onExit);
    child.send(input as object);
  });
}
