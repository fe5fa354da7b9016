import { expect, test } from "vitest";
import { indexOf } from "../../../../src/context/digest/block-index.ts";
import { BlockCache, isTelling } from "../../../../src/context/digest/blocks.ts";
import { DigestChoice } from "../../../../src/context/digest/choice.ts";
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
function choose(blocks: BlockCache, windowFrom: number): string {
  const blocked = messages.slice(windowFrom - PAST, windowFrom + SHOWN).map((message) => blocks.of(message));
  const index = indexOf(blocked.slice(0, PAST), quarterCounter);
  const choice = new DigestChoice(index, [], blocked.slice(PAST), windowFrom + SHOWN);
  return choice.write(600, 0, (shown) => shown.map((message) => message.text).join("\n")).text;
}

test("messages that were indexed before are chosen as if they were new", () => {
  const blocks = new BlockCache();
  expect(choose(blocks, PAST)).toContain("The boat of owner");
  for (let from = PAST; from + SHOWN <= messages.length; from += MOVE) {
    expect(choose(blocks, from)).toBe(choose(new BlockCache(), from));
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

/** The text of the one message of two that a digest with room for one chooses. */
function chosenOf(first: ReturnType<typeof messageOf>[], seqNow = 10): string {
  const blocks = new BlockCache();
  const blocked = first.map((message) => blocks.of(message));
  const choice = new DigestChoice(indexOf(blocked, quarterCounter), [], [], seqNow);
  const tokensMax = 30;
  return choice.write(tokensMax, 0, (shown) => shown.map((message) => message.text).join("\n")).text;
}

const said = (seq: number, text: string, role: "user" | "assistant" = "assistant") =>
  messageOf(seq, role, [{ type: "text", text }]);
const ASIDE = "The keeper went home in the evening.";
const BERTH = "The ferry is moored at the north berth.";
/** A conversation with a call is work. */
const work = (seq: number) => messageOf(seq, "assistant", [call(`c${seq}`, "Read", { file_path: "tide.ts" })]);
const wait = (seq: number) => messageOf(seq, "assistant", [call(`c${seq}`, "Wait")]);
const read = (seq: number, text: string) => messageOf(seq, "tool", [result(`c${seq - 1}`, text)], seq - 1);

test.each([
  ["the newer line", [work(0), said(1, ASIDE), said(90, BERTH)], BERTH],
  ["the line that was seen more often", [wait(0), said(1, BERTH), said(2, BERTH), said(3, ASIDE)], BERTH],
  ["a line of a file that was read", [work(0), read(1, BERTH), said(2, ASIDE)], BERTH],
  ["the user's line", [work(0), said(1, BERTH, "user"), said(2, ASIDE)], BERTH],
  ["a line with a name", [wait(0), said(1, "See mooringOf at the north berth."), said(2, ASIDE)], "mooringOf"],
])("a digest with little room shows %s", (_, given, expected) => {
  expect(chosenOf(given, 100)).toContain(expected);
});

test("two counters of tokens have indexes of their own", () => {
  const blocks = new BlockCache();
  const past = messages.slice(0, 5).map((message) => blocks.of(message));
  const other = { ...quarterCounter, count: (text: string) => text.length };
  const index = indexOf(past, quarterCounter);
  expect(indexOf(past, other)).not.toBe(index);
  expect(indexOf(past, quarterCounter)).toBe(index);
  expect(index.of(past[0]!)).toBe(index.past[0]);
});
