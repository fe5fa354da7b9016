import { expect, test } from "vitest";
import { aider } from "../../../src/importers/aider.ts";
import { collect, eventsOf, eventsSoFar, fileOf, messagesIn, sessionsIn, warningsIn } from "./read.ts";

const START = "\n# aider chat started at 2026-03-05 09:00:00\n\n";
const OUTPUT = "> Main model: sonnet with diff edit format  \n";

const said = async (history: string) =>
  messagesIn(await eventsOf(aider, `${START}${history}`)).map(({ role, parts }) => [
    role,
    ...parts!.map(({ text, injected }) => (injected === true ? `[${text}]` : text)),
  ]);

test("a chat is a session, named after its start and its folder", async () => {
  const history = `${START}#### hi  \n\nyes\n${START}#### hi  \n`;
  const at = async (path: string) => collect(aider.read(fileOf(history, 9, path)));
  const sessions = sessionsIn(await at("/srv/tidewatch/.aider.chat.history.md"));
  const createdAtMs = new Date(2026, 2, 5, 9).getTime();
  const about = { source: "aider", folder: "/srv/tidewatch", metadata: { cwd: "/srv/tidewatch" }, createdAtMs };
  const [first] = sessions;
  expect(sessions).toEqual([
    { ...about, externalId: expect.stringMatching(/^2026-03-05T09:00:00-[0-9a-f]{8}$/) },
    { ...about, externalId: `${first!.externalId}#2` },
  ]);
  const [elsewhere] = sessionsIn(await at("/srv/other/.aider.chat.history.md"));
  expect(elsewhere?.externalId).not.toBe(first?.externalId);
  expect(messagesIn(await at("/a/.aider.chat.history.md"))[0]?.createdAt).toBe(createdAtMs);
});

test("a heading or a quote of an answer belongs to it, unless an editor took the spaces that end Aider's lines", async () => {
  const history = `${OUTPUT}\n#### one  \n#### two  \n\nanswer\n\n#### heading\n> quote\n\n> Tokens: 1  \n`;
  const model = "[Main model: sonnet with diff edit format]";
  expect(await said(history)).toEqual([
    ["user", model],
    ["user", "one\ntwo"],
    ["assistant", "answer\n\n#### heading\n> quote"],
    ["user", "[Tokens: 1]"],
  ]);
  expect(await said(history.replaceAll("  \n", "\n"))).toEqual([
    ["user", model],
    ["user", "one\ntwo"],
    ["assistant", "answer"],
    ["user", "heading"],
    ["user", "[quote]"],
    ["user", "[Tokens: 1]"],
  ]);
});

test.each(["  \n", "\n"])("what a block of code quotes of a history belongs to the answer (%j)", async (end) => {
  const code = `${START}#### not a prompt\n> not an output\n`;
  for (const [open, close] of [
    ["```md", "```"],
    ["  ~~~~", "~~~~~ "],
    ["````", "````"],
  ]) {
    const answer = `A history:\n\n${open}\n${code}${open === "````" ? "```\n" : ""}${close}\n\nSeen?`;
    expect(await said(`#### show me${end}\n${answer}\n\n#### thanks${end}`)).toEqual([
      ["user", "show me"],
      ["assistant", answer],
      ["user", "thanks"],
    ]);
  }
});

test.each(["  \n", "\n"])(
  "a block of code that the user stopped ends before the next prompt or chat (%j)",
  async (end) => {
    const stopped = `#### show me${end}\n\`\`\`py\nwhile True:\n\n`;
    const answered = `#### again${end}\n\`\`\`py\npass\n\`\`\`\n`;
    const expected = [
      ["user", "show me"],
      ["assistant", "```py\nwhile True:"],
      ["user", "again"],
      ["assistant", "```py\npass\n```"],
    ];
    expect(await said(stopped + answered)).toEqual(expected);
    expect(await said(stopped + START + answered)).toEqual(expected);
    expect(sessionsIn(await eventsOf(aider, START + stopped + START + answered))).toHaveLength(2);
    expect((await said(`${stopped}#### again${end}`)).at(-1)).toEqual(["user", "again"]);
  },
);

test("commands that steer the program are marked, and answers name their model", async () => {
  expect(await said(`${OUTPUT}\n#### /add a.py  \n\n#### /ask why?  \n\nbecause\n`)).toEqual([
    ["user", "[Main model: sonnet with diff edit format]"],
    ["user", "[/add a.py]"],
    ["user", "/ask why?"],
    ["assistant", "because"],
  ]);
  const events = await eventsOf(aider, `${START}${OUTPUT}\n#### hi  \n\nyes\n`);
  expect(messagesIn(events).at(-1)?.metadata).toEqual({ model: "sonnet" });
});

test("the end of a file that grows waits", async () => {
  const soFar = async (history: string) => eventsSoFar(aider, Buffer.from(`${START}${history}`));
  const events = await soFar("#### one  \n#### tw");
  expect(messagesIn(events)).toEqual([]);
  expect(warningsIn(events)).toEqual([[4, "not imported yet, because the file may still grow: Aider may be writing"]]);
  expect(messagesIn(await soFar("#### one  \n\nyes\n")).map(({ id }) => id)).toEqual(["0"]);
});

test("what comes before the first start is a warning, and so is what is no text", async () => {
  const bytes = Buffer.concat([
    Buffer.from(`lost\n${START}#### hi  \n`),
    Buffer.from([0xff, 0x0a]),
    Buffer.from("yes\n"),
  ]);
  const events = await eventsOf(aider, bytes);
  expect(warningsIn(events)).toEqual([
    [1, "expected a line that starts a chat"],
    [6, "not valid UTF-8"],
  ]);
  expect(messagesIn(events)).toHaveLength(2);
});
