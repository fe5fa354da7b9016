import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Message, Session } from "../../../src/index.ts";
import { TOOL_ROUNDS_MAX } from "../../../src/session/chat.ts";
import { expectAtOnce } from "../../support/at-once.ts";
import { breachesOf, chatAt, eventsOf, linesOf, replyOf } from "../../support/chat.ts";
import { geminiServer, type Reply } from "../../support/gemini-server.ts";
import { calling, ending, piece, streamed, words } from "../../support/gemini-stream.ts";
import { assistant, calls, results, talk, user } from "../../support/said.ts";
import { away, hang, scriptedEmbedder } from "../../support/scripted-embedder.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const never = new AbortController().signal;

const newest = (session: Session): Message => session.newest()!;

/** A chat over a new session, with a service that replies so. */
async function conversation(...replies: Reply[]) {
  const server = await geminiServer(...replies);
  const store = temporaryStore();
  const session = store.session("s");
  return { server, store, session, chat: chatAt(server, store, session) };
}

test("a turn is stored as it was said, with the model and what it cost", async () => {
  const { store, session, chat } = await conversation(streamed("The key ", "had expired."));
  expect(chat.isWaiting).toBe(false);
  expect(await eventsOf(chat.say("Why did the deploy fail?", never))).toEqual([
    { kind: "text", text: "The key " },
    { kind: "text", text: "had expired." },
    { kind: "done", usage: { inputTokens: 11, outputTokens: 7, costUsd: 0.00001325 } },
  ]);
  expect(linesOf(session.messages())).toEqual(["user: Why did the deploy fail?", "assistant: The key had expired."]);
  expect(newest(session).metadata).toEqual({
    model: "gemini-3.1-flash-lite",
    usage: { inputTokens: 11, outputTokens: 7, costUsd: 0.00001325 },
  });
  expect(chat.isWaiting).toBe(false);
  expect(store.verify().ok).toBe(true);
});

test("a session of thousands of messages is sent within its budget, with evidence for the question", async () => {
  const { server, store, session } = await conversation(streamed("Oslo."));
  session.append([user("Hello."), assistant("Hello."), user("The deploy region is Oslo.")]);
  for (let batch = 0; batch < 20; batch++) session.append(talk(100));
  const chat = chatAt(server, store, session, { tokensMax: 2_000 });
  await replyOf(chat.say("Which deploy region did we pick?", never));
  const [{ body, text }] = server.requests as [(typeof server.requests)[number]];
  expect(text).toContain("The deploy region is Oslo.");
  expect(text.length).toBeLessThan(2_000 * 6);
  expect(body.contents!.at(-1)!.parts.at(-1)!.text).toBe("Which deploy region did we pick?");
  expect(breachesOf(body)).toEqual([]);
});

describe("with an embedder that is elsewhere", () => {
  test("evidence is looked for by the question's vector, which is asked for once a turn", async () => {
    const server = await geminiServer(calling("recall", { query: "deploy region" }), streamed("Oslo."));
    const embedder = scriptedEmbedder();
    const place = "We picked Oslo.";
    const answer = embedder.embedAll;
    // One that knows what is meant: no word of the question is in the message.
    embedder.embedAll = (request) =>
      answer({ ...request, texts: request.texts.map((text) => (text.startsWith("Whither") ? place : text)) });
    const store = openedStore(temporaryPath(), { embedder });
    const session = store.session("s");
    session.append([user("Hello."), assistant("Hello."), user(place)]);
    for (let batch = 0; batch < 4; batch++) {
      session.append(talk(50));
      await store.upkeep({ only: "vectors" });
    }
    const chat = chatAt(server, store, session, { tokensMax: 2_000 });
    await replyOf(chat.say("Whither now?", never));
    expect(server.requests[0]!.text).toContain(place);
    const queries = embedder.requests.filter(({ task }) => task === "query");
    expect(queries.map(({ texts }) => texts)).toEqual([[place], ["deploy region"]]);
  });

  test("that fails or never answers costs no turn, and Ctrl-C ends the waiting for it", async () => {
    const server = await geminiServer(streamed("Oslo."), streamed("Bergen."));
    const embedder = scriptedEmbedder();
    embedder.before = () => {
      throw away();
    };
    const store = openedStore(temporaryPath(), { embedder });
    const chat = chatAt(server, store, store.session("s"));
    expect(await replyOf(chat.say("Whither now?", never))).toBe("Oslo.");
    embedder.before = hang;
    const reason = new Error("Ctrl-C");
    const stop = new AbortController();
    setTimeout(() => stop.abort(reason), 20);
    await expect(replyOf(chat.say("And then?", stop.signal))).rejects.toBe(reason);
    expect(chat.isWaiting).toBe(true);
  });
});

describe("tools", () => {
  test("recall finds what another session knows, and the model answers with it", async () => {
    const server = await geminiServer(calling("recall", { query: "deploy region" }), streamed("Oslo."));
    const store = temporaryStore();
    store.session("old").append({ role: "user", content: "The deploy region is Oslo <north>." });
    const session = store.session("s");
    const events = await eventsOf(chatAt(server, store, session).say("Which region?", never));
    expect(events.map(({ kind }) => kind)).toEqual(["call", "result", "text", "done"]);
    expect(events.at(-1)).toEqual({ kind: "done", usage: { inputTokens: 22, outputTokens: 14, costUsd: 0.0000265 } });
    expect(linesOf(session.messages())).toEqual([
      "user: Which region?",
      "assistant: call recall",
      "tool: result",
      "assistant: Oslo.",
    ]);
    const [, second] = server.requests;
    expect(breachesOf(second!.body)).toEqual([]);
    const [, model, results] = second!.body.contents!.slice(-3);
    expect(model!.parts).toEqual([
      { functionCall: { name: "recall", args: { query: "deploy region" } }, thoughtSignature: "c2lnbmVk" },
    ]);
    const { response } = results!.parts[0]!.functionResponse as { response: { output: string } };
    expect(response.output).toContain('session="old"');
    expect(response.output).toContain("The deploy region is Oslo &lt;north&gt;.");
  });

  test("calls side by side are all answered, and the turn goes on in another process", async () => {
    const calling = {
      pieces: [
        words("I look. "),
        piece({ functionCall: { id: "f1", name: "recall", args: { query: "lamp" } }, thoughtSignature: "c2ln" }),
        piece({ functionCall: { id: "f2", name: "expand", args: { target: "1" } } }),
        ending("STOP"),
      ],
    };
    const server = await geminiServer(calling, { status: 503, body: {} }, streamed("Found."));
    const path = temporaryPath();
    const first = openedStore(path);
    first.session("old").append({ role: "user", content: "The lamp is green." });
    await expect(replyOf(chatAt(server, first, first.session("s")).say("lamp?", never))).rejects.toMatchObject({
      code: "MODEL_UNAVAILABLE",
    });
    first.close();
    const store = openedStore(path);
    const session = store.resume("s");
    expect(linesOf(session.messages())).toEqual([
      "user: lamp?",
      "assistant: I look. , call recall, call expand",
      "tool: result, result",
    ]);
    const chat = chatAt(server, store, session);
    expect(chat.isWaiting).toBe(true);
    expect(await replyOf(chat.answer(never))).toBe("Found.");
    const { body } = server.requests.at(-1)!;
    expect(breachesOf(body)).toEqual([]);
    expect(body.contents!.at(-2)!.parts[1]).toMatchObject({ functionCall: { id: "f1" }, thoughtSignature: "c2ln" });
    expect(body.contents!.at(-1)!.parts).toMatchObject([
      { functionResponse: { id: "f1" } },
      { functionResponse: { id: "f2" } },
    ]);
  });

  test("a model that calls without end is stopped, and no call stands without its result", async () => {
    const { server, session, chat } = await conversation(calling("recall", { query: "lamp" }));
    await expect(replyOf(chat.say("lamp?", never))).rejects.toMatchObject({
      code: "MODEL_ANSWER_INVALID",
      details: { reason: "it calls tools although it has had 8 rounds of them" },
    });
    expect(server.requests).toHaveLength(TOOL_ROUNDS_MAX + 1);
    const modes = server.requests.map(({ text }) => /"mode":"(\w+)"/.exec(text)![1]);
    expect(modes).toEqual([...new Array(8).fill("AUTO"), "NONE"]);
    expect(session.messages()).toHaveLength(1 + 2 * TOOL_ROUNDS_MAX);
    server.script(streamed("There is no lamp."));
    expect(await replyOf(chat.answer(never))).toBe("There is no lamp.");
    expect(breachesOf(server.requests.at(-1)!.body)).toEqual([]);
  });

  test("results leave room in a small context, however many calls there are", async () => {
    const many = Array.from({ length: 20 }, (_, index) =>
      piece({ functionCall: { name: "recall", args: { query: `harbor ${index}` } } }),
    );
    const server = await geminiServer({ pieces: [...many, ending("STOP")] }, streamed("Done."));
    const store = temporaryStore();
    for (let index = 0; index < 5; index++) store.session("old").append(talk(100));
    const session = store.session("s");
    expect(await replyOf(chatAt(server, store, session, { tokensMax: 3_000 }).say("harbor?", never))).toBe("Done.");
    const tool = session.messages({ seqFrom: 2, seqTo: 2 })[0]!;
    expect(tool.parts.filter((part) => part.isError === true)).toHaveLength(12);
    expect(tool.tokenCount).toBeLessThan(1_500);
  });
});

/** What breaks off a reply of which `half` has arrived, and what the message says of it. */
const BROKEN: Record<string, { reply: Reply; interrupted: string }> = {
  "a reset": { reply: { pieces: [words("half"), "reset"] }, interrupted: "MODEL_UNAVAILABLE" },
  "a block": { reply: { pieces: [words("half"), ending("SAFETY")] }, interrupted: "MODEL_REFUSED" },
  MAX_TOKENS: { reply: { pieces: [words("half"), ending("MAX_TOKENS")] }, interrupted: "MODEL_ANSWER_INVALID" },
  "a reset after a call": {
    reply: { pieces: [words("half"), piece({ functionCall: { name: "recall", args: { query: "x" } } }), "reset"] },
    interrupted: "MODEL_UNAVAILABLE",
  },
};

test.each(Object.entries(BROKEN))(
  "%s in mid-reply: what arrived is stored and marked, and the next turn heals",
  async (_, { reply, interrupted }) => {
    const { server, store, session, chat } = await conversation(reply, streamed("Whole."));
    await expect(replyOf(chat.say("Go.", never))).rejects.toMatchObject({ code: interrupted });
    expect(linesOf(session.messages())).toEqual(["user: Go.", "assistant: half"]);
    expect(newest(session).metadata).toMatchObject({ interrupted });
    expect(chat.isWaiting).toBe(false);
    expect(await replyOf(chat.say("Again.", never))).toBe("Whole.");
    expect(breachesOf(server.requests.at(-1)!.body)).toEqual([]);
    expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
  },
);

describe("an abort", () => {
  test("in mid-reply keeps what arrived and gives its own reason, at once", async () => {
    const { session, chat } = await conversation({ pieces: [words("half"), "hang"] }, streamed("Whole."));
    const controller = new AbortController();
    const aborted = once(controller.signal, "abort");
    const reading = (async () => {
      for await (const event of chat.say("Go.", controller.signal)) {
        if (event.kind === "text") controller.abort(new Error("enough"));
      }
    })();
    reading.catch(() => {}); // it may reject before the line that expects it
    await aborted;
    await expectAtOnce(reading);
    await expect(reading).rejects.toThrow("enough");
    expect(newest(session)).toMatchObject({ role: "assistant", text: "half", metadata: { interrupted: "aborted" } });
    expect(await replyOf(chat.say("Again.", never))).toBe("Whole.");
  });

  test("before anything arrived leaves the question, which the next turn answers", async () => {
    const { server, session, chat } = await conversation("hang", streamed("Here."));
    const controller = new AbortController();
    const reading = replyOf(chat.say("Go.", controller.signal));
    await server.arrived(1);
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    expect(linesOf(session.messages())).toEqual(["user: Go."]);
    expect(chat.isWaiting).toBe(true);
    expect(await replyOf(chat.answer(never))).toBe("Here.");
  });

  test("while a call is run keeps what was said, and waits for nobody", async () => {
    const { pieces } = calling("recall", { query: "lamp" });
    const server = await geminiServer({ pieces: [words("I look."), ...pieces] }, streamed("Whole."));
    const embedder = scriptedEmbedder();
    const store = temporaryStore({ embedder });
    const session = store.session("s");
    session.append({ role: "user", content: "The lamp is green." });
    await store.upkeep({ only: "vectors" });
    const chat = chatAt(server, store, session);
    const controller = new AbortController();
    const aborted = once(controller.signal, "abort");
    embedder.before = ({ texts }) => {
      if (!texts.includes("lamp")) return; // what the call looks for
      controller.abort(new Error("enough"));
      return hang();
    };
    const reading = replyOf(chat.say("Which color?", controller.signal));
    reading.catch(() => {}); // it may reject before the line that expects it
    await aborted;
    await expectAtOnce(reading);
    await expect(reading).rejects.toThrow("enough");
    expect(newest(session)).toMatchObject({ text: "I look.", metadata: { interrupted: "aborted" } });
    expect(await replyOf(chat.say("Again.", never))).toBe("Whole.");
    expect(breachesOf(server.requests.at(-1)!.body)).toEqual([]);
  });

  test("a reader that walks away keeps what arrived, too", async () => {
    const { session, chat } = await conversation({ pieces: [words("half"), "hang"] });
    for await (const _ of chat.say("Go.", never)) break;
    expect(newest(session)).toMatchObject({ text: "half", metadata: { interrupted: "aborted" } });
  });

  test("a reader that walks away at a call leaves it with its result", async () => {
    const { session, chat } = await conversation(calling("recall", { query: "lamp" }));
    for await (const { kind } of chat.say("Go.", never)) if (kind === "call") break;
    expect(linesOf(session.messages())).toEqual(["user: Go.", "assistant: call recall", "tool: result"]);
  });
});

test("a call that another program left open is sent as interrupted", async () => {
  const { server, session, chat } = await conversation(streamed("I see."));
  session.append([user("Read both."), calls(["a", "b"]), results(["a"], "text")]);
  expect(chat.isWaiting).toBe(true);
  expect(await replyOf(chat.answer(never))).toBe("I see.");
  const { body, text } = server.requests[0]!;
  expect(breachesOf(body)).toEqual([]);
  expect(text).toContain("Interrupted: this call has no result.");
});

test("where nothing waits for an answer, nothing is sent", async () => {
  const { server, session, chat } = await conversation(streamed("Yes."));
  expect(await eventsOf(chat.answer(never))).toEqual([]);
  session.append([user("Hello."), assistant("Hello.")]);
  expect(await eventsOf(chat.answer(never))).toEqual([]);
  expect(server.requests).toHaveLength(0);
});

test("a message without words, and a session of another strategy, are rendered without a search", async () => {
  const server = await geminiServer(streamed("What?"));
  const store = temporaryStore();
  const flat = store.session("flat", { strategy: "flat" });
  expect(await replyOf(chatAt(server, store, flat).say("Why?", never))).toBe("What?");
  expect(await replyOf(chatAt(server, store, store.session("s")).say("?!", never))).toBe("What?");
});

test("a message that no context has room for is kept, said so, and the next one is answered", async () => {
  const { server, store, session } = await conversation(streamed("Yes."));
  const chat = chatAt(server, store, session, { tokensMax: 300 });
  await expect(replyOf(chat.say("word ".repeat(5_000), never))).rejects.toMatchObject({ code: "BUDGET_TOO_SMALL" });
  expect(server.requests).toHaveLength(0);
  expect(await replyOf(chat.say("Short?", never))).toBe("Yes.");
});

test("a long paste gets the room it needs where no budget was given, as far as the window goes", async () => {
  const server = await geminiServer(streamed("Long."));
  const store = temporaryStore();
  const paste = `Read this: ${"word ".repeat(20_000)}`;
  expect(await replyOf(chatAt(server, store, store.session("s")).say(paste, never))).toBe("Long.");
  expect(server.requests[0]!.text).toContain(paste.trim());
  const small = { contextWindow: 20_000, outputTokensMax: 2_000 };
  const refused = replyOf(chatAt(server, store, store.session("t"), small).say(paste, never));
  await expect(refused).rejects.toMatchObject({ code: "BUDGET_TOO_SMALL" });
});

test("two chats over one session, in two processes at once, tear nothing", async () => {
  const server = await geminiServer();
  const path = temporaryPath();
  const stores = [openedStore(path), openedStore(path)];
  server.script(
    ...Array.from({ length: 40 }, (_, index) => {
      const { pieces } = index % 2 === 0 ? calling("recall", { query: "lamp" }) : streamed("Green.");
      return { pieces: [{ waitMs: index % 7 }, ...pieces] };
    }),
  );
  const converse = async (index: number): Promise<void> => {
    const chat = chatAt(server, stores[index]!, stores[index]!.session("s"));
    for (let turn = 0; turn < 5; turn++) await replyOf(chat.say(`lamp ${index} ${turn}?`, never));
  };
  await Promise.all([converse(0), converse(1)]);
  expect(server.requests.length).toBeGreaterThan(15);
  expect(server.requests.flatMap(({ body }) => breachesOf(body))).toEqual([]);
  const lines = linesOf(stores[0]!.session("s").messages());
  lines.forEach((line, index) => {
    if (line === "assistant: call recall") expect(lines[index + 1]).toBe("tool: result");
  });
  expect(stores[0]!.verify()).toMatchObject({ ok: true, problemCount: 0 });
});

test("a budget that the model's window has no room for is refused, and one that is not given stays within it", async () => {
  const { server, store, session, chat } = await conversation();
  const small = { contextWindow: 12_000, outputTokensMax: 4_000 };
  expect(() => chatAt(server, store, session, { ...small, tokensMax: 8_000 })).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID" }),
  );
  expect(chatAt(server, store, session, small).tokensMax).toBeLessThan(8_000);
  expect(chat.tokensMax).toBe(16_000);
});

test("summaries are made beside the conversation, and stopped with it", async () => {
  const server = await geminiServer(streamed("Yes."));
  const store = temporaryStore({ summarizer: scriptedSummarizer("good") });
  const session = store.session("s", { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 1, resolveTokensMin: 50 });
  session.append(talk(40, 100));
  const chat = chatAt(server, store, session);
  const summaryCount = () => store.query("SELECT count(*) AS n FROM summaries WHERE status = 'done'")[0]!.n;
  await replyOf(chat.say("Go.", never));
  chat.startResolving();
  chat.startResolving();
  await expect.poll(summaryCount).toBe(1);
  session.append(talk(80));
  await replyOf(chat.say("Go.", never));
  await expect.poll(summaryCount).toBeGreaterThan(1);
  await chat.stop();
  const count = summaryCount();
  session.append(talk(80));
  await replyOf(chat.say("Go.", never));
  await sleep(150);
  expect(summaryCount()).toBe(count);
});
