import { expect, onTestFinished, test, vi } from "vitest";
import { ChatLoop } from "../../../src/cli/chat/chat-loop.ts";
import { OpenedStores } from "../../../src/cli/stores/opened-stores.ts";
import { chatAt, linesOf } from "../../support/chat.ts";
import { ChatTerminal } from "../../support/chat-terminal.ts";
import { failure, type GeminiServer, geminiServer, type Reply, retryIn } from "../../support/gemini-server.ts";
import { calling, streamed, words } from "../../support/gemini-stream.ts";
import { temporaryPath } from "../../support/temporary-store.ts";

interface Talk extends ChatTerminal {
  server: GeminiServer;
  ended: ReturnType<ChatLoop["run"]>;
  lines: () => string[];
}

/** Starts a chat over a new store. */
async function begin(
  replies: Reply[],
  options: { isTTY?: boolean; json?: boolean; said?: string[]; isNew?: boolean } = {},
): Promise<Talk> {
  const { isTTY = true, json = false, said = [], isNew = false } = options;
  const server = await geminiServer(...replies);
  const stores = new OpenedStores(temporaryPath());
  const store = stores.openToWrite();
  const session = store.session("s");
  for (const content of said) session.append({ role: "user", content });
  const screen = new ChatTerminal({ isTTY });
  const chat = chatAt(server, store, session, { timeoutMs: 10_000 });
  const ended = new ChatLoop({
    chat: isNew ? undefined : chat,
    begin: () => chat,
    input: screen.input,
    terminal: screen.terminal,
    stores,
    json,
  }).run();
  onTestFinished(async () => {
    screen.signals.emit("SIGTERM"); // a test that has failed may have left it in mid-reply
    await ended;
    screen.input.close();
    await chat.stop();
    stores.close();
  });
  return Object.assign(screen, { server, ended, lines: () => linesOf(session.messages()) });
}

/** A gate that a reply waits for, and the function that opens it. */
function gate(): [Promise<void>, () => void] {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return [opened, open];
}

test("a terminal shows a reply as it arrives, and how full the context is", async () => {
  const [seen, goOn] = gate();
  const talk = await begin([{ pieces: [words("The key "), { until: seen }, ...streamed("had expired.").pieces] }]);
  talk.type("Why did the deploy fail?");
  await expect.poll(() => talk.shown).toBe("The key ");
  goOn();
  await expect.poll(() => talk.noted).toMatch(/^0 % of 16,000 tokens · 11 in, 7 out · under \$0\.0001\n$/);
  expect(talk.shown).toBe("The key had expired.\n");
  talk.press("Ctrl-D");
  expect(await talk.ended).toMatchObject({ failure: undefined, turns: [{ reply: "The key had expired." }] });
  expect(talk.signals.listenerCount("SIGINT")).toBe(1);
  talk.input.close();
  expect(talk.signals.listenerCount("SIGINT")).toBe(0); // the next one has its usual effect
});

test("Ctrl-C ends a reply and keeps what arrived; at the prompt it ends the chat", async () => {
  const talk = await begin([{ pieces: [words("half"), "hang"] }, streamed("Whole.")]);
  talk.type("Go.");
  await expect.poll(() => talk.shown).toBe("half");
  talk.press("Ctrl-C");
  await expect.poll(() => talk.noted).toBe("The reply was interrupted.\nThe part that arrived is stored.\n");
  talk.type("Again.");
  await expect.poll(() => talk.shown).toBe("half\nWhole.\n");
  await expect.poll(() => talk.noted).toContain("tokens");
  talk.press("Ctrl-C");
  expect(await talk.ended).toMatchObject({
    failure: undefined,
    turns: [{ interrupted: "aborted" }, { interrupted: null }],
  });
  expect(talk.lines()).toEqual(["user: Go.", "assistant: half", "user: Again.", "assistant: Whole."]);
});

test("a failure is shown with its hint, and an empty line tries again", async () => {
  const talk = await begin([failure(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", retryIn("7s")), streamed("Here.")]);
  talk.type("Go.");
  await expect
    .poll(() => talk.noted)
    .toBe(
      "gemini-3.1-flash-lite did not answer (429): Quota exceeded.\nTry again in 7 seconds.\nAn empty line tries again.\n",
    );
  talk.type("");
  await expect.poll(() => talk.shown).toBe("Here.\n");
  talk.type("", "/quit");
  await talk.ended;
  expect(talk.server.requests).toHaveLength(2);
  expect(talk.lines()).toEqual(["user: Go.", "assistant: Here."]);
});

test("continues where the session stopped", async () => {
  const talk = await begin([streamed("Here.")], { said: ["Are you there?"] });
  await expect.poll(() => talk.shown).toBe("Here.\n");
  talk.press("Ctrl-D");
  expect((await talk.ended).turns).toMatchObject([{ said: null, reply: "Here." }]);
});

test("control characters in a reply are made visible", async () => {
  const talk = await begin([streamed("a\x1b]0;title\x07b\r\nc\x9b2Jd\r", "e")]);
  talk.type("Go.", "/quit");
  await talk.ended;
  expect(talk.shown).toBe("a␛]0;title␇b\nc\ufffd2Jd␍e\n");
});

test("tool calls are shown on stderr, and results that are errors", async () => {
  const talk = await begin([calling("expand", { target: "x\x1b[2J" }), streamed("No such thing.")]);
  talk.type("Go.", "/quit");
  await talk.ended;
  expect(talk.shown).toBe("No such thing.\n");
  expect(talk.noted).toMatch(/^→ expand \{"target":"x\\u001b\[2J"\}\n← "x␛\[2J" is not a handle: /);
});

test("slash commands work like those of the command line", async () => {
  const talk = await begin([streamed("Noted.")]);
  talk.type("The lamp is green.", "/recall lamp", "/expand 1", "/clusters", "/sessions", "/help", "/quit");
  await talk.ended;
  expect(talk.shown).toContain("The **lamp** is green.".replaceAll("**", ""));
  expect(talk.shown).toMatch(/user {2}message:1 · /);
  expect(talk.shown).toContain("s · 2 messages");
  expect(talk.shown).toMatch(/Session +Project/);
  expect(talk.shown).toMatch(/\/recall <query\.\.\.> +find messages/);
  expect(talk.server.requests).toHaveLength(1);
});

test("a new session without messages draws no forest and asks nothing again", async () => {
  const talk = await begin([streamed("Yes.")], { isNew: true });
  talk.type("/clusters", "", "Go.", "/clusters", "/quit");
  await talk.ended;
  expect(talk.shown).toMatch(/^Nothing has been said yet\.\nYes\.\nGo\.\ns · 2 messages/);
});

test.each([
  ["/recal lamp", "Unknown command 'recal'.\nDid you mean recall?\n"],
  ["/frobnicate", "Unknown command 'frobnicate'.\n/help lists the commands.\n"],
  ["/expand", "Missing required argument 'target'.\n/help lists the commands.\n"],
  ["/expand nothing", '"nothing" is not a handle'],
])("%s says what to type instead, and nothing is sent", async (line, message) => {
  const talk = await begin([streamed("No.")]);
  talk.type(line, "/quit");
  await talk.ended;
  expect(talk.noted).toContain(message);
  expect(talk.server.requests).toHaveLength(0);
});

test("a blank before a slash makes the line a message", async () => {
  const talk = await begin([streamed("A path.")]);
  talk.type(" /etc/passwd is a path", "/quit");
  await talk.ended;
  expect(talk.lines()[0]).toBe("user:  /etc/passwd is a path");
});

test("pasted text is one message, together with what is typed around it", async () => {
  const talk = await begin([streamed("I see.")]);
  talk.stdin.write("Read: \x1b[200~/etc/hosts:\r\tone\r\rtwo\r\x1b[201~ and that\r");
  talk.stdin.write("\x1b[200~/etc\rpasted\r\x1b[201~\r");
  await expect.poll(() => talk.shown).toBe("I see.\nI see.\n");
  talk.press("Ctrl-D");
  await talk.ended;
  expect(talk.lines()).toEqual([
    "user: Read: /etc/hosts:\n\tone\n\ntwo\n and that",
    "assistant: I see.",
    "user: /etc\npasted",
    "assistant: I see.",
  ]);
});

test("the terminal marks pastes only while the chat reads", () => {
  vi.stubEnv("TERM", "xterm");
  const talk = new ChatTerminal({ isTTY: true });
  expect(talk.echoed).toContain("\x1b[?2004h");
  talk.input.close();
  expect(talk.echoed).toContain("\x1b[?2004l");
  vi.stubEnv("TERM", "dumb");
  expect(new ChatTerminal({ isTTY: true }).echoed).toBe("");
  vi.unstubAllEnvs();
});

test("in a pipe each line is a turn, and only replies are printed", async () => {
  const talk = await begin([streamed("One."), streamed("Two.")], { isTTY: false });
  talk.type("first", "", "second");
  talk.stdin.end();
  expect((await talk.ended).failure).toBeUndefined();
  expect([talk.shown, talk.noted]).toEqual(["One.\nTwo.\n", ""]);
  expect(talk.lines()).toEqual(["user: first", "assistant: One.", "user: second", "assistant: Two."]);
});

test("in a pipe the first failure ends the chat", async () => {
  const talk = await begin([streamed("One."), { status: 503, body: {} }, streamed("Three.")], { isTTY: false });
  talk.type("first", "second", "third");
  talk.stdin.end();
  expect((await talk.ended).failure).toMatchObject({ code: "MODEL_UNAVAILABLE", exitCode: 1 });
  expect(talk.lines()).toEqual(["user: first", "assistant: One.", "user: second"]);
});

test("in a pipe, a message of an earlier run that is refused does not keep the lines from being said", async () => {
  const blocked = { status: 200, body: { promptFeedback: { blockReason: "OTHER" } } };
  const talk = await begin([blocked, streamed("Two.")], { isTTY: false, said: ["first"] });
  talk.type("second");
  talk.stdin.end();
  const { turns, failure } = await talk.ended;
  expect(failure).toBeUndefined();
  expect(turns).toMatchObject([{ said: null, interrupted: "MODEL_REFUSED" }, { said: "second" }]);
  expect(talk.noted).toMatch(/gemini-3.1-flash-lite refused the request: the prompt is blocked \(OTHER\)\.\n/);
  expect(talk.lines()).toEqual(["user: first", "user: second", "assistant: Two."]);
});

test.each([
  ["the service is away", { status: 503, body: {} }],
  ["the key is refused", failure(401, "UNAUTHENTICATED", "No credentials.")],
])("through a pipe nothing is said where %s already for what was left", async (_, reply) => {
  const talk = await begin([reply, streamed("Two.")], { isTTY: false, said: ["first"] });
  talk.type("second");
  talk.stdin.end();
  expect((await talk.ended).failure).toMatchObject({ exitCode: 1 });
  expect(talk.lines()).toEqual(["user: first"]);
});

test("if nobody reads any more, the reply is stored whole and no other is requested", async () => {
  const [seen, goOn] = gate();
  const talk = await begin([{ pieces: [words("half "), { until: seen }, ...streamed("whole.").pieces] }], {
    isTTY: false,
  });
  talk.type("first", "second");
  await expect.poll(() => talk.shown).toBe("half ");
  talk.terminal.readerGone();
  goOn();
  expect((await talk.ended).failure).toBeUndefined();
  expect(talk.lines()).toEqual(["user: first", "assistant: half whole."]);
});

test("with --json each turn is reported and nothing else is printed", async () => {
  const talk = await begin([calling("recall", { query: "lamp" }), streamed("No lamp."), streamed("A slash.")], {
    isTTY: false,
    json: true,
  });
  talk.type("lamp?", "/quit");
  talk.stdin.end();
  expect((await talk.ended).turns).toEqual([
    {
      said: "lamp?",
      reply: "No lamp.",
      calls: [{ name: "recall", args: { query: "lamp" }, isError: false }],
      usage: { inputTokens: 22, outputTokens: 14, costUsd: 0.0000265 },
      interrupted: null,
    },
    {
      said: "/quit",
      reply: "A slash.",
      calls: [],
      usage: { inputTokens: 11, outputTokens: 7, costUsd: 0.00001325 },
      interrupted: null,
    },
  ]);
  expect([talk.shown, talk.noted]).toEqual(["", ""]);
});
