import { setFlagsFromString } from "node:v8";
import { Option } from "commander";
import type { Command } from "../command.ts";
import { storedRemote, withHub } from "../hub-words.ts";
import { interruptible } from "../interruption.ts";
import { formatCount, oneLine } from "../screen/text.ts";

interface PullFlags {
  take?: true;
  copy?: true;
  fork?: true;
  project?: string;
  origin?: string;
}

/**
 * V8 keeps up to 48 MB for new objects, and collects old ones when they are several times what lives. With these flags, a pull of
 * 100,000 messages takes 50 MB less, and no longer.
 */
const SPARING = ["--semi-space-growth-factor=1", "--heap-growing-percent=40"];

export const pullCommand: Command<PullFlags> = {
  usage: "pull <session>",
  summary: "Bring a session of the hub into this store, with all its ids.",
  details:
    "Contexts are the same here as where it was. Without --take it is a copy to read. With --take, this store goes on with the session, " +
    "and the store that had it before may not push it any more. If this store has messages that the hub lacks, the pull is refused; " +
    "with --fork they become a session of their own.\n" +
    "With --json: {sessionId, outcome, messageCount, isHolder, forkId, notes}.",
  argument: "the id that it has on the hub",
  options: [
    new Option("--take", "go on with the session in this store"),
    new Option("--copy", "only read it here, as without --take").conflicts("take"),
    new Option("--fork", "keep what only this store has as a session of its own"),
    new Option("--project <name>", "its project, if several sessions have the id"),
    new Option("--origin <store>", "the store in which it began, if several sessions of the project have the id"),
  ],
  examples: ["support-42", "support-42 --take"],

  async run({ args: [sessionId], options: { take = false, fork = false, project, origin }, loadStores, terminal }) {
    for (const flag of SPARING) setFlagsFromString(flag);
    const store = (await loadStores()).openToWrite();
    const remote = await storedRemote(store);
    const pulled = await interruptible("Nothing was written.", (signal) =>
      withHub(remote.url, (hub) =>
        hub.pull(store, sessionId!, {
          ...{ take, fork, signal },
          ...(project !== undefined && { project }),
          ...(origin !== undefined && { origin }),
        }),
      ),
    );
    for (const note of pulled.notes) terminal.note(oneLine(note));
    const lines = [
      `${formatCount(pulled.messageCount, "new message")} in ${oneLine(pulled.sessionId)}${pulled.isHolder ? ", which goes on here" : ", a copy"}.`,
    ];
    if (pulled.forkId !== null) lines.push(`What only this store had is in ${oneLine(pulled.forkId)}.`);
    return { value: pulled, lines };
  },
};
