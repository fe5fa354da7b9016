import { expect, test } from "vitest";
import { type BlockIndex, indexOf } from "../../../../src/context/digest/block-index.ts";
import { BlockCache, isTelling } from "../../../../src/context/digest/blocks.ts";
import { DigestChoice } from "../../../../src/context/digest/choice.ts";
import { packedPast } from "../../../../src/context/digest/packed-blocks.ts";
import { call, messageOf, result } from "../../../support/render-message.ts";
import { quarterCounter } from "../../../support/render-model.ts";

/** The messages before the window, those in it, and those that leave it at a time. */
const [PAST, SHOWN, MOVE] = [20, 5, 5];

/** Messages with some lines of their own, and one that others have too. */
const messages = Array.from({ length: 200 }, (_, seq) => {
  const own = Array.from(
    { length: 6 },
    (_, line) => `The tide of day ${seq} came in at hour ${line} and went out again.`,
  );
  const text = [...own, `The boat of owner ${seq % 7} lay in the harbour all day.`].join("\n");
  return messageOf(seq, "assistant", [{ type: "text", text }]);
});

/** Chooses a digest where the window begins at a seq. */
function choose(blocks: BlockCache, windowFrom: number): { index: BlockIndex; text: string } {
  const blocked = messages.slice(windowFrom - PAST, windowFrom + SHOWN).map((message) => blocks.of(message));
  const index = indexOf(blocked.slice(0, PAST), quarterCounter);
  const choice = new DigestChoice(index, [], blocked.slice(PAST), windowFrom + SHOWN);
  const { text } = choice.write(600, 0, (shown) => shown.map((message) => message.text).join("\n"));
  return { index, text };
}

test("an index that keeps the numbers of the one before it chooses as if it were the first", () => {
  const blocks = new BlockCache();
  const first = choose(blocks, PAST);
  expect(first.text).toContain("The boat of owner");
  const second = choose(blocks, PAST + MOVE);
  expect(second.index.lexicon).toBe(first.index.lexicon);
  for (let from = PAST; from + SHOWN <= messages.length; from += MOVE) {
    expect(choose(blocks, from).text).toBe(choose(new BlockCache(), from).text);
  }
});

test("what comes before a seq is split anew, and a call that stays tells what its result is", () => {
  const blocks = new BlockCache();
  const [old, read] = [messages[0]!, messageOf(1, "assistant", [call("c", "Read", { file_path: "tide.ts" })])];
  const [dropped, kept] = [blocks.of(old), blocks.of(read)];
  blocks.dropBefore(1);
  expect(blocks.of(old)).not.toBe(dropped);
  expect(blocks.of(read)).toBe(kept);
  const weightOf = (cache: BlockCache) =>
    cache.of(messageOf(2, "tool", [result("c", "The tide is low.")], 1)).kindWeight;
  expect(weightOf(blocks)).toBe(1.3); // lines of a file that was read
  expect(weightOf(new BlockCache())).toBe(0.5);
});

test("numbers do not pile up with the length of a session", () => {
  const blocks = new BlockCache();
  const lineCounts: number[] = [];
  for (let from = PAST; from + SHOWN <= messages.length; from += MOVE) {
    lineCounts.push(choose(blocks, from).index.lexicon.lineNumbers.size);
  }
  expect(lineCounts.length).toBe(36);
  expect(lineCounts[1]).toBeGreaterThan(lineCounts[0]!);
  expect(Math.max(...lineCounts)).toBeLessThan(4 * lineCounts[0]!);
});

test.each([false, true])("a packed block is worth its lines and names per token: a talk %s", (isTalk) => {
  const blocks = new BlockCache();
  const { index } = choose(blocks, PAST);
  const packed = packedPast(index, isTalk);
  expect(packed).toBe(packedPast(index, isTalk));
  expect(packed.blocks).toEqual(index.past.flatMap((message) => message.blocks));
  const { lineNumbers, nameNumbers, wordNumbers } = index.lexicon;
  const lineWorths = Float64Array.from({ length: lineNumbers.size }, (_, line) => line + 1);
  const names = isTalk ? wordNumbers : nameNumbers;
  const nameWorths = Float64Array.from({ length: names.size }, (_, name) => name + 1);
  for (const [at, { lines, words, names, message, tokensEstimated }] of packed.blocks.entries()) {
    const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number + 1, 0);
    const worth = message.source.kindWeight * sum(lines) + 0.05 * sum(isTalk ? words : names);
    expect(packed.worthOf(at, lineWorths, nameWorths)).toBeCloseTo(worth / tokensEstimated, 9);
  }
});

test.each([
  ["} 12 345 678 9 1011 1213 {", false],
  ["lease-42 -- 7 8 9 10 11 12", false],
  ["lease lock2 - 7 8 9 10 11 12", false],
  ["a b c d e f g h lease lock", false],
  ["lease lock kept - 7 8 9 10 11", true],
  ["lease lock kept", false], // too short
])("a line says something if it has three words: %s", (line, expected) => {
  expect(isTelling(line)).toBe(expected);
  expect(isTelling(`${line} é`), "with a letter beyond ASCII").toBe(expected);
});
