import { Option } from "commander";
import { printableJson } from "../../core/markup.ts";
import { sessionNames } from "../../session/aids/session-name.ts";
import type { ExportLine, Unreadable } from "../../session/moving/export.ts";
import type { Command } from "../command.ts";
import { Failure, placeOf, unreadableFailure } from "../failure.ts";
import { markdownLines } from "../screen/markdown.ts";
import { oneLine } from "../screen/text.ts";
import { findSession } from "../stores/find-session.ts";

const HINT = "Everything else was exported. Look for what is missing in a backup.";

interface ExportFlags {
  format: "jsonl" | "markdown" | "html";
  rows?: true;
  ownIds?: true;
}

export const exportCommand: Command<ExportFlags> = {
  usage: "export [sessions...]",
  summary: "Print sessions as neutral JSONL, which `import` reads, as Markdown, or one as a page to send.",
  details:
    "Prints all sessions unless some are named. Each line is one object: a session, then its messages and entries, word for word, and items at the end. " +
    "Forest and summaries are left out, because an import makes them again. From a damaged store, every readable message " +
    "is exported as JSONL or Markdown, without the object of a damaged session, and the exit code is 1. With --rows, everything of the sessions is " +
    "written, with all ids, so that `import --rows` makes the same sessions in another store. With --json: one array of the same objects, one per line.",
  argument: "their ids, the beginnings of their ids, or @last",
  options: [
    new Option("--format <format>", "jsonl for programs, markdown for people, html for one session without its secrets")
      .choices(["jsonl", "markdown", "html"])
      .default("jsonl"),
    new Option("--rows", "write rows that move the sessions to another store").conflicts("format"),
    new Option("--own-ids", "with --rows: from now on, new messages of this store get ids that no other store gives"),
  ],
  examples: [
    "> everything.jsonl",
    "488c5296 > session.jsonl",
    "@last --format markdown > session.md",
    "@last --format html > session.html",
    "--rows @last > session.rows",
  ],

  async run({ args, options: { format, rows, ownIds = false }, loadStores, terminal, json }) {
    const stores = await loadStores();
    const store = ownIds ? stores.openToWrite() : stores.openToRead();
    const unreadable: Unreadable[] = [];
    const onUnreadable = (damaged: Unreadable): void => {
      unreadable.push(damaged);
      if (!json) terminal.note(oneLine(`${placeOf(damaged)}: ${damaged.reason}`));
    };
    const sessions = [...new Set(args.map((typed) => findSession(store, typed).id))];
    if (format !== "jsonl" && json) {
      throw new Failure("USAGE_INVALID", `The format ${format} is not JSON.`, {
        hint: "Leave out --json or --format.",
      });
    }
    if (format === "html") {
      if (sessions.length !== 1) throw new Failure("USAGE_INVALID", "A page shows one session. Name it.");
      const { htmlLines } = await import("../screen/html.ts");
      return { lines: htmlLines(store.resume(sessions[0]!)) };
    }
    if (ownIds && !rows) {
      throw new Failure("USAGE_INVALID", "--own-ids needs --rows.", { hint: "Other formats leave ids out." });
    }
    if (rows) {
      const lines = store.export({ rows: true, ownIds, ...(sessions.length > 0 && { sessions }) });
      return json ? { elements: parsed(lines), lines: [] } : { lines };
    }
    const exported = store.export({ onUnreadable, ...(sessions.length > 0 && { sessions }) });
    const failure = () => unreadableFailure("EXPORT_INCOMPLETE", unreadable, HINT);
    if (format === "jsonl") return { elements: exported, lines: jsonLines(exported), failure };
    return { lines: markdownLines(exported, (id) => sessionNames(store, [id]).get(id)), failure };
  },
};

function* jsonLines(lines: Iterable<ExportLine>): Generator<string> {
  for (const line of lines) yield printableJson(line);
}

function* parsed(lines: Iterable<string>): Generator<unknown> {
  for (const line of lines) yield JSON.parse(line);
}
