import { userInfo } from "node:os";
import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import { isPath, projectAt } from "../../core/project.ts";
import { rememberedLine, withVerdict } from "../../core/verdicts.ts";
import { projectMeant, projectNamer } from "../../session/aids/project-meant.ts";
import type { Remembered } from "../../session/aids/remembered.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { wholeNumberOption } from "../options.ts";
import { messageHandle } from "../screen/message-lines.ts";
import type { Terminal } from "../screen/terminal.ts";
import { oneLine } from "../screen/text.ts";
import { factsLine, timeFor } from "../screen/topic-lines.ts";
import { wrapped } from "../screen/wrap.ts";
import { findProject, projectHere } from "../stores/find-project.ts";

interface RememberFlags {
  project?: string;
  by?: string;
  replaces?: string;
  rejects?: string;
  limit?: number;
}

const INDENT = "  ";

export const rememberCommand: Command<RememberFlags> = {
  usage: "remember [text...]",
  summary: "Remember a decision or a rule of the project in this folder, or list what is remembered.",
  details:
    "`recall` finds it like a user's words, and agents are told it first: when a session starts, in a recap, and in a context. " +
    "--replaces and --rejects say that another message no longer holds, and whatever shows that message says so. With --rejects, the text is the reason. " +
    "Without a text, what is remembered is listed, newest first. Secrets of known kinds are replaced by placeholders. " +
    "With --json: {messageId, sessionId, seq, text, atMs, project, by, agent, about, verdict}; without a text a list of these.",
  argument: "what to remember, or why a message is rejected",
  options: [
    new Option("--project <project>", "by name or path: another project than that of this folder"),
    new Option("--by <name>", "who says it (default: your user name)"),
    new Option("--replaces <message>", "the message that this replaces: message:12").conflicts("rejects"),
    new Option("--rejects <message>", "the message that is rejected: message:12"),
    wholeNumberOption("limit", "without a text: the most that are listed", 0, PAGE_LIMIT_MAX),
  ],
  paged: true,
  examples: [
    '"We deploy on Tuesdays only."',
    '"The port of staging is 4417." --replaces message:4711',
    '"It blocks on NFS." --rejects message:4712',
    "",
    "--project web --json",
  ],

  async run({ args, options, loadStores, terminal }) {
    const { by, replaces, rejects, limit } = options;
    const stores = await loadStores();
    if (args.length === 0) {
      const store = stores.openToRead();
      const project = options.project === undefined ? projectHere(store) : findProject(store, options.project);
      const found = store.remembered({ ...(project && { project }), ...(limit !== undefined && { limit }) });
      return { value: found, lines: listLines(found, project, store, terminal) };
    }
    const { Redactor } = await import("../../imports/redaction/redact.ts");
    const typed = args.join(" ");
    const text = new Redactor({ keepSecrets: false }).redacted(typed);
    if (text !== typed) terminal.note("What looks like a secret was replaced by a placeholder.");
    const store = stores.openToWrite();
    const project = projectFor(store, options);
    const author = by ?? userName();
    const stored = store.remember(text, {
      ...(author !== undefined && { by: author }),
      ...(project !== undefined && { project }),
      ...(replaces !== undefined && { replaces }),
      ...(rejects !== undefined && { rejects }),
    });
    return { value: stored, lines: storedLines(stored, store, terminal) };
  },
};

/** In some containers, the user has no name. */
function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

/** A verdict belongs to the project of its message, wherever it is said. */
function projectFor(store: Store, { project, replaces, rejects }: RememberFlags): string | undefined {
  if (project !== undefined) {
    const meant = projectMeant(store, project);
    return isPath(meant) ? meant : findProject(store, project);
  }
  if (replaces !== undefined || rejects !== undefined) return undefined;
  const here = projectAt(process.cwd());
  return here && projectMeant(store, here);
}

function* storedLines(stored: Remembered, store: Store, terminal: Terminal): Generator<string> {
  const { messageId, project, about } = stored;
  const name = projectNamer(store)(project);
  const place = name === "" ? "for no project" : `for ${oneLine(name)}`;
  if (about === null) yield `Remembered ${place} as ${messageHandle(messageId)}.`;
  else yield `Remembered ${place} as ${messageHandle(messageId)}; ${messageHandle(about.messageId!)} is ${about.kind}.`;
  terminal.hint(
    `Next: coppice remember${project === null ? "" : ` --project ${oneLine(name)}`}, for all that is remembered`,
  );
}

function* listLines(
  found: readonly Remembered[],
  project: string | undefined,
  store: Store,
  terminal: Terminal,
): Generator<string> {
  const nameOf = projectNamer(store);
  if (found.length === 0) {
    const where = project === undefined ? "" : ` of ${oneLine(nameOf(project))}`;
    terminal.note(`Nothing is remembered${where}.`);
    terminal.hint('Next: coppice remember "…", or coppice recall, for what was said in sessions');
    return;
  }
  for (const one of found) {
    const { messageId, atMs, by, agent } = one;
    const line = rememberedLine(one);
    yield wrapped(oneLine(withVerdict({ text: line, verdict: one.verdict })), terminal.columns);
    const of = project === undefined ? oneLine(nameOf(one.project)) : "";
    const facts = [by && oneLine(by), agent && `by way of ${oneLine(agent)}`, timeFor(terminal, atMs), of];
    yield INDENT + terminal.style("dim", factsLine([...facts, replacedBy(one), messageHandle(messageId)]));
  }
  const [{ sessionId, messageId }] = found as [Remembered];
  terminal.hint(`Next: coppice forget ${oneLine(sessionId)} --messages ${messageId}, to take the first one back`);
}

function replacedBy({ about }: Remembered): string | null {
  if (about === null) return null;
  const target = about.messageId === null ? "a message that is not here" : messageHandle(about.messageId);
  return `${about.kind === "replaced" ? "replaces" : "rejects"} ${target}`;
}
