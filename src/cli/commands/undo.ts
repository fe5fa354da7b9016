import { Option } from "commander";
import { askToAgree } from "../agreement.ts";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { formatCount, oneLine } from "../text.ts";
import { countFrom } from "./rewind.ts";

interface UndoFlags {
  dryRun?: true;
  yes?: true;
}

export const undoCommand: Command<UndoFlags> = {
  usage: "undo <session>",
  summary: "Take the last rewind back, then the one before it.",
  details:
    "The messages come back. If others were appended since, these leave the session, and it asks before: a second undo does " +
    "not bring them back.\n" +
    "With --json: {restoredCount, supersededCount, isDryRun}.",
  argument: SESSION_MEANING,
  options: [
    new Option("--dry-run", "show what would come back and leave, and change nothing"),
    new Option("--yes", "take it back without asking"),
  ],
  examples: ["@last", "support-42 --dry-run", "support-42 --yes"],

  async run({ args: [typed], options: { dryRun, yes }, loadStores, terminal, json }) {
    const session = findSession((await loadStores()).openToWrite({ mustExist: true }), typed!);
    const id = oneLine(session.id);
    const branch = session.branches().findLast(({ isUndoable }) => isUndoable);
    const preview = {
      restoredCount: branch?.messageCount ?? 0,
      supersededCount: branch === undefined ? 0 : countFrom(session, branch.afterSeq + 1),
      isDryRun: true,
    };
    if (branch === undefined) {
      return {
        value: { ...preview, isDryRun: dryRun === true },
        lines: [`Nothing to take back: ${id} was not rewound.`],
      };
    }
    const coming = `To come back to ${id}: ${formatCount(preview.restoredCount, "message")}.`;
    const leaving = `Appended since, and to leave: ${formatCount(preview.supersededCount, "message")}.`;
    const lines = preview.supersededCount === 0 ? [coming] : [coming, leaving];
    if (dryRun) return { value: preview, lines: [...lines, "Nothing was changed."] };
    if (!yes && preview.supersededCount > 0) {
      if (!json) for (const line of lines) terminal.note(line);
      const question = {
        text: "Take the rewind back?",
        refused: "Nothing was changed.",
        unasked: {
          message: "Messages were appended since, so this needs your agreement. Nothing was changed.",
          hint: "Add --yes to agree, or --dry-run to see what would leave.",
        },
      };
      if (!(await askToAgree(question, terminal, json))) return { value: preview, lines: [] };
    }
    const { restoredCount, supersededCount } = session.undo();
    const left = supersededCount === 0 ? "" : ` ${formatCount(supersededCount, "message")} left.`;
    return {
      value: { restoredCount, supersededCount, isDryRun: false },
      lines: [`${formatCount(restoredCount, "message")} came back to ${id}.${left}`],
    };
  },
};
