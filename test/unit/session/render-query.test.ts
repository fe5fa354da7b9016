import { expect, test } from "vitest";
import { estimatingTokenCounter } from "../../../src/core/tokens.ts";
import type { RenderResult, Session, Summarizer } from "../../../src/index.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

function textsOf({ messages }: RenderResult): string {
  return messages.flatMap(({ parts }) => parts.map((part) => String(part.text))).join("\n");
}

/** Talk about nothing, of some 30 tokens a message, each with words of its own. */
function fill(session: Session, count: number): void {
  for (let index = 0; index < count; index++) {
    const name = Array.from(String(index).padStart(4, "0"), (digit) => "abcdefghij"[Number(digit)]).join("");
    const words = ["shore", "boat", "net", "sail", "tide", "rope", "gull", "crab"].map((word) => name + word);
    session.append({ role: index % 2 === 0 ? "user" : "assistant", content: `We saw ${words.join(", ")}.` });
  }
}

test("brings back, word for word, what has left the context of a long session", () => {
  const session = temporaryStore().session("s");
  fill(session, 2); // the first thing that was asked is told in every context
  session.append({ role: "assistant", content: `\`\`\`\nThe deploy region is Oslo <north>${".".repeat(80)}\n\`\`\`` });
  fill(session, 200);
  session.compact();
  const plain = session.render({ tokensMax: 1_000 });
  expect(textsOf(plain)).not.toContain("is Oslo &lt;north&gt;.");
  expect(plain.recalled).toEqual([]);
  expect(plain.stablePrefixTokens).toBe(plain.tokenCount);

  const context = session.render({ tokensMax: 1_000, query: "Which deploy region?" });
  expect(textsOf(context)).toContain("The deploy region is Oslo &lt;north&gt;.");
  expect(context.tokenCount).toBeLessThanOrEqual(1_000);
  const first = context.recalled.find(({ seq }) => seq === 2);
  expect(first).toMatchObject({ sessionId: "s", how: "verbatim", messageIndex: context.messages.length - 2 });
  expect(context.sources).toContainEqual({
    how: "verbatim",
    messageId: first!.messageId,
    messageIndex: first!.messageIndex,
    seqFirst: 2,
    seqLast: 2,
    messageCount: 1,
  });
  const claimed = [...context.sources, ...context.omitted].reduce((sum, { messageCount }) => sum + messageCount, 0);
  expect(claimed).toBe(203);
  expect(session.render({ tokensMax: 1_000 })).toEqual(plain);
});

test("claims what a summary covers once, as shown", async () => {
  const session = temporaryStore({ summarizer: scriptedSummarizer("good") }).session("s", { resolveTokensMin: 50 });
  session.append({ role: "user", content: `The deploy region is Oslo${".".repeat(80)}` });
  fill(session, 200);
  session.compact();
  await session.resolveDirty();
  session.compact();
  const context = session.render({ tokensMax: 4_000, query: "Which deploy region?" });
  expect(context.sources.some(({ how }) => how === "summary")).toBe(true);
  expect(context.recalled.map(({ seq }) => seq)).toContain(0);
  const claimed = [...context.sources, ...context.omitted].reduce((sum, { messageCount }) => sum + messageCount, 0);
  expect(claimed).toBe(201);
});

test("brings back what a model said of the messages that answer, and accounts for it", async () => {
  const summarizer: Summarizer = {
    id: "dating",
    promptVersion: 1,
    citesSources: true,
    async summarize({ sources }) {
      const lines = sources.map(({ seq, text }) =>
        text.includes("office") ? `7 May 2023: the office moved to Lyon. [${seq}]` : `They saw boats. [${seq}]`,
      );
      return { title: "t", text: [...new Set(lines)].join("\n") };
    },
  };
  const session = temporaryStore({ summarizer }).session("s", { resolveTokensMin: 50 });
  session.append({ role: "user", content: "Yesterday we moved the office to Lyon." });
  fill(session, 120);
  session.compact();
  await session.resolveDirty();
  session.compact();
  const context = session.render({ tokensMax: 500, query: "When did we move the office?" });
  expect(textsOf(context)).toContain("<notes>\n7 May 2023: the office moved to Lyon. [0]");
  expect(context.tokenCount).toBeLessThanOrEqual(500);
  const { messageIndex } = context.recalled.find(({ seq }) => seq === 0)!;
  expect(context.sources).toContainEqual(expect.objectContaining({ how: "summary", messageIndex }));
  const claimed = [...context.sources, ...context.omitted].reduce((sum, { messageCount }) => sum + messageCount, 0);
  expect(claimed).toBe(121);
  expect(
    textsOf(session.render({ tokensMax: 6_000, query: "office" })).match(/the office moved to Lyon/g),
  ).toHaveLength(1);
});

test("leaves a session that fits as it is", () => {
  const session = temporaryStore().session("s");
  session.append({ role: "user", content: "The deploy region is Oslo." });
  fill(session, 10);
  const { messages } = session.render();
  expect(session.render({ query: "Which deploy region?" }).messages).toEqual(messages);
});

test("looks into the other sessions of the project, and no further", () => {
  const store = temporaryStore();
  store.session("old", { project: "web" }).append({ role: "user", content: "The deploy region is Oslo." });
  store.session("other", { project: "api" }).append({ role: "user", content: "The deploy region is Rome." });
  const session = store.session("new", { project: "web" });
  const question = session.append({ role: "user", content: "Which deploy region?" });
  const context = session.render({ tokensMax: 500, query: "Which deploy region?", scope: "project" });
  expect(context.messages).toHaveLength(2);
  expect(textsOf(context)).toContain("Oslo");
  expect(textsOf(context)).not.toContain("Rome");
  expect(context.messages[1]!.parts).toEqual([{ type: "text", text: "Which deploy region?" }]);
  expect(context.recalled).toEqual([{ messageId: 1, sessionId: "old", seq: 0, messageIndex: 0, how: "verbatim" }]);
  expect(context.sources.map((source) => ("messageId" in source ? source.messageId : 0))).toEqual([question.messageId]);
  expect(context.stablePrefixTokens).toBe(0);
});

test("finds a message as soon as another session has it", () => {
  const store = temporaryStore();
  const session = store.session("new", { project: "web" });
  const ask = () => session.render({ tokensMax: 500, query: "Which deploy region?", scope: "project" });
  expect(ask().messages).toEqual([]);
  store.session("old", { project: "web" }).append({ role: "user", content: "The deploy region is Oslo." });
  expect(textsOf(ask())).toContain("Oslo");
});

test("shows what stands beside a hit, though it shares no word with the query", () => {
  const store = temporaryStore();
  const old = store.session("old", { project: "web" });
  old.append({ role: "user", content: "Which region shall we deploy to?" });
  old.append({ role: "assistant", content: "Oslo." });
  const context = store
    .session("new", { project: "web" })
    .render({ tokensMax: 500, query: "deploy region", scope: "project" });
  expect(context.recalled.map(({ seq }) => seq)).toEqual([0, 1]);
});

test("takes a text with its vector, and refuses what is no query", () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append({ role: "user", content: "The deploy region is Oslo." });
  expect(session.render({ query: { text: "region" } }).messages).toHaveLength(1);
  const refusal = (options: object): unknown => {
    try {
      return session.render(options);
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  expect(refusal({ query: "" })).toBe("QUERY_EMPTY");
  expect(refusal({ query: 7 })).toBe("OPTION_INVALID");
  expect(refusal({ query: "region", scope: "world" })).toBe("OPTION_INVALID");
  expect(refusal({ query: "region", scope: "project" })).toBe("OPTION_INVALID");
  expect(() => session.render({ query: "region", scope: "project" })).toThrow(
    'Expected scope to be "session", because this session has no project; store.session(id, { project }) sets it, got "project".',
  );
});

test("works on a store that is open for reading", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  store.session("old", { project: "web" }).append({ role: "user", content: "The deploy region is Oslo." });
  store.session("new", { project: "web" });
  store.close();
  const context = openedStore(path, { readonly: true })
    .resume("new")
    .render({ tokensMax: 500, query: "region", scope: "project" });
  expect(textsOf(context)).toContain("Oslo");
});

test("does not answer a question with the question, appended or asked before", () => {
  const store = temporaryStore();
  const question = "Which deploy region did we pick for the web shop?";
  store.session("asked before", { project: "web" }).append({ role: "user", content: question });
  store.session("old", { project: "web" }).append({ role: "user", content: "The deploy region is Oslo." });
  const session = store.session("new", { project: "web" });
  session.append({ role: "user", content: question });
  const { recalled } = session.render({ tokensMax: 1_000, query: question, scope: "project" });
  expect(recalled.map(({ sessionId }) => sessionId)).toEqual(["old"]);
});

test("takes quotes in what somebody said for what they are", () => {
  const store = temporaryStore();
  store.session("old", { project: "web" }).append({ role: "user", content: "The deploy region is Oslo." });
  const session = store.session("new", { project: "web" });
  const { recalled } = session.render({ query: 'Why did Ann say "our deploy region"?', scope: "project" });
  expect(recalled.map(({ seq }) => seq)).toEqual([0]);
});

test("prefers what is said to what is asked", () => {
  const store = temporaryStore();
  const old = store.session("old", { project: "web" });
  // The question is the shorter one, and would be the better hit.
  old.append({ role: "user", content: "That deploy region is Oslo, says Ann from finance." });
  old.append({ role: "user", content: "Which deploy region, asks Bob at noon?" });
  const context = store
    .session("new", { project: "web" })
    .render({ tokensMax: 75, query: "deploy region", scope: "project" });
  expect(context.recalled.map(({ seq }) => seq)).toEqual([0]);
});

test("gives a prompt cache the same bytes whatever is asked", () => {
  const session = temporaryStore().session("s");
  session.append({ role: "user", content: `The deploy region is Oslo${".".repeat(80)}` });
  fill(session, 400);
  const [one, other] = ["deploy region", "aaabshore, aaabboat"].map((query) =>
    session.render({ tokensMax: 6_000, query }),
  );
  const stable = one!.recalled[0]!.messageIndex;
  expect(stable).toBeGreaterThan(1);
  expect(other!.recalled[0]!.messageIndex).toBe(stable);
  expect(other!.messages.slice(0, stable)).toEqual(one!.messages.slice(0, stable));
  expect(other!.messages[stable]).not.toEqual(one!.messages[stable]);
  expect(other!.stablePrefixTokens).toBe(one!.stablePrefixTokens);
  const { tokenCount, stablePrefixTokens, messages } = one!;
  // What follows is the evidence and the newest message: 4 tokens each for being one, and their texts.
  const after = messages.slice(stable).map(({ parts }) => 4 + estimatingTokenCounter.count(String(parts[0]!.text)));
  expect(tokenCount - stablePrefixTokens).toBe(after.reduce((sum, count) => sum + count, 0));
});

test("gives each caller a context of its own", () => {
  const session = temporaryStore().session("s");
  fill(session, 200);
  session.compact();
  const args = JSON.parse('{"nested":[{"__proto__":{"deep":1}}]}');
  session.append({ role: "assistant", parts: [{ type: "tool_call", toolCallId: "c", name: "look", args }] });
  for (const options of [{ tokensMax: 2_000 }, { tokensMax: 2_000, query: "boat" }]) {
    const context = session.render(options);
    const before = JSON.stringify(context);
    spoil(context);
    expect(JSON.stringify(session.render(options))).toBe(before);
  }
  expect(session.messages({ last: 1 })[0]?.parts).toEqual([{ type: "tool_call", toolCallId: "c", name: "look", args }]);
});

/** Changes every value in an object. */
function spoil(value: object): void {
  for (const [key, item] of Object.entries(value)) {
    if (typeof item === "object" && item !== null) spoil(item);
    (value as Record<string, unknown>)[key] = "spoiled";
  }
}
