import { fork } from "node:child_process";

/** Starts a process for each list of arguments, lets all go once all are loaded, and waits until all have done their work. */
export async function race(script: URL, argumentsOfEach: readonly string[][]): Promise<void> {
  const children = argumentsOfEach.map((args) => fork(script, args));
  const heard = (text: string): Promise<unknown> =>
    Promise.all(
      children.map(
        (child) =>
          new Promise((resolve, reject) => {
            child.once("exit", reject);
            child.on("message", (message) => message === text && resolve(message));
          }),
      ),
    );
  await heard("ready");
  const done = heard("done");
  for (const child of children) child.send("go");
  await done;
  for (const child of children) child.disconnect();
}
