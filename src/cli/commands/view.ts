import { spawn } from "node:child_process";
import { Option } from "commander";
import { printableJson } from "../../core/markup.ts";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { wholeNumberOption } from "../options.ts";

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

interface ViewFlags {
  port?: number;
  write?: true;
  open: boolean;
}

export const viewCommand: Command<ViewFlags> = {
  usage: "view [session]",
  summary: "Show the store in your browser.",
  details:
    "Sessions, search, what a model sees of a session, and how its forest grew. It prints a URL and opens it. The page works " +
    "offline and follows the store while agents write. Only this machine can reach it, and the URL lets one browser in, once. " +
    "It is read-only unless --write is given. Ctrl-C ends it. With --json: {event: serving, url}, and {event: stopped} at the end.",
  argument: SESSION_MEANING,
  options: [
    wholeNumberOption("port", "the port (default: a free one)", 0),
    new Option("--write", "also rename, pin and forget"),
    new Option("--no-open", "only print the URL"),
  ],
  examples: ["", "@last", "--no-open --port 8421", "--write"],

  async run({ args: [typed], options: { port = 0, write = false, open }, storePath, loadStores, terminal, json }) {
    const store = (await loadStores()).openToRead();
    const session = typed === undefined ? undefined : findSession(store, typed).id;
    const { serveView } = await import("../../view/index.ts");
    const view = await serveView(storePath, { port, write, ...(session !== undefined && { session }) });
    terminal.print(json ? printableJson({ event: "serving", url: view.url }) : view.url);
    if (open && !json) openInBrowser(view.url);
    if (!json) terminal.note("Ctrl-C ends it.");
    await new Promise<void>((resolve) => {
      for (const signal of SIGNALS) process.once(signal, () => resolve());
    });
    await view.close();
    return { value: { event: "stopped" }, lines: [] };
  },
};

/** Without a browser, the printed URL is enough. */
function openInBrowser(url: string): void {
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler", url]
        : ["xdg-open", url];
  const child = spawn(program!, args, { stdio: "ignore", detached: true });
  child.once("error", () => {});
  child.unref();
}
