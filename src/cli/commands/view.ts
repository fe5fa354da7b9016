import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Option } from "commander";
import { printableJson } from "../../core/markup.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { interruptible } from "../interruption.ts";
import { wholeNumberOption } from "../options.ts";
import { progressOf } from "../screen/progress.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatBytes, formatCount, oneLine } from "../screen/text.ts";
import { readAgentChoice, whatStays } from "../stores/agent-choice.ts";
import { findProject } from "../stores/find-project.ts";
import { findSession, SESSION_MEANING } from "../stores/find-session.ts";

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

interface ViewFlags {
  port?: number;
  write?: true;
  open: boolean;
  export?: string;
  project?: string;
  overwrite?: true;
}

export const viewCommand: Command<ViewFlags> = {
  usage: "view [session]",
  summary: "Show the store in your browser.",
  details:
    "Sessions, search, what a model sees of a session, and how its forest grew. It prints a URL and opens it. The page works " +
    "offline and follows the store while agents write. Only this machine can reach it, and the URL lets one browser in, once. " +
    "It is read-only unless --write is given. Once an agent was chosen for `coppice ask`, questions can be asked in the page, too. Ctrl-C ends it. With --json: {event: serving, url}, and {event: stopped} at the end.\n" +
    "--export writes the page with all its sessions into one file instead, which opens without a server and sends nothing. Secrets are " +
    "replaced, and pictures and files are left out. With --json: {path, byteLength, sessionCount, messageCount}.",
  argument: SESSION_MEANING,
  options: [
    wholeNumberOption("port", "the port (default: a free one)", 0),
    new Option("--write", "also rename, pin and forget"),
    new Option("--no-open", "only print the URL"),
    new Option("--export <file>", "write the page into an HTML file").conflicts(["port", "write"]),
    new Option("--project <name>", "export only this project"),
    new Option("--overwrite", "replace an existing file"),
  ],
  examples: ["", "@last", "--no-open --port 8421", "--write", "--export atelier.html --project atelier"],

  async run({ args: [typed], options, storePath, loadStores, terminal, json }) {
    const { port = 0, write = false, open, export: file, project, overwrite = false } = options;
    const store = (await loadStores()).openToRead();
    if (file !== undefined) {
      if (typed === undefined) return exportTo(file, store, { project, overwrite }, terminal);
      const hint = "`coppice export <session> --format html` writes one session.";
      throw new Failure("USAGE_INVALID", "--export writes all sessions, of a project if --project is given.", { hint });
    }
    if (project !== undefined || overwrite)
      throw new Failure("USAGE_INVALID", "--project and --overwrite need --export.");
    const session = typed === undefined ? undefined : findSession(store, typed).id;
    const { serveView } = await import("../../view/index.ts");
    const agent = await answeringAgent(storePath, store);
    const view = await serveView(storePath, {
      port,
      write,
      ...(session !== undefined && { session }),
      ...(agent !== undefined && { agent }),
    });
    terminal.print(json ? printableJson({ event: "serving", url: view.url }) : view.url);
    const folder = open && !json ? openInBrowser(view.url) : undefined;
    if (!json) terminal.note("Ctrl-C ends it.");
    await new Promise<void>((resolve) => {
      for (const signal of SIGNALS) process.once(signal, () => resolve());
    });
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    await view.close();
    return { value: { event: "stopped" }, lines: [] };
  },
};

async function exportTo(
  file: string,
  store: Store,
  { project, overwrite }: { project: string | undefined; overwrite: boolean },
  terminal: Terminal,
) {
  const { DerivedRedactor } = await import("../../imports/redaction/derived-texts.ts");
  const { writePageFile } = await import("../../view/page-file.ts");
  const progress = progressOf(terminal, "writing sessions");
  const report = await interruptible("Nothing was written.", (signal) =>
    writePageFile(store, file, {
      redactor: new DerivedRedactor(),
      ...(project !== undefined && { project: findProject(store, project) }),
      overwrite,
      onProgress: (done, total) => {
        signal.throwIfAborted();
        progress(done, total);
      },
    }),
  );
  const { path, byteLength, sessionCount, messageCount } = report;
  const counts = `${formatCount(sessionCount, "session")} and ${formatCount(messageCount, "message")}`;
  return { value: report, lines: [`${counts} in ${oneLine(path)} (${formatBytes(byteLength)}).`] };
}

/** Returns the agent that was chosen for `ask`, if one was. */
async function answeringAgent(storePath: string, store: Store) {
  const { ask } = readAgentChoice(storePath);
  if (ask === undefined) return undefined;
  const { AGENT_NAMES, CALLED_AGENTS } = await import("../../session/aids/ask.ts");
  const name = AGENT_NAMES.find((one) => one === ask);
  return name && { name, title: CALLED_AGENTS[name].title, ...(await whatStays(() => store)) };
}

/**
 * Opens a file that leads to the URL, because every user of the machine can read the arguments of a process. Without a browser, or
 * with one that may not read the file, the printed URL is enough.
 *
 * @returns the folder of the file, which only this user can read.
 */
function openInBrowser(url: string): string {
  const folder = mkdtempSync(join(tmpdir(), "coppice-open-"));
  const file = join(folder, "coppice.html");
  const page = `<!doctype html><meta charset="utf-8"><title>Coppice</title>
<meta http-equiv="refresh" content="0;url=${url}"><a href="${url}">Coppice</a>\n`;
  writeFileSync(file, page, { mode: 0o600 });
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open", file]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler", file]
        : ["xdg-open", file];
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(program!, args, { stdio: "ignore", detached: true });
  child.once("error", () => {});
  child.unref();
  return folder;
}
