import { spawn, spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";

/** Whether `script` of util-linux is there, which runs a command on a terminal of its own. */
export const hasTerminals = spawnSync("script", ["--version"]).stdout?.toString().includes("util-linux") ?? false;

export interface RealTerminal {
  type(text: string): void;
  /** Everything that was shown so far, what was typed included; colors apart. */
  shown(): string;
  /** The exit code of the line. */
  ended: Promise<number | null>;
}

/** What a person sees who types the line, one command, into a shell; killed at the end of the test. */
export function onTerminal(line: string, options: { cwd: string; env: Record<string, string> }): RealTerminal {
  // A shell that stays would have the terminal's Ctrl-C for itself, too, and say so with its exit code.
  const child = spawn("script", ["-qfec", `exec ${line}`, "/dev/null"], options);
  onTestFinished(() => void child.kill("SIGKILL"));
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  return {
    type: (text) => void child.stdin.write(text),
    shown: () => shown.replace(/\x1b\[\d*m/g, ""),
    ended: new Promise((resolve) => child.once("close", resolve)),
  };
}
