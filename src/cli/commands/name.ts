import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { oneLine } from "../text.ts";

export const nameCommand: Command<Record<never, never>> = {
  usage: "name <session> <title>",
  summary: "Give a session another title.",
  details: "Imports keep it.\nWith --json: {sessionId, title}.",
  argument: SESSION_MEANING,
  examples: ['@last "Move to Dublin"', 'support-42 "Refund of May"'],

  async run({ args: [typed, title], loadStores }) {
    const session = findSession((await loadStores()).openToWrite({ mustExist: true }), typed!);
    session.rename(title!);
    return {
      value: { sessionId: session.id, title },
      lines: [`${oneLine(session.id)} is now called "${oneLine(title!)}".`],
    };
  },
};
