import { describe, expect, test } from "vitest";
import { prepareView } from "../../../src/context/layout/prepare.ts";
import { renderContext } from "../../../src/context/render.ts";
import type { RenderView } from "../../../src/context/view.ts";
import type { Message } from "../../../src/core/message.ts";
import { call, messageOf, result, textMessage } from "../../support/render-message.ts";
import { quarterCounter } from "../../support/render-model.ts";
import { summaryOf, themeOf, viewOf } from "../../support/render-view.ts";

function render(view: RenderView, tokensMax: number) {
  return renderContext(prepareView(view, quarterCounter), { tokensMax, tokenCounter: quarterCounter });
}

function tokensNeeded(view: RenderView, tokensMax: number): unknown {
  try {
    return render(view, tokensMax);
  } catch (error) {
    return error;
  }
}

/** What the line costs that stands before an assistant's message which nothing comes before. */
const OPENING_TOKENS = 16;

const cold = [themeOf(0, 30, { tokenCount: 600, summaries: [summaryOf(0, 20)] })];

test("puts the pinned first, then one memory message, then the window", () => {
  const system = { ...textMessage(31, "system", 10), pinned: true };
  const user = textMessage(30, "user", 10);
  const assistant = textMessage(32, "assistant", 10);
  const view = viewOf({ pinned: [system], window: [user, assistant], evictedSeq: 30, themes: cold });
  const { messages, tokenCount, sources, omitted } = render(view, 4_000);
  expect(messages.map(({ role }) => role)).toEqual(["system", "user", "user", "assistant"]);
  expect(messages[1]!.parts).toHaveLength(1);
  expect(messages[2]!.parts).toBe(user.parts);
  // Three messages of 10, and 4 for the memory message besides its text of 223 characters.
  expect((messages[1]!.parts[0] as { text: string }).text).toHaveLength(223);
  expect(tokenCount).toBe(30 + 4 + 56);
  const whole = { how: "verbatim", messageCount: 1 };
  expect(sources).toEqual([
    { ...whole, messageIndex: 0, messageId: 31, seqFirst: 31, seqLast: 31 },
    { ...whole, messageIndex: 2, messageId: 30, seqFirst: 30, seqLast: 30 },
    { ...whole, messageIndex: 3, messageId: 32, seqFirst: 32, seqLast: 32 },
    { how: "summary", messageIndex: 1, handle: "cluster:0@50", seqFirst: 0, seqLast: 19, messageCount: 20 },
  ]);
  expect(omitted).toEqual([
    { kind: "theme", messageIndex: 1, handle: "theme:0@99", seqFirst: 0, seqLast: 29, messageCount: 10 },
  ]);
});

test("renders an empty session as nothing", () => {
  expect(render(viewOf({}), 1)).toEqual({
    messages: [],
    composed: [],
    tokenCount: 0,
    stablePrefixTokens: 0,
    sources: [],
    omitted: [],
    recalled: [],
    story: [],
  });
});

test("quotes hidden messages of the window in the memory message, and names the rest", () => {
  const window = Array.from({ length: 40 }, (_, seq) =>
    messageOf(seq, "user", [{ type: "text", text: `Line ${seq}. `.repeat(20) }]),
  );
  const { messages, omitted, tokenCount } = render(viewOf({ window }), 1_000);
  const [digest, pointer] = messages[0]!.parts as { text: string }[];
  expect(digest!.text).toMatch(/^<memory session="s1">.*<m id="\d+" by="user">(Line \d+\. )+<\/m>\n<\/memory>$/s);
  const { messageCount, seqLast } = omitted[0]!;
  expect(pointer!.text).toBe(
    `<pointer handle="span:0@${seqLast}" messages="${messageCount}" seq="0-${seqLast}">Left out: expand(handle) reads them.</pointer>`,
  );
  expect(messageCount).toBe(seqLast + 1 - digest!.text.match(/<m /g)!.length);
  expect(tokenCount).toBeGreaterThan(900);
});

test("names hidden messages from the first place to the last when another's result stands among a step's own", () => {
  const window = [
    messageOf(0, "assistant", [call("a", "run")]),
    messageOf(1, "tool", [result("of nobody", "done")]),
    messageOf(2, "tool", [result("a", "done")], 0),
    textMessage(3, "user", 950),
  ];
  const { omitted } = render(viewOf({ window }), 1_000 + OPENING_TOKENS);
  expect(omitted).toMatchObject([{ kind: "range", seqFirst: 0, seqLast: 2, messageCount: 3 }]);
});

test("shows the window whole if its share leaves room for that", () => {
  // The memory message gets 88 % of 1,000.
  const window = [textMessage(30, "user", 60), textMessage(31, "assistant", 56)];
  const view = viewOf({ window, evictedSeq: 30, themes: cold });
  expect(render(view, 1_000).sources.filter(({ how }) => how === "verbatim")).toHaveLength(2);
});

test("names everything cold in one line when the themes' lines have no room", () => {
  const view = viewOf({ window: [textMessage(30, "user", 50)], evictedSeq: 30, themes: cold });
  const { messages, omitted } = render(view, 120);
  expect(messages[0]!.parts).toMatchObject([{ text: expect.stringContaining('messages="30" seq="0-29">Left out: ') }]);
  expect(omitted).toEqual([{ kind: "range", messageIndex: 0, seqFirst: 0, seqLast: 29, messageCount: 30 }]);
});

test("leaves hidden messages that a shown summary covers to the summary", () => {
  const window = Array.from({ length: 30 }, (_, index) => textMessage(20 + index, "user", 50));
  const view = viewOf({
    window,
    evictedSeq: 20,
    overlap: new Map([
      [20, { theme: 0, summary: 0 }],
      [21, { theme: 0, summary: undefined }],
    ]),
    themes: [themeOf(0, 22, { summaries: [summaryOf(0, 11)], uncoveredCount: 10 })],
  });
  const { sources, omitted } = render(view, 1_200);
  const isShown = (seq: number) => sources.some((source) => "messageId" in source && source.seqFirst === seq);
  expect(sources.at(-1)).toMatchObject({ how: "summary", messageCount: isShown(20) ? 10 : 11 });
  expect(omitted.at(-1)).toMatchObject({ kind: "theme", messageCount: 10 });
});

describe("a newest step that is too large", () => {
  const question = textMessage(30, "user", 20);
  const asks = messageOf(31, "assistant", [call("c1", "run", { command: "npm test" })]);
  const output = (tokens: number): Message => messageOf(32, "tool", [result("c1", "line\n".repeat(tokens))], 31);

  test("is shortened in a small context, because what came before says more", () => {
    const summaries = [summaryOf(0, 20, "word ".repeat(240))];
    const themes = [themeOf(0, 30, { tokenCount: 3_000, summaries })];
    const answer = output(500); // 647 tokens
    const view = viewOf({ window: [question, asks, answer], evictedSeq: 30, themes });
    expect(render(viewOf({ ...view, window: [question] }), 3_000).sources.at(-1)!.how).toBe("summary");
    const { messages, sources } = render(view, 1_000);
    expect(sources.map(({ how }) => how)).toContain("summary");
    expect(messages.at(-1)!.parts).not.toBe(answer.parts);
    expect(render(view, 9_000).messages.at(-1)!.parts).toBe(answer.parts);
  });

  test("is shortened when it does not fit beside one pointer line, and leaves room for what came before", () => {
    const view = viewOf({ window: [question, asks, output(5_000)], evictedSeq: 30, themes: cold });
    const { messages, sources, tokenCount } = render(view, 1_000);
    expect(messages.map(({ role }) => role)).toEqual(["user", "user", "assistant", "tool"]);
    expect(messages[2]!.parts).toBe(asks.parts);
    const [part] = messages[3]!.parts as unknown as [{ content: string }];
    expect(part.content).toMatch(
      /^(line\n)+\[… \d+ more like these …\]\n(line\n)+\n\[shortened from 25,000 characters, expand message 32\]$/,
    );
    expect(sources.find((source) => "messageId" in source && source.messageId === 32)!.how).toBe("shortened");
    expect(tokenCount).toBeLessThanOrEqual(1_000);
  });

  test("looks the same once it is no longer the newest", () => {
    const view = viewOf({ window: [question, asks, output(5_000)], evictedSeq: 30, themes: cold });
    const later = viewOf({ ...view, window: [...view.window, textMessage(33, "assistant", 30)] });
    const before = JSON.stringify(render(view, 1_000).messages);
    expect(JSON.stringify(render(later, 1_000).messages).startsWith(before.slice(0, -1))).toBe(true);
  });

  test("is never a shortened question", () => {
    const view = viewOf({ window: [textMessage(30, "user", 2_000)], evictedSeq: 30, themes: cold });
    // The question, and a pointer line of up to 144 characters in a message.
    expect(tokensNeeded(view, 1_000)).toMatchObject({
      code: "BUDGET_TOO_SMALL",
      details: { tokensMax: 1_000, tokensNeeded: 2_000 + 4 + 36 },
    });
    expect(render(view, 2_040).messages).toHaveLength(2);
  });

  test("leaves out its reasoning rather than not to fit", () => {
    const thinks = messageOf(31, "assistant", [
      { type: "reasoning", text: "so many words ".repeat(500) },
      { type: "text", text: "The lock is stale." },
    ]);
    const view = viewOf({ window: [question, thinks], evictedSeq: 30, themes: cold });
    expect(render(view, 1_000).messages.at(-1)!.parts).toEqual([thinks.parts[1]]);
    expect(render(view, 20_000).messages.at(-1)!.parts).toBe(thinks.parts);
  });
});

describe("the budget that is asked for", () => {
  test("has no pointer line in it when there is nothing to point at", () => {
    expect(tokensNeeded(viewOf({ window: [textMessage(0, "user", 50)] }), 49)).toMatchObject({
      details: { tokensNeeded: 50 },
    });
  });

  test("shows a few short messages rather than a longer line that stands for them", () => {
    const view = viewOf({ window: [textMessage(0, "user", 10), textMessage(1, "assistant", 10)] });
    expect(tokensNeeded(view, 19)).toMatchObject({ details: { tokensNeeded: 20 } });
    expect(render(view, 20).messages).toHaveLength(2);
  });

  test("is that of the whole step where its shortened form would cost more", () => {
    const cheap = { ...textMessage(0, "assistant", 100), tokenCount: 10 }; // by another counter
    const view = viewOf({ window: [cheap] });
    expect(tokensNeeded(view, 9 + OPENING_TOKENS)).toMatchObject({ details: { tokensNeeded: 10 + OPENING_TOKENS } });
    expect(render(view, 10 + OPENING_TOKENS).sources).toMatchObject([{ how: "verbatim" }]);
  });
});

test("shows a large step that is open as it will be when nobody has answered it", () => {
  const asks = messageOf(0, "assistant", [call("c1", "run", { script: "line\n".repeat(400) })]);
  const open = viewOf({ window: [asks] });
  const closed = viewOf({ window: [asks, textMessage(1, "user", 10)] });
  // The call fits, but not with a result of 15 tokens that says it was interrupted.
  const tokensMax = OPENING_TOKENS + asks.tokenCount + 10;
  const before = JSON.stringify(render(open, tokensMax).messages);
  expect(render(open, tokensMax).sources).toMatchObject([{ how: "shortened" }]);
  expect(JSON.stringify(render(closed, tokensMax).messages).startsWith(before.slice(0, -1))).toBe(true);
});

describe("a call without an answer", () => {
  const user = textMessage(0, "user", 10);
  const asks = messageOf(1, "assistant", [call("call_0", "run")]);
  const next = textMessage(2, "user", 10);

  test.each<[string, Partial<RenderView>, Message["role"][]]>([
    ["waits for it at the end of the session", { window: [user, asks] }, ["user", "assistant"]],
    ["was interrupted when something follows", { window: [user, asks, next] }, ["user", "assistant", "tool", "user"]],
    [
      "was interrupted when something pinned follows",
      { window: [user, asks], pinned: [{ ...next, pinned: true }] },
      ["user", "user", "assistant", "tool"],
    ],
    [
      "still waits when only a system message follows",
      { window: [user, asks], pinned: [textMessage(2, "system", 10)] },
      ["system", "user", "assistant"],
    ],
  ])("%s", (_, fields, roles) => {
    expect(render(viewOf(fields), 1_000).messages.map(({ role }) => role)).toEqual(roles);
  });
});
