import { Option } from "commander";
import { HIDDEN } from "../../core/tags.ts";
import type { Command } from "../command.ts";
import { messageTyped } from "../options.ts";
import { formatCount, oneLine } from "../screen/text.ts";
import { findSession, SESSION_MEANING } from "../stores/find-session.ts";

export const nameCommand: Command = {
  usage: "name <session> <title>",
  summary: "Give a session another title.",
  details: "Imports keep it.\nWith --json: {sessionId, title}.",
  argument: SESSION_MEANING,
  examples: ['@last "Move to Dublin"', 'support-42 "Refund of May"'],

  async run({ args: [typed, title], loadStores }) {
    const session = findSession((await loadStores()).openToWrite({ mustExist: true }), typed!);
    session.update({ title: title! });
    return {
      value: { sessionId: session.id, title },
      lines: [`${oneLine(session.id)} is now called "${oneLine(title!)}".`],
    };
  },
};

export const tagCommand: Command<{ remove?: true }> = {
  usage: "tag <session> [tags...]",
  summary: "Give a session tags, or take them away.",
  details:
    "`coppice sessions --tag` finds it by them. Without tags, its own are listed. Tags stay in this store.\n" +
    "With --json: {sessionId, tags}.",
  argument: SESSION_MEANING,
  options: [new Option("--remove", "take these tags away")],
  examples: ["@last release", "support-42 refund may", "support-42 may --remove", "support-42"],

  async run({ args: [typed, ...tags], options: { remove }, loadStores }) {
    const stores = await loadStores();
    const store = tags.length === 0 ? stores.openToRead() : stores.openToWrite({ mustExist: true });
    const session = findSession(store, typed!);
    if (tags.length > 0) session.update(remove ? { removeTags: tags } : { addTags: tags });
    const { id, tags: all } = session.info();
    const listed = all.length === 0 ? "has no tags" : `has the tags ${all.map(oneLine).join(", ")}`;
    return { value: { sessionId: id, tags: all }, lines: [`${oneLine(id)} ${listed}.`] };
  },
};

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
    session.update(undo ? { removeTags: [HIDDEN] } : { addTags: [HIDDEN] });
    return {
      value: { sessionId: session.id, isHidden: !undo },
      lines: [`${oneLine(session.id)} ${undo ? "is listed again" : "is hidden; --undo lists it again"}.`],
    };
  },
};

interface ForkFlags {
  at?: number;
  id?: string;
}

export const forkCommand: Command<ForkFlags> = {
  usage: "fork <session>",
  summary: "Begin another session that shares this one up to a message.",
  details:
    "Nothing is copied, and both go on independently. While the fork exists, what it shares cannot be rewound or forgotten.\n" +
    "With --json: {sessionId, messageCount}.",
  argument: SESSION_MEANING,
  options: [
    new Option(
      "--at <message>",
      "the last message to share, as `coppice show` names it; by default the newest",
    ).argParser(messageTyped),
    new Option("--id <id>", "the id of the fork; by default a new one"),
  ],
  examples: ["@last", "support-42 --at message:17", "support-42 --id support-42-retry"],

  async run({ args: [typed], options: { at, id }, loadStores }) {
    const session = findSession((await loadStores()).openToWrite({ mustExist: true }), typed!);
    const fork = session.fork({ ...(at !== undefined && { toMessageId: at }), ...(id !== undefined && { id }) });
    const { messageCount } = fork.info();
    return {
      value: { sessionId: fork.id, messageCount },
      lines: [`${oneLine(fork.id)} shares ${formatCount(messageCount, "message")} of ${oneLine(session.id)}.`],
    };
  },
};
