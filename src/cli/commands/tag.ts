import { Option } from "commander";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { oneLine } from "../text.ts";

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
    for (const tag of tags) {
      if (remove) session.untag(tag);
      else session.tag(tag);
    }
    const { id, tags: all } = session.info();
    const listed = all.length === 0 ? "has no tags" : `has the tags ${all.map(oneLine).join(", ")}`;
    return { value: { sessionId: id, tags: all }, lines: [`${oneLine(id)} ${listed}.`] };
  },
};
