import { once } from "node:events";
import type { Terminal } from "./terminal.ts";

const PAGER_DEFAULT = "less";

/** `less` ends at once if everything fits on the screen, shows colors, and leaves the text on the screen. */
const LESS_DEFAULT = "FRX";

/**
 * Sends all further output to a pager, as git does, if it goes to a terminal. The pager is `$COPPICE_PAGER`, else `$PAGER`, else
 * `less`; `cat` means none.
 *
 * @returns a function that waits until the reader has left the pager; undefined if there is no pager.
 */
export function openPager(terminal: Terminal): (() => Promise<void>) | undefined {
  if (process.stdout.isTTY !== true || terminal.width === undefined) return undefined;
  const command = (terminal.variable("COPPICE_PAGER") ?? terminal.variable("PAGER") ?? PAGER_DEFAULT).trim();
  if (command === "" || command === "cat" || !isInstalled(command)) return undefined;
  const { spawn } = process.getBuiltinModule("node:child_process"); // most commands need no pager
  const pager = spawn(command, {
    shell: true,
    stdio: ["pipe", "inherit", "inherit"],
    env: { LESS: LESS_DEFAULT, LV: "-c", ...process.env },
  });
  const ended = once(pager, "close");
  const { stdin } = pager;
  stdin.on("error", () => terminal.readerGone()); // the reader has left
  const restore = terminal.redirect(stdin);
  // Ctrl-C is meant for the pager.
  const ignore = (): void => {};
  process.on("SIGINT", ignore);
  return async () => {
    stdin.end();
    await ended;
    process.off("SIGINT", ignore);
    restore();
  };
}

function isInstalled(command: string): boolean {
  const [program] = command.split(" ");
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  return spawnSync(program!, ["--version"], { stdio: "ignore" }).error === undefined;
}
