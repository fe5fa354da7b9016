import { Option } from "commander";
import { HIDDEN } from "../../core/tags.ts";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { oneLine } from "../text.ts";

export const hideCommand: Command<{ undo?: true }> = {
  usage: "hide <session>",
  summary: "Keep a session out of lists and recaps.",
  details:
    "Nothing is deleted, and `coppice recall` still finds what it says. `coppice sessions --hidden` lists it, too.\n" +
    "With --json: {sessionId, isHidden}.",
  argument: SESSION_MEANING,
  options: [new Option("--undo", "list it again")],
  examples: ["@last", "support-42 --undo"],

  async run({ args: [typed], options: { undo }, loadStores }) {
    const session = findSession((await loadStores()).openToWrite({ mustExist: true }), typed!);
    if (undo) session.untag(HIDDEN);
    else session.tag(HIDDEN);
    return {
      value: { sessionId: session.id, isHidden: !undo },
      lines: [`${oneLine(session.id)} ${undo ? "is listed again" : "is hidden; --undo lists it again"}.`],
    };
  },
};
