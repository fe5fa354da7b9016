import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AnyCommand, Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { shortIds } from "../screen/short-ids.ts";
import { formatCount } from "../screen/text.ts";
import { forestCommand } from "./forest.ts";
import { recallCommand } from "./recall.ts";
import { resumeCommand } from "./resume.ts";
import { verifyCommand } from "./verify.ts";

/** The transcripts of the invented project: packed beside the built program, or a folder seen from the source. */
const TRANSCRIPTS = foundAt("./demo.json.br", "../../../scripts/demo/transcripts");
/** The program that is killed. */
const APPENDER = foundAt("./demo-appender.js", "../demo-appender.ts");

/** The appending process is killed once it has been told that this many messages are stored. */
const ACKNOWLEDGED_MIN = 40;

interface Step {
  title: string;
  command: AnyCommand;
  /** The words after the name of the command. */
  words: string;
  args: readonly string[];
  options?: object;
  /** How many lines are shown of the beginning and of the end of the output. */
  head: number;
  tail?: number;
}

export const demoCommand: Command = {
  usage: "demo",
  summary: "Show what Coppice does, on the sessions of an invented project.",
  details:
    "Makes a store in the folder for temporary files, and leaves it there. Lines after a $ are commands that you can " +
    "type yourself. It needs no key and no network. With --json: {store, acknowledgedCount, lostCount}.",
  examples: [""],

  async run({ terminal, json }) {
    const { importFiles } = await import("../../imports/import-files.ts");
    const { OpenedStores } = await import("../stores/opened-stores.ts");
    const folder = mkdtempSync(join(tmpdir(), "coppice-demo-"));
    const path = join(folder, "agent.db");
    const stores = new OpenedStores(path);
    const say = (...lines: string[]): void => {
      if (!json) for (const line of lines) terminal.print(line);
    };
    const section = (title: string): void => say("", terminal.style("bold", title));
    const show = async ({ title, command, words, args, options = {}, head, tail = 0 }: Step): Promise<void> => {
      if (json) return;
      section(title);
      say(terminal.style("cyan", `$ coppice ${command.usage.split(" ")[0]} ${words}`.trimEnd()), "");
      const loadStores = async () => stores;
      const { lines } = await command.run({ args, options, terminal, json, storePath: path, loadStores });
      const rest: string[] = [];
      let count = 0;
      for (const line of lines) {
        for (const row of line.split("\n")) {
          count += 1;
          if (count <= head) say(row);
          else rest.push(row);
        }
      }
      const leftOut = Math.max(0, rest.length - tail);
      if (leftOut > 0) say(terminal.style("dim", `… ${leftOut} lines`));
      say(...rest.slice(leftOut));
    };
    try {
      const { newCount } = await importFiles(stores.openToWrite(), [await transcriptsIn(folder)]);
      stores.close();
      say(
        `Ten days of a coding agent on an invented project: ${formatCount(newCount, "message")} from five transcripts.`,
      );
      const sessions = stores.openToRead().sessions();
      const longest = sessions.reduce((left, right) => (right.messageCount > left.messageCount ? right : left));
      const id = shortIds(sessions.map((session) => session.id))(longest.id);
      const question = "which lock replaces flock?";

      await show({
        title: "Somebody asks, a week later. The newest decision comes first, with its source.",
        command: recallCommand,
        words: `"${question}" --limit 5`,
        args: [question],
        options: { limit: 5 },
        head: 16,
      });
      await show({
        title: `The longest session goes on after a month: ${formatCount(longest.tokenCount, "token")} become 4,000.`,
        command: resumeCommand,
        words: `${id} --tokens-max 4000`,
        args: [longest.id],
        options: { tokensMax: 4_000 },
        head: 5,
        tail: 10,
      });
      await show({
        title:
          "Its forest: messages about one matter are in one theme, and `coppice expand` gives them back word for word.",
        command: forestCommand,
        words: id,
        args: [longest.id],
        head: 18,
      });
      stores.close();

      section("A process that appends is killed with kill -9.");
      const acknowledged = await killWhileAppending(path);
      // A writer empties the log that the killed process left.
      const kept = stores.openToWrite().resume("killed").messages();
      stores.close();
      if (acknowledged.length < ACKNOWLEDGED_MIN) {
        throw new Failure("UNEXPECTED", "The process that appends has ended before it was killed.");
      }
      const texts = new Map(kept.map(({ seq, text }) => [seq, text]));
      const lostCount = acknowledged.filter((seq) => texts.get(seq) !== `Note ${seq}`).length;
      say(`It had been told that ${formatCount(acknowledged.length, "message")} were stored. Lost: ${lostCount}.`);
      await show({
        title: "Is everything what the log says it is?",
        command: verifyCommand,
        words: "",
        args: [],
        head: 4,
      });

      section("Look around in the browser, or with the commands above:");
      say(`  export COPPICE_DB=${path}`, "  coppice view");
      section("Do it with the conversations of your own agents. This lists where they are, and asks first:");
      say("  coppice watch --once");
      const acknowledgedCount = acknowledged.length;
      const failure =
        lostCount === 0
          ? undefined
          : new Failure("VERIFY_FAILED", `Messages that were acknowledged are lost: ${lostCount}.`);
      return { value: { store: path, acknowledgedCount, lostCount }, lines: [], failure };
    } finally {
      stores.close();
    }
  },
};

/** Unpacks the transcripts into a folder, if they are packed. The build has made one text of them by their names. */
async function transcriptsIn(folder: string): Promise<string> {
  if (!TRANSCRIPTS.endsWith(".br")) return TRANSCRIPTS;
  const { brotliDecompressSync } = await import("node:zlib");
  const texts: Record<string, string> = JSON.parse(brotliDecompressSync(readFileSync(TRANSCRIPTS)).toString());
  const unpacked = join(folder, "transcripts");
  mkdirSync(unpacked);
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(unpacked, name), text);
  return unpacked;
}

function foundAt(...paths: string[]): string {
  return paths.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path))!;
}

/** @returns the seqs that the process had been told are stored. */
async function killWhileAppending(path: string): Promise<number[]> {
  const { fork } = process.getBuiltinModule("node:child_process");
  const appender = fork(APPENDER, [path]);
  const seqs: number[] = [];
  appender.on("message", (seq) => {
    seqs.push(seq as number);
    if (seqs.length === ACKNOWLEDGED_MIN) appender.kill("SIGKILL");
  });
  await once(appender, "close");
  return seqs;
}
