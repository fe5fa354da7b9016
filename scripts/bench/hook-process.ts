import { type SpawnOptions, spawn } from "node:child_process";

/** A hook that has ended. */
export interface Fired {
  exitCode: number | null;
  stdout: string;
  stderr: string;
  ms: number;
}

/**
 * Runs a hook in a process of its own, as an agent does.
 *
 * @param argv  Node's arguments: the program, `hook`, and the words after it.
 * @param input  The text that the agent writes. `open` writes nothing and leaves the pipe open, `endless` writes without end, and
 *   `none` gives no pipe.
 */
export function fireHook(
  argv: readonly string[],
  input: string,
  options: Pick<SpawnOptions, "cwd" | "env" | "uid">,
): Promise<Fired> {
  const startMs = performance.now();
  const child = spawn(process.execPath, argv, {
    ...options,
    stdio: [input === "none" ? "ignore" : "pipe", "pipe", "pipe"],
  });
  child.stdin?.on("error", () => {}); // a hook may end before it has read everything
  const more = input === "endless" ? setInterval(() => child.stdin?.write("x".repeat(10_000)), 5) : undefined;
  if (!["open", "endless", "none"].includes(input)) child.stdin?.end(input);
  let [stdout, stderr] = ["", ""];
  child.stdout!.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) => {
    child.once("close", (exitCode) => {
      clearInterval(more);
      child.stdin?.destroy();
      resolve({ exitCode, stdout, stderr, ms: performance.now() - startMs });
    });
  });
}
