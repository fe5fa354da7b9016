import { expect, test } from "vitest";
import { Arms, runsOf } from "../../../scripts/eval/experiment/arms.ts";
import { compare } from "../../../scripts/eval/experiment/compare.ts";
import { sharesOf } from "../../../scripts/eval/experiment/contents.ts";
import { measureFigures, type Outcome, tableOf } from "../../../scripts/eval/experiment/figures.ts";
import { commonLines, futureGold, linesOf } from "../../../scripts/eval/experiment/gold.ts";
import { contextText, entryText } from "../../../scripts/eval/experiment/plain-text.ts";
import { PublishedCompactor } from "../../../scripts/eval/experiment/published.ts";
import { ArmSummaries } from "../../../scripts/eval/experiment/summarize.ts";
import { filled, newest, oldest } from "../../../scripts/eval/experiment/verbatim.ts";
import type { EntireEntry } from "../../../scripts/eval/recall-data.ts";
import { openStore, type RenderResult, type Summarizer } from "../../../src/index.ts";

const call = (args: unknown, name = "Edit"): EntireEntry => {
  return { ts: "", role: "assistant", kind: "tool_call", name, text: JSON.stringify(args) };
};
const said = (text: string, role: "user" | "assistant" = "assistant"): EntireEntry => {
  return { ts: "", role, kind: "text", text };
};

test("a line can be gold if it has 20 to 400 characters and three words of letters, without the number of a read file", () => {
  expect(
    linesOf("    12→\tThe lock is released twice.\n  short line  \nsrc/context/memory/of/themes.ts and.more.ts"),
  ).toEqual(["The lock is released twice.", "src/context/memory/of/themes.ts and.more.ts"]);
  expect(linesOf("src/context/memory/of/themes.ts")).toEqual([]);
  expect(linesOf(`${"The word goes on ".repeat(30)}`)).toEqual([]);
});

/** A session with one cut, before call 50. The calls 50 to 79 follow it. */
function sessionWith(before: EntireEntry[], after: EntireEntry[]): EntireEntry[] {
  const calls = Array.from({ length: 100 }, (_, index) => call({ path: `a.go b.go ${index}` }));
  return [...before, ...calls.slice(0, 50 - count(before)), ...after, ...calls.slice(50, 100 - count(after))];
}

const count = (entries: EntireEntry[]) => entries.filter(({ kind }) => kind === "tool_call").length;

test("the gold of a cut stood before it, and is used in the next 30 calls or said between them", () => {
  const known = ["The lock is released twice.", "Never push to the main branch.", "Only the todo list says this."];
  const entries = sessionWith(
    [said(`${known.join("\n")}\nparseFile readLine writeLine openFile closeFile`)],
    [
      call({
        new_string: `\tThe lock is released twice.\n\tThis line is entirely new here.\nparseFile readLine writeLine`,
      }),
      said("Never push to the main branch."),
      call({ content: "Only the todo list says this." }, "TodoWrite"),
      call({ content: "openFile closeFile unknownName" }),
      said("And the user's words do not count.", "user"),
    ],
  );
  const [gold] = futureGold(entries, new Set());
  expect(gold!.cut.entryCount).toBe(51);
  expect(gold!.lines).toBeUndefined(); // two lines are too few
  expect(gold!.symbols).toEqual(new Set(["parseFile", "readLine", "writeLine", "openFile", "closeFile"]));

  const more = sessionWith(
    [said(`${known.join("\n")}\nA third line that comes up.`)],
    [...entries.slice(51, 53), call({ command: "A third line that comes up." })],
  );
  expect(futureGold(more, new Set())[0]!.lines).toEqual(
    new Set(["The lock is released twice.", "Never push to the main branch.", "A third line that comes up."]),
  );
  expect(futureGold(more, new Set(["A third line that comes up."]))[0]!.lines).toBeUndefined();
});

test("what follows the next 30 calls is no gold", () => {
  const line = "This is said after thirty calls.";
  const late = Array.from({ length: 30 }, (_, index) => call({ path: `a.go b.go ${index}` }));
  const entries = sessionWith(
    [said(`${line}\nAnother line like it.\nAnd a third one for it.`)],
    [...late, said(`${line}\nAnother line like it.\nAnd a third one for it.`)],
  );
  expect(futureGold(entries, new Set())[0]!.lines).toBeUndefined();
});

test("a line in twelve sessions is common", () => {
  const sessions = Array.from({ length: 12 }, (_, index) => {
    return { messages: [said(`The same line everywhere.${index < 11 ? "\nA line in eleven of them." : ""}`)] };
  });
  expect(commonLines(sessions)).toEqual(new Set(["The same line everywhere."]));
});

test("a text contains gold also in JSON and elements, and a part of a line is not the line", () => {
  const lines = new Set(["The lock is released twice.", "It says <never> here.", "The other is missing."]);
  const gold = {
    cut: { entryCount: 1, entryEnd: 2, gold: lines },
    files: new Set(["a.go"]),
    symbols: undefined,
    lines,
  };
  const context = {
    messages: [
      {
        role: "user" as const,
        parts: [
          {
            type: "text" as const,
            text: '<x>{"s":"\\tThe lock is released twice.\\n"}\nIt says &lt;never&gt; here.</x>',
          },
        ],
      },
      { role: "user" as const, parts: [{ type: "text" as const, text: "The other is &lt;" }] },
    ],
    composed: [0],
  };
  const text = contextText(context);
  expect(text).toContain("The other is &lt;"); // what was appended is not unescaped
  expect(sharesOf(text, gold)).toEqual({ files: 0, symbols: undefined, lines: 2 / 3 });
});

test("a call is its strings, also if its JSON was cut", () => {
  expect(entryText(call({ path: "a.go", edit: { line: "one\n\ttwo" } }))).toBe("a.go\none\n\ttwo");
  expect(entryText({ kind: "tool_call", text: '{"new":"one\\n\\t\\"two\\u0041' })).toBe('{"new":"one\n\t"twoA');
});

const plain = (texts: string[]) => texts.map((text, index) => ({ text, message: { seq: index, id: index } as never }));

test("verbatim text fills the room exactly: from the end, from the beginning, or what is not shown", () => {
  const messages = plain(["aaaa", "bbbb", "cccc"]);
  expect(newest(messages, 7)).toEqual({ text: "bb\ncccc", beforeCount: 1 });
  expect(newest(messages, 100)).toEqual({ text: "aaaa\nbbbb\ncccc", beforeCount: 0 });
  expect(oldest(messages, 7)).toBe("aaaa\nbb");
  expect(filled("context", messages.slice(0, 2), 13)).toBe("\nbbbb\ncontext".slice(1));
  expect(filled("context", messages, 7)).toBe("context");
});

test("a run is eight steps, and a call stays with its results", () => {
  const messages = Array.from({ length: 20 }, (_, index) => ({ id: index, stepId: Math.floor(index / 2) }) as never);
  expect(runsOf(messages).map((run) => run.length)).toEqual([16, 4]);
});

test("the published compactor joins what is similar, and unites the most similar beyond ten clusters", () => {
  const compactor = new PublishedCompactor();
  const topics = ["apple orchard", "engine piston", "violin concert", "glacier ice", "senate vote", "carpet loom"];
  for (const topic of [...topics, "harbor crane", "beetle wing", "pottery kiln", "desert dune"])
    compactor.graduate(topic);
  expect(compactor.clusters()).toHaveLength(10);
  compactor.graduate("another apple orchard");
  expect(compactor.clusters()[0]).toEqual([0, 10]);
  compactor.graduate("quantum spin"); // like nothing, so the first two of equally unlike clusters are united
  expect(compactor.clusters()).toHaveLength(10);
  expect(compactor.clusters().flat()).toHaveLength(12);
  expect(compactor.retrieved("which orchard?")).toEqual([[0, 1, 10]]);
});

const speak: Summarizer = {
  id: "stub",
  promptVersion: 1,
  isLocal: true,
  summarize: async ({ sources, previous, tokensMax }) => {
    const text = `summary of ${sources.length} after ${previous.length} `.repeat(50).slice(0, 4 * tokensMax);
    return { title: "", text };
  },
};

test("arms use as many characters as the shipped context, and only what was said before", async () => {
  const store = openStore(":memory:");
  const session = store.session("arms");
  const texts = Array.from({ length: 60 }, (_, index) => `Message ${index} says ${"something or other ".repeat(10)}`);
  for (const text of texts) session.append({ role: "user", content: text });
  const messages = session.messages().map((message) => ({ message, text: texts[message.seq]! }));
  const shipped = session.render({ tokensMax: 1_000 });
  const arms = await new Arms(new ArmSummaries(speak)).at({ messages, budget: 1_000, shipped, before: undefined });
  const chars = contextText(shipped).length;
  expect(arms.full).toBe(texts.join("\n"));
  expect(arms["newest-full"]).toHaveLength(4_000);
  for (const [arm, text] of Object.entries(arms)) {
    if (arm === "full" || arm === "newest-full") continue;
    expect(text.length, arm).toBeLessThanOrEqual(chars);
    expect(text.length, arm).toBeGreaterThan(chars - 5);
    expect(text, arm).toContain("Message 59");
  }
  for (const arm of ["flat-filled", "sandwich", "runs", "published"]) expect(arms[arm]).toContain("summary of");
  expect(arms["first-newest"]).toContain("Message 0 ");
  expect(arms["newest+continuity"]).toContain("<continuity>");
  expect(arms["shipped-no-continuity"]).not.toContain("<continuity>");
  expect(arms.before).toBeUndefined();
  store.close();
});

test("an earlier context that is shorter is also shown filled", async () => {
  const store = openStore(":memory:");
  const session = store.session("before");
  for (let index = 0; index < 20; index++) session.append({ role: "user", content: `Message ${index}. `.repeat(20) });
  const messages = session.messages().map((message) => ({ message, text: `Message ${message.seq}. `.repeat(20) }));
  const shipped = session.render({ tokensMax: 1_000 });
  const before: RenderResult = { ...shipped, messages: shipped.messages.slice(-1), sources: shipped.sources.slice(-1) };
  const arms = await new Arms(new ArmSummaries(speak)).at({ messages, budget: 1_000, shipped, before });
  expect(arms.before!.length).toBeLessThan(400);
  expect(arms["before-filled"]!.length).toBe(contextText(shipped).length);
  expect(arms["before-filled"]!.split("Message 19. ")).toHaveLength(21); // nothing is shown twice
  store.close();
});

test("a comparison counts pairs, and its interval is over conversations", () => {
  const pairs = Array.from({ length: 8 }, (_, index) => ({ conversation: `c${index}`, left: 1, right: 0 }));
  expect(compare(pairs)).toMatchObject({ difference: 1, low: 1, high: 1, more: 8, less: 0 });
  expect(compare(pairs).p).toBeCloseTo(2 / 2 ** 8, 12);
  const mixed = [
    { conversation: "long", left: 1, right: 0 },
    { conversation: "long", left: 1, right: 0 },
    { conversation: "long", left: 1, right: 0 },
    { conversation: "short", left: 0, right: 1 },
  ];
  // A resample has the long conversation twice, both, or the short one twice.
  expect(compare(mixed)).toMatchObject({ difference: 0.5, low: -1, high: 1, more: 3, less: 1 });
});

test("figures are means in percent, over the places that have something to find", () => {
  const outcome = (arm: string, place: number, lines: number | undefined): Outcome<"lines"> => {
    return { conversation: `c${place}`, place, budget: 1_000, arm, tokens: 10, shares: { lines } };
  };
  const outcomes = [
    ...[1, 0.5, undefined].map((share, place) => outcome("shipped", place, share)),
    ...[0.5, 0.25, undefined].map((share, place) => outcome("newest", place, share)),
  ];
  const figures = measureFigures(outcomes, "lines");
  expect(figures).toMatchObject({
    "lines@1000.shipped": 75,
    "lines@1000.newest": 37.5,
    "lines@1000.over.newest": 37.5,
    "lines@1000.p.newest": 0.5,
  });
  expect(tableOf(outcomes, "lines", 1_000).c1).toEqual({ shipped: 50, newest: 25 });
});
