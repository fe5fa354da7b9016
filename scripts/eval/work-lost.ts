import { join } from "node:path";
import { element } from "../../src/core/markup.ts";
import { estimatingTokenCounter } from "../../src/core/tokens.ts";
import { sayAt } from "../../src/hooks/hook.ts";
import { type LostLine, type MessageInput, openStore } from "../../src/index.ts";
import { openQuickly } from "../../src/store/quick-reader.ts";
import { type Compaction, type Gold, onOneLine, readCompactions, wordsOf } from "./compactions.ts";
import { inFolder } from "./folder.ts";
import { folded, isHeld, keysAbout } from "./handover.ts";
import { mean } from "./measures.ts";

const TOKENS_MAX = 1_000;

const CODE = /<line [^>]*>[\s\S]*?<\/line>/g;

/** With fewer, the share of one compaction says little. */
const LINES_MIN = 3;

/**
 * Measures what of the work before a compaction is brought back: of the lines, commands and files that the next 30 calls used again
 * and that the agent's own summary lacks, the mean share, in percent, that stands word for word in 1,000 tokens. Everything is read
 * from a store that holds what came before the compaction, and nothing else.
 *
 * - `lines`, `commands`, `files`: the text of the hook at the first prompt after the compaction, when the store has the summary.
 * - `hook`, `hook.commands`, `hook.files`: that of the hook right after the compaction, when the store has no summary yet.
 * - `baseline`, `baseline.commands`, `baseline.files`: the newest 1,000 tokens before it. `.withoutResults`: without tool results.
 * - `keys`, `hook.keys`, `baseline.keys`: of what whoever goes on must know (`handover/questions.json`), the share of the keys that stand
 *   before the compaction and that the summary lacks. `list.keys` is of the first 1,000 tokens of what `lost` lists.
 * - `code`: the share of the hook's lines that are lines of the work.
 * - `compactions`, `gold`: those with at least three such lines, and how many lines these have on average.
 * - `tokens`: how many tokens the hook's text has on average.
 */
export async function lostFigures(dataFolder: string): Promise<Record<string, number>> {
  const compactions = await readCompactions(dataFolder);
  const counted = compactions.filter(({ gold }) => gold.lines.size >= LINES_MIN);
  const figures: Record<string, number> = {
    compactions: counted.length,
    gold: rounded(mean(counted.map(({ gold }) => gold.lines.size))),
  };
  const { texts, lists } = await saidAfter(compactions, true);
  const { texts: early } = await saidAfter(compactions, false);
  const keys = compactions.map(({ sessionId, before, summary }) => {
    const [stood, told] = [before, summary].map((messages) => folded(messages.flatMap(wordsOf).join("\n")));
    return keysAbout(sessionId, dataFolder).filter((key) => isHeld(key, stood!) && !isHeld(key, told!));
  });
  const add = (name: string, textOf: (compaction: Compaction, index: number) => string): void => {
    const read = compactions.map((compaction, index) => onOneLine(textOf(compaction, index)));
    const shares = (of: keyof Gold, min: number): number => {
      const scored = compactions.flatMap(({ gold }, index) => {
        const wanted = [...gold[of]];
        return wanted.length < min ? [] : [wanted.filter((text) => read[index]!.includes(text)).length / wanted.length];
      });
      return rounded(100 * mean(scored));
    };
    figures[name === "" ? "lines" : name] = shares("lines", LINES_MIN);
    figures[name === "" ? "commands" : `${name}.commands`] = shares("commands", 1);
    figures[name === "" ? "files" : `${name}.files`] = shares("files", 1);
    addKeys(name === "" ? "keys" : `${name}.keys`, textOf);
  };
  const addKeys = (name: string, textOf: (compaction: Compaction, index: number) => string): void => {
    const held = compactions.flatMap((compaction, index) => {
      const text = folded(textOf(compaction, index));
      return keys[index]!.map((key) => Number(isHeld(key, text)));
    });
    figures[name] = rounded(100 * mean(held));
  };
  add("", (_, index) => texts[index]!);
  add("hook", (_, index) => early[index]!);
  add("baseline", ({ before }) => newestOf(before));
  add("baseline.withoutResults", ({ before }) => newestOf(before.filter(({ role }) => role !== "tool")));
  addKeys("list.keys", (_, index) => lists[index]!);
  const code = texts.map((text) =>
    Array.from(text.matchAll(CODE), ([lines]) => lines.split("\n").length).reduce(sum, 0),
  );
  figures.code = rounded((100 * code.reduce(sum, 0)) / texts.map((text) => text.split("\n").length).reduce(sum, 0));
  figures.tokens = rounded(mean(texts.map((text) => estimatingTokenCounter.count(text))));
  return figures;
}

function sum(one: number, other: number): number {
  return one + other;
}

/** Returns what the hook says after each compaction, as the agent reads it, and what `lost` lists. The next prompt says the same. */
export async function saidAfter(
  compactions: readonly Compaction[],
  withSummary: boolean,
): Promise<{ texts: string[]; lists: string[] }> {
  const texts: string[] = [];
  const lists: string[] = [];
  await inFolder(async (folder) => {
    for (const [index, { sessionId, before, summary }] of compactions.entries()) {
      const path = join(folder, `${index}.db`);
      const store = openStore(path);
      const stored = withSummary ? [...before, ...summary] : before;
      for (let from = 0; from < stored.length; from += 200) {
        store.session(sessionId).append(stored.slice(from, from + 200));
      }
      await store.upkeep();
      lists.push(beginningOf(store.lost({ sessionId })?.lines ?? []));
      store.close();
      const reader = openQuickly(path);
      const firing = {
        agent: "claude-code",
        event: "after-compaction",
        sessionId,
        cwd: folder,
        project: undefined,
        source: "",
        prompt: "",
        transcriptPath: undefined,
        call: undefined,
      } as const;
      const said = sayAt(reader, firing, {
        quoted: new Set(),
        compactedAtMs: undefined,
        isBare: true,
        digest: (text) => text,
        warned: new Set<string>(),
      });
      reader.close();
      texts.push(unescaped(said?.text ?? ""));
    }
  });
  return { texts, lists };
}

/** Returns the first lines, as a tool lists them. */
function beginningOf(lines: readonly LostLine[]): string {
  let text = "";
  for (const { kind, messageId, by, text: line } of lines) {
    const longer = `${text}${element(kind, { id: messageId, by }, line)}\n`;
    if (estimatingTokenCounter.count(longer) > TOKENS_MAX) break;
    text = longer;
  }
  return text;
}

/** Returns the newest tokens, the oldest message cut at its beginning. */
function newestOf(messages: readonly MessageInput[]): string {
  const texts: string[] = [];
  let room = TOKENS_MAX;
  for (const message of messages.toReversed()) {
    const text = wordsOf(message)
      .join("\n")
      .replace(/^\s*\d+(?:→|\t)/gm, "");
    const tokens = estimatingTokenCounter.count(text);
    texts.push(tokens <= room ? text : text.slice(-Math.round((text.length * room) / tokens)));
    room -= tokens;
    if (room <= 0) break;
  }
  return texts.reverse().join("\n");
}

function unescaped(text: string): string {
  return text
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, "&");
}

function rounded(figure: number): number {
  return Number(figure.toFixed(1));
}
