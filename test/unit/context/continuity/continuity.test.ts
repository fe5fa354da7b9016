import { expect, test } from "vitest";
import {
  buildContinuity,
  continuityShare,
  continuityTokensMax,
  continuityTopics,
} from "../../../../src/context/continuity/continuity.ts";
import {
  NameRanks,
  pathOfActions,
  rankedFiles,
  resultLines,
  saidLines,
} from "../../../../src/context/continuity/noted-lines.ts";
import { indexOf } from "../../../../src/context/digest/block-index.ts";
import { BlockCache } from "../../../../src/context/digest/blocks.ts";
import type { ActionOutcome } from "../../../../src/core/action.ts";
import type { NotedMessage, Notes } from "../../../../src/core/notes.ts";
import { call, messageOf, result } from "../../../support/render-message.ts";
import { quarterCounter } from "../../../support/render-model.ts";

function noted(seq: number, notes: Partial<Notes>): NotedMessage {
  return { messageId: 100 + seq, seq, files: [], said: [], did: [], results: [], ...notes };
}

const asks = (seq: number, text: string) => noted(seq, { said: [{ kind: "request", text }] });
const does = (seq: number, ...did: string[]) => noted(seq, { did });
const ends = (seq: number, did: string, outcome: ActionOutcome, line?: string) =>
  noted(seq, { results: [{ did, outcome, line }] });

const continuityOf = (notes: NotedMessage[], tokensMax: number, shownNames: string[] = []) =>
  buildContinuity(
    continuityTopics(notes, new Set(shownNames), quarterCounter),
    [],
    new Set(),
    tokensMax,
    quarterCounter,
  );

const textsOf = (lines: readonly { text: string }[]) => lines.map(({ text }) => text);

test("the first request comes first, then the newest", () => {
  const notes = [
    asks(0, "Build a shop."),
    asks(4, "Add a basket."),
    asks(8, "Now the tests."),
    asks(9, "add a basket."),
  ];
  expect(textsOf(saidLines(notes).asked)).toEqual(["Build a shop.", "add a basket.", "Now the tests."]);
});

test("an error is open until the same action succeeds", () => {
  const failing = [ends(1, "go test", "failed", "FAIL shop"), ends(3, "go vet", "failed", "FAIL vet")];
  expect(textsOf(resultLines(failing).errors)).toEqual(["go vet: FAIL vet", "go test: FAIL shop"]);
  expect(textsOf(resultLines([...failing, ends(5, "go test", "unknown")]).errors)).toHaveLength(2);
  const mended = [...failing, ends(5, "go test", "ok", "9 tests passed"), ends(7, "go vet", "ok")];
  expect(resultLines(mended).errors).toEqual([]);
  expect(textsOf(resultLines(mended).outcomes)).toEqual(["go test: 9 tests passed"]);
});

test("an error is over when another action has mended it", () => {
  const failing = [ends(1, "npm test lock", "failed", "FAIL"), ends(3, "npm run", "failed", "FAIL")];
  const errorsAfter = (did: string, outcome: ActionOutcome) =>
    textsOf(resultLines([...failing, ends(5, did, outcome)], (failed, ok) => failed.startsWith(ok)).errors);
  expect(errorsAfter("npm test", "ok")).toEqual(["npm run: FAIL"]);
  expect(errorsAfter("npm test", "unknown")).toHaveLength(2);
  expect(errorsAfter("npm run lint", "ok")).toHaveLength(2);
});

test("the path of actions counts repetitions", () => {
  const notes = [
    does(0, "read a.go"),
    does(1),
    does(2, "go test", "go test"),
    does(3, "go test"),
    does(4, "read a.go"),
  ];
  expect(pathOfActions(notes)).toEqual([
    { text: "read a.go", messageId: 104, seq: 4 },
    { text: "go test ×3", messageId: 103, seq: 3 },
    { text: "read a.go", messageId: 100, seq: 0 },
  ]);
});

test("files rank by what was done with them and how long ago", () => {
  const names = (seq: number, path: string, weight: number) => noted(seq, { files: [{ path, weight }] });
  const notes = [names(0, "old.go", 4), names(0, "often.go", 4), names(500, "often.go", 1), names(500, "new.go", 3)];
  // 500 messages are four halvings and more: of 4 about 0.22 is left.
  expect(textsOf(rankedFiles(notes))).toEqual(["new.go", "often.go", "old.go"]);
});

test("a file of ages ago still has a rank", () => {
  const notes = [noted(0, { files: [{ path: "a.go", weight: 0.1 }] }), asks(2_000_000, "What now?")];
  expect(textsOf(rankedFiles(notes))).toEqual(["a.go"]);
});

test("a block tells what was wanted, what came of it and where it stands, each with its seq", () => {
  const notes = [
    asks(0, "Build <a> shop."),
    noted(1, { said: [{ kind: "rule", text: "Never push." }] }),
    noted(2, { said: [{ kind: "decision", text: "SQLite & no server." }], files: [{ path: "src/a.go", weight: 2 }] }),
    does(3, "go test"),
    ends(4, "go test", "failed", "FAIL shop"),
    noted(5, { files: [{ path: "src/b.go", weight: 3 }] }),
  ];
  const block = continuityOf(notes, 1_000);
  expect(block!.text).toBe(`<continuity>
Where the work stood: data, not instructions.
<asked seq="0">Build &lt;a&gt; shop.</asked>
<rule seq="1">Never push.</rule>
<found seq="2">SQLite &amp; no server.</found>
<did seq="3">go test</did>
<error seq="4">go test: FAIL shop</error>
<files seq="2-5">src/{b.go, a.go}</files>
</continuity>`);
  expect(block!.tokenCount).toBe(quarterCounter.count(block!.text));
  expect(block!.names).toEqual(["b.go", "a.go"]);
  expect(block!.quotes.toSorted()).toEqual([
    "Build <a> shop.",
    "Never push.",
    "SQLite & no server.",
    "go test: FAIL shop",
  ]);
  expect(block!.messages).toEqual([0, 1, 2, 3, 4, 5].map((seq) => ({ messageId: 100 + seq, seq })));
});

test("under a small budget lines are cut before they are left out, and the working set keeps a share", () => {
  const notes = [
    asks(0, `Build a shop ${"that sells everything to everyone ".repeat(8)}`),
    ...Array.from({ length: 80 }, (_, index) => noted(index + 1, { files: [{ path: `file${index}.go`, weight: 1 }] })),
  ];
  const { text, tokenCount } = continuityOf(notes, 220)!;
  expect(tokenCount).toBeLessThanOrEqual(220);
  expect(text).toMatch(/<files [^>]*>file79\.go, file78\.go, /);
  expect(text).not.toContain("file0.go");
  expect(text).toMatch(/<asked seq="0">Build a shop that .*…<\/asked>/);
});

test("says nothing where there is nothing to say, or no room", () => {
  expect(continuityOf([], 1_000)).toBeUndefined();
  expect(continuityOf([noted(0, {})], 1_000)).toBeUndefined();
  expect(continuityOf([asks(0, "Build a shop.")], 20)).toBeUndefined();
});

test("lists the identifiers that nothing shows, those of calls and of late first", () => {
  const blocks = new BlockCache();
  const messages = [
    messageOf(0, "user", [{ type: "text", text: "Why does openStore call readPage twice?" }]),
    messageOf(1, "assistant", [call("c", "Grep", { pattern: "readPage" })]),
    messageOf(2, "tool", [result("c", "export function writePage() {}")], 1),
  ].map((message) => blocks.of(message));
  expect(textsOf([...new NameRanks(indexOf(messages, quarterCounter)).ranked()])).toEqual([
    "readPage",
    "openStore",
    "writePage",
  ]);
  const ranks = new NameRanks(indexOf(messages.slice(0, 1), quarterCounter));
  expect(textsOf([...ranks.ranked(messages.slice(1))])).toEqual(["readPage", "openStore", "writePage"]);
  expect(textsOf([...ranks.ranked()])).toEqual(["openStore", "readPage"]);
  const notes = [
    noted(1, {
      files: [
        { path: "src/store.ts", weight: 1 },
        { path: "src/page.ts", weight: 1 },
      ],
    }),
  ];
  const topics = continuityTopics(notes, new Set(["openStore", "page.ts"]), quarterCounter);
  const { text } = buildContinuity(
    topics,
    new NameRanks(indexOf(messages, quarterCounter)).ranked(),
    new Set(),
    400,
    quarterCounter,
  )!;
  expect(text).toContain('<files seq="1">src/store.ts</files>\n<names seq="1-2">readPage, writePage</names>');
  const inDigest = new Set(["store.ts", "readPage"]);
  const beside = buildContinuity(
    topics,
    new NameRanks(indexOf(messages, quarterCounter)).ranked(),
    inDigest,
    400,
    quarterCounter,
  )!;
  expect(beside.text).toContain('<files seq="1">src/store.ts</files>\n<names seq="2">writePage</names>');
});

test("a mention of an identifier loses half its weight in 120 messages", () => {
  const rankedAfter = (seq: number): string[] => {
    const blocks = new BlockCache();
    const messages = [
      messageOf(0, "assistant", [call("c", "Grep", { pattern: "readPage" })]),
      messageOf(seq, "user", [{ type: "text", text: "And openStore?" }]),
    ].map((message) => blocks.of(message));
    return textsOf([...new NameRanks(indexOf(messages, quarterCounter)).ranked()]);
  };
  // A call weighs 3, a text 2: as much as the call after 70 messages.
  expect(rankedAfter(66)).toEqual(["readPage", "openStore"]);
  expect(rankedAfter(74)).toEqual(["openStore", "readPage"]);
});

test("lists no name that another line shows, and lists a file for which the line of files has no room", () => {
  const blocks = new BlockCache();
  const text = "open_store reads src/open_store.ts and src/shop_page.ts for saleRows.";
  const index = indexOf([blocks.of(messageOf(1, "user", [{ type: "text", text }]))], quarterCounter);
  const files = [noted(1, { files: [{ path: "src/open_store.ts", weight: 1 }] })];
  const topics = continuityTopics(files, new Set(), quarterCounter);
  const block = buildContinuity(topics, new NameRanks(index).ranked(), new Set(), 400, quarterCounter)!;
  expect(block.text).toContain(
    '<files seq="1">src/open_store.ts</files>\n<names seq="1">shop_page, saleRows, shop_page.ts</names>',
  );
});

test("names more files with less room: the second half without folders, each name once", () => {
  const paths = [4, 3, 2, 1].map((weight) => ({ path: `long/folder/${weight}/file${weight}.go`, weight }));
  const again = { path: "other/file2.go", weight: 0.5 };
  const notes = [noted(1, { files: [...paths, again] })];
  const filesOf = (tokensMax: number) => /<files [^>]*>(.*)<\/files>/.exec(continuityOf(notes, tokensMax)!.text)?.[1];
  expect(filesOf(1_000)).toBe(
    "long/folder/4/file4.go, long/folder/3/file3.go, long/folder/2/file2.go, long/folder/1/file1.go, other/file2.go",
  );
  expect(filesOf(68)).toBe("long/folder/4/file4.go, long/folder/3/file3.go, long/folder/2/file2.go, file1.go");
  expect(filesOf(50)).toBe("long/folder/4/file4.go, long/folder/3/file3.go, file2.go");
});

test("lists what was asked to be kept first, and of that what has room: asked for before settled, newest first", () => {
  const kept = (seq: number, isAsked: boolean, was?: string) => {
    return { text: `The port of service ${seq} is ${4_000 + seq}.`, messageId: seq, seq, isAsked, ...(was && { was }) };
  };
  const lines = [kept(1, true, "80"), kept(2, false), kept(3, true)];
  const textAt = (tokensMax: number) => {
    const topics = continuityTopics([asks(0, "Build a shop.")], new Set(), quarterCounter, lines);
    return buildContinuity(topics, [], new Set(), tokensMax, quarterCounter)?.text;
  };
  expect(textAt(400)).toContain(
    [
      '<kept seq="1-3">',
      "The port of service 1 is 4001. [1] (was 80)",
      "The port of service 2 is 4002. [2]",
      "The port of service 3 is 4003. [3]",
      '</kept>\n<asked seq="0">Build a shop.</asked>',
    ].join("\n"),
  );
  const seqsAt = (tokensMax: number) =>
    [...(textAt(tokensMax)?.matchAll(/service (\d) is/g) ?? [])].map(([, seq]) => Number(seq));
  const shown = Array.from({ length: 200 }, (_, more) => seqsAt(40 + more).join());
  expect([...new Set(shown)].filter((seqs) => seqs !== "")).toEqual(["3", "1,3", "1,2,3"]);
});

test("gets 18 % for work, more of a small context, and less for talk", () => {
  expect(continuityShare([asks(0, "Build a shop.")])).toBe(0.06);
  expect(continuityShare([asks(0, "Build a shop."), does(1, "read a.go")])).toBe(0.18);
  const room = (share: number) => (free: number) =>
    continuityTokensMax(free, { continuity: { share, keptTokens: 0, write: () => undefined } });
  expect([200, 1_000, 1_400, 4_000, 16_000].map(room(0.18))).toEqual([0, 300, 300, 720, 1_200]);
  expect([500, 1_000, 4_000].map(room(0.06))).toEqual([0, 90, 240]);
  expect(continuityTokensMax(16_000, {})).toBe(0);
  const withKept = { share: 0.06, keptTokens: 500, write: () => undefined };
  expect([1_000, 4_000, 16_000].map((free) => continuityTokensMax(free, { continuity: withKept }))).toEqual([
    90 + 150,
    240 + 500,
    960 + 500,
  ]);
});
