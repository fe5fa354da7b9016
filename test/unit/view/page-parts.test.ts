import { marked } from "marked";
import { expect, test, vi } from "vitest";
import type { CoverageRun } from "../../../src/view/api.ts";
import { forestAnswer, logAnswer } from "../../../src/view/forest.ts";
import { messagesPage, outlineOf as outlineAnswerOf } from "../../../src/view/messages.ts";
import { visible } from "../../../src/view/page/format.ts";
import { compare } from "../../../src/view/page/parts/compare.ts";
import { differences } from "../../../src/view/page/parts/coverage.ts";
import { Heights } from "../../../src/view/page/parts/heights.ts";
import { MessagePages } from "../../../src/view/page/parts/message-pages.ts";
import { outlineOf } from "../../../src/view/page/parts/outline.ts";
import { isProse } from "../../../src/view/page/parts/prose.ts";
import { bandsOf, logOf, Replay } from "../../../src/view/page/parts/replay.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

test("heights are summed and found again, whatever changes", () => {
  const plain = Array.from({ length: 1_000 }, (_, index) => 20 + (index % 7) * 9);
  const heights = new Heights(plain.length, (index) => plain[index]!);
  for (let change = 0; change < 300; change++) {
    const index = (change * 617) % plain.length;
    plain[index] = 10 + ((change * 37) % 400);
    heights.set(index, plain[index]!);
  }
  const offsetOf = (index: number): number => plain.slice(0, index).reduce((sum, height) => sum + height, 0);
  expect(heights.total).toBe(offsetOf(plain.length));
  for (const index of [0, 1, 63, 64, 500, 998, 999]) {
    expect(heights.offsetOf(index)).toBe(offsetOf(index));
    expect(heights.indexAt(offsetOf(index))).toBe(index);
    expect(heights.indexAt(offsetOf(index) + plain[index]! - 0.5)).toBe(index);
  }
  expect(heights.indexAt(-5)).toBe(0);
  expect(heights.indexAt(1e9)).toBe(999);
});

test("the replayed log is the forest, now and at earlier positions", () => {
  const store = temporaryStore();
  const session = store.session("s", { hotSize: 6, overlap: 2, evictBatch: 4, maxThemes: 3 });
  const topics = [
    "the session lock and its lease",
    "the parser of tokens",
    "the invoice and its price",
    "vectors and recall",
    "a slow disk",
  ];
  for (let turn = 0; turn < 120; turn++) {
    const topic = topics[Math.floor(turn / 4) % topics.length]!;
    session.append({ role: "user", content: `What of ${topic}, number ${turn}?` });
    session.append({ role: "assistant", content: `About ${topic}: it is done in ${turn} steps.` });
  }
  const forest = forestAnswer(store, "s");
  const log = logOf([logAnswer(store, "s", 0, 20_000)]);
  const replay = new Replay(log, forest.seqEnd);
  const shapeOf = () =>
    bandsOf(replay).map((theme) => ({
      root: replay.roots[theme.cluster],
      messages: theme.messageCount,
      tokens: theme.tokenCount,
      clusters: theme.bands.map(({ cluster }) => replay.roots[cluster]).sort(),
    }));
  replay.moveTo(log.count);
  expect(forest.themes.length).toBe(3);
  expect(shapeOf()).toEqual(
    forest.themes.map(({ root, messageCount, tokenCount, clusters }) => {
      return { root, messages: messageCount, tokens: tokenCount, clusters: clusters.toSorted() };
    }),
  );
  // A handle at a position names the same messages as the replay has there, also after steps forward and back.
  for (const share of [0.3, 0.9, 0.5]) {
    const at = Math.floor(log.count * share);
    replay.moveTo(at);
    for (const { root, messages } of shapeOf()) {
      const { memberCount, members } = store.expand(`theme:${root}@${log.positions[at - 1]}`, { limit: 200 });
      expect(memberCount).toBe(messages);
      const themes = new Set(members.map(({ seq }) => replay.roots[replay.themeOf(replay.clusterOfSeq[seq]!)]));
      expect([...themes]).toEqual([root]);
    }
  }
});

test("a comparison has the lines of both texts, and as many equal ones as can be", () => {
  const lines = compare("a\nb\nc\nd\ne", "a\nc\nx\nd\ne\nf");
  expect(lines.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    "same a",
    "removed b",
    "same c",
    "added x",
    "same d",
    "same e",
    "added f",
  ]);
  expect(compare("", "new")).toEqual([{ kind: "added", text: "new" }]);
  expect(compare("same", "same")).toEqual([{ kind: "same", text: "same" }]);
});

test("the difference of two contexts joins neighbors that changed in the same way", () => {
  const run = (how: CoverageRun["how"], seqFirst: number, seqLast: number): CoverageRun => ({ how, seqFirst, seqLast });
  const before = [run("quoted", 0, 4), run("pointer", 5, 9), run("verbatim", 10, 19)];
  const after = [
    run("quoted", 0, 2),
    run("pointer", 3, 6),
    run("pointer", 7, 9),
    run("shortened", 10, 12),
    run("shortened", 13, 19),
  ];
  expect(differences(before, after)).toEqual([
    { seqFirst: 3, seqLast: 4, before: "quoted", after: "pointer" },
    { seqFirst: 10, seqLast: 19, before: "verbatim", after: "shortened" },
  ]);
});

test("controls that cannot be seen are shown as signs", () => {
  expect(visible("\u001b[31mred\u001b[0m\tand\r\nmore\u0007")).toBe("red\tand\nmore␇");
  expect(visible("a\u202eb\u2066c")).toBe("a⟨U+202E⟩b⟨U+2066⟩c");
});

test("a session that no prompt begins has a turn for its first messages", () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append({ role: "system", content: "Be brief." });
  session.append({ role: "assistant", content: "Hello." });
  session.append({ role: "user", content: "Which lock?" });
  const { turns, turnOf } = outlineOf([outlineAnswerOf(store, "s", 0, 100)]);
  expect([...turnOf]).toEqual([0, 0, 1]);
  expect(turns.map(({ index }) => index)).toEqual([0, 2]);
});

test("after messages were forgotten or appended, every message is loaded at its new place", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  for (let index = 0; index < 130; index++) session.append({ role: "user", content: `Message ${index}` });
  vi.stubGlobal("localStorage", { getItem: () => null });
  vi.stubGlobal("fetch", async (address: string) => {
    const query = new URL(address, "http://view").searchParams;
    return Response.json(messagesPage(store, "s", Number(query.get("seqFrom")), Number(query.get("limit"))));
  });
  const outline = () => outlineOf([outlineAnswerOf(store, "s", 0, 1_000)]);
  const pages = new MessagePages("s", outline());
  const shownAll = async () => {
    const { count, seqs } = outline();
    pages.show(0, count - 1);
    await vi.waitFor(() => {
      expect(Array.from(seqs, (_, index) => pages.at(index)?.seq)).toEqual([...seqs]);
    });
  };
  try {
    await shownAll();
    store.forget("s", { messageIds: [session.messages({ seqFrom: 3, limit: 1 })[0]!.id] });
    pages.grow(outline());
    await shownAll();
    pages.forget(127);
    session.append({ role: "user", content: "One more, while the last page is loading" });
    pages.grow(outline());
    await shownAll();
  } finally {
    vi.unstubAllGlobals();
  }
});

test("what would fill the stack is no prose", () => {
  for (const deep of [">".repeat(4_900), "- ".repeat(2_400), `a\n  ${"1. ".repeat(1_600)}`, "> * ".repeat(1_000)]) {
    expect(isProse(deep)).toBe(false);
  }
  for (const text of ["> > quoted twice", "- a\n  - b\n    - c", `a ${"- ".repeat(60)}b`, "-".repeat(100)]) {
    expect(isProse(text)).toBe(true);
    marked.lexer(text);
  }
});
