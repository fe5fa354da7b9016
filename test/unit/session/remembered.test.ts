import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { importRows } from "../../../src/imports/import-rows.ts";
import { openStore, type Store, StoreError } from "../../../src/index.ts";
import { renderRemembering } from "../../../src/session/aids/remembered-context.ts";
import { assistant, talk, user } from "../../support/said.ts";
import { temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const DECIDED = "We decided that the session lock is a file with flock.";
const WHY = "It blocks on NFS.";

/** A session in which an assistant says something, with the id of that message. */
function decided(store: Store = temporaryStore()): { store: Store; id: number } {
  const session = store.session("monday", { project: "web" });
  session.append([user("How do we lock a session?"), assistant(DECIDED)]);
  return { store, id: session.messages()[1]!.id };
}

describe("what a person wants remembered", () => {
  test("is one message in the project's own session, with who said it", () => {
    const store = temporaryStore();
    const first = store.remember("We deploy on Tuesdays.", { project: "web", by: "Ada", agent: "codex" });
    const second = store.remember("  The port of staging is 4417.\n", { project: "web" });
    store.remember("Elsewhere it is another.", { project: "shop" });
    expect(first).toMatchObject({
      text: "We deploy on Tuesdays.",
      project: "web",
      by: "Ada",
      agent: "codex",
      about: null,
    });
    expect([second.sessionId, second.seq, second.text]).toEqual([first.sessionId, 1, "The port of staging is 4417."]);
    expect(store.remembered({ project: "web" }).map(({ text }) => text)).toEqual([second.text, first.text]);
    expect(store.remembered({ limit: 2 })).toHaveLength(2);
    expect(store.resume(first.sessionId).messages()[0]).toMatchObject({ role: "user", text: first.text });
  });

  test("is in no list of sessions, and is not the last session of the project", () => {
    const { store } = decided();
    const { sessionId } = store.remember("We deploy on Tuesdays.", { project: "web" });
    expect(store.sessions({ hidden: false }).map(({ id }) => id)).toEqual(["monday"]);
    expect(store.sessions().map(({ id }) => id)).toContain(sessionId);
    expect(store.recap({ sinceMs: 0 }).topics.flatMap(({ sessionIds }) => sessionIds)).toEqual(["monday"]);
  });

  test("comes before what agents say of the same in work with tools", async () => {
    const store = temporaryStore();
    for (let index = 0; index < 6; index++) {
      const said = `Now let me run the deploy of the staging server again, attempt ${index}.`;
      store.session(`s${index}`, { project: "web" }).append([
        user(`Look at the staging server, part ${index}.`),
        { role: "assistant", content: [{ type: "text", text: said }, call(index)] },
        {
          role: "tool",
          parts: [{ type: "tool_result", toolCallId: `c${index}`, content: "deploy of staging failed" }],
        },
      ]);
    }
    const { messageId } = store.remember("deploy staging by hand", { project: "web" });
    const [best] = await store.recall("how do we deploy staging");
    expect(best!.messageId).toBe(messageId);
  });

  test("is forgotten, verified, and moved like any other message", () => {
    const { store, id } = decided(openStore(temporaryPath()));
    const kept = store.remember(WHY, { rejects: id });
    const rows = temporaryPath();
    writeFileSync(rows, [...store.export({ rows: true })].join("\n"));
    const there = openStore(temporaryPath());
    expect(importRows(there, rows).map(({ outcome }) => outcome)).toEqual(["new", "new"]);
    expect(there.resume("monday").messages()[1]!.verdict).toMatchObject({ kind: "rejected", text: WHY });
    expect([store.verify().ok, there.verify().ok]).toEqual([true, true]);
    store.forget(kept.sessionId, { messageIds: [kept.messageId] });
    expect(store.remembered()).toEqual([]);
    expect(store.resume("monday").messages()[1]).not.toHaveProperty("verdict");
    store.close();
    there.close();
  });

  test("is told first by a recap of its project, until it is replaced", () => {
    const { store } = decided();
    const old = store.remember("We deploy on Tuesdays.", { project: "web" });
    store.remember("Only in the shop.", { project: "shop" });
    expect(store.recap().remembered.map(({ text }) => text)).toEqual(["We deploy on Tuesdays."]);
    store.remember("We deploy on Thursdays.", { replaces: old.messageId });
    expect(store.recap({ project: "web" }).remembered.map(({ text }) => text)).toEqual(["We deploy on Thursdays."]);
    expect(store.recap({ project: "shop" }).remembered).toHaveLength(1);
    expect(store.recap({ untilMs: 1 }).remembered).toEqual([]);
  });
});

describe("a verdict", () => {
  test("holds again when what replaced it is rejected", () => {
    const store = temporaryStore();
    const { messageId: old } = store.remember("We deploy on Tuesdays.", { project: "web" });
    const { messageId: newer } = store.remember("We deploy on Thursdays.", { project: "web", replaces: old });
    store.remember("That was a mistake.", { project: "web", rejects: newer });
    const told = store.recap({ project: "web" }).remembered.map(({ text }) => text);
    expect(told).toEqual(["That was a mistake.", "We deploy on Tuesdays."]);
  });

  test("is shown with the message in hits, expansions and messages", async () => {
    const { store, id } = decided();
    const { messageId } = store.remember(WHY, { rejects: `message:${id}`, by: "Ada" });
    const verdict = { kind: "rejected", messageId, text: WHY };
    const hits = await store.recall("session lock file flock");
    expect(hits.find((hit) => hit.messageId === id)).toMatchObject({ verdict });
    expect(store.expand(id).members.find((member) => member.id === id)).toMatchObject({ verdict });
    expect(store.resume("monday").messages({ last: 1 })).toMatchObject([{ verdict }]);
    expect(store.remembered()[0]).toMatchObject({
      project: "web",
      about: { kind: "rejected", messageId: id, text: DECIDED },
    });
  });

  test("is shown with what a recap tells of the message", () => {
    const { store, id } = decided();
    store.remember(WHY, { rejects: id });
    const [topic] = store.recap().topics;
    const lines = [...topic!.told, ...topic!.decided].filter(({ messageId }) => messageId === id);
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line.verdict).toMatchObject({ kind: "rejected" });
  });

  test("puts what replaces a message before it, whatever the words", async () => {
    const { store, id } = decided();
    const { messageId } = store.remember("A row in the table leases is the lock.", { replaces: id });
    const hits = await store.recall("We decided that the session lock is a file with flock");
    const order = hits.map((hit) => hit.messageId);
    expect(order.indexOf(messageId)).toBeLessThan(order.indexOf(id));
    expect(hits.find((hit) => hit.messageId === id)).toMatchObject({ supersededBy: messageId });
  });

  test("of later days counts", () => {
    const { store, id } = decided();
    store.remember(WHY, { rejects: id });
    const { messageId } = store.remember("Locks are rows now.", { replaces: id });
    expect(store.resume("monday").messages()[1]!.verdict).toMatchObject({ kind: "replaced", messageId });
  });

  test("is not of the message that takes the place of its message after a rewind", () => {
    const { store, id } = decided();
    store.remember(WHY, { rejects: id });
    const session = store.resume("monday");
    session.rewind({ toSeq: 0 });
    session.append({ ...assistant("The lock is a row."), createdAt: Date.now() + 1_000 });
    expect(session.messages()[1]).not.toHaveProperty("verdict");
    expect(store.remembered()[0]!.about).toEqual({ kind: "rejected", messageId: null, text: null });
  });

  test("can be asked for in SQL", () => {
    const { store, id } = decided();
    const { messageId } = store.remember(WHY, { rejects: id });
    const rows = store.query("SELECT message_id, session_id, seq, kind, verdict_id FROM verdicts");
    expect(rows).toEqual([{ message_id: id, session_id: "monday", seq: 1, kind: "rejected", verdict_id: messageId }]);
  });
});

describe("what cannot be remembered says why, and nothing is stored", () => {
  test.each<[string, string, object, string]>([
    ["an empty text", " \n", {}, "OPTION_INVALID"],
    ["a reason without words", "", { rejects: 1 }, "OPTION_INVALID"],
    ["a handle of a cluster", "x", { replaces: "cluster:1" }, "OPTION_INVALID"],
    ["a message that is not there", "x", { replaces: 999 }, "MESSAGE_NOT_FOUND"],
    ["both verdicts at once", "x", { replaces: 1, rejects: 1 }, "OPTION_INVALID"],
    ["an option that does not exist", "x", { who: "Ada" }, "OPTION_INVALID"],
  ])("%s", (_, text, options, code) => {
    const { store } = decided();
    expect(refusal(() => store.remember(text, options))).toMatchObject({ code });
    expect(store.sessions()).toHaveLength(1);
  });

  test("a message that was forgotten or superseded", () => {
    const { store, id } = decided();
    store.resume("monday").rewind({ toSeq: 0 });
    expect(refusal(() => store.remember("x", { rejects: id }))).toMatchObject({ code: "SESSION_SUPERSEDED" });
    store.forget("monday");
    expect(refusal(() => store.remember("x", { rejects: id }))).toMatchObject({ code: "MESSAGE_NOT_FOUND" });
  });
});

describe("a context for somebody who goes on", () => {
  test("begins with what is remembered, names it, and keeps its budget", () => {
    const { store, id } = decided();
    const session = store.resume("monday");
    session.append(talk(60));
    const { messageId } = store.remember(WHY, { rejects: id, by: "Ada" });
    const plain = session.render({ tokensMax: 2_000 });
    const context = renderRemembering(store, session, { tokensMax: 2_000 });
    expect(JSON.stringify(context.messages[0])).toContain(`[${messageId}] rejected “${DECIDED}”: ${WHY} (Ada)`);
    expect(context.composed).toContain(0);
    expect(context.recalled).toContainEqual(expect.objectContaining({ messageId, messageIndex: 0 }));
    expect(context.tokenCount).toBeLessThanOrEqual(2_000);
    for (const source of context.sources) {
      if (source.how === "summary") continue;
      const [parts] = [context.messages[source.messageIndex]!.parts];
      const said = JSON.stringify(session.messages({ seqFrom: source.seqFirst, limit: 1 })[0]!.text.slice(0, 20)).slice(
        1,
        -1,
      );
      if (source.how === "verbatim" && !context.composed.includes(source.messageIndex))
        expect(JSON.stringify(parts)).toContain(said);
    }
    expect(context.messages.length).toBeGreaterThan(plain.messages.length - 3);
  });

  test("tells older statements beside a long one, and which agent has stored one", () => {
    const { store } = decided();
    store.remember("We deploy on Tuesdays.", { project: "web", by: "Ada", agent: "codex" });
    store.remember("Long words. ".repeat(400), { project: "web" });
    const { messages } = renderRemembering(store, store.resume("monday"), { tokensMax: 4_000 });
    const text = JSON.stringify(messages);
    expect(text).toContain("We deploy on Tuesdays. (Ada, by way of codex)");
    expect(text).toContain("Long words.");
  });

  test("is the plain one if there is no room, or nothing is remembered", () => {
    const { store } = decided();
    const session = store.resume("monday");
    expect(renderRemembering(store, session, {})).toEqual(session.render());
    store.remember("A rule of many words. ".repeat(50), { project: "web" });
    expect(renderRemembering(store, session, { tokensMax: 200 })).toEqual(session.render({ tokensMax: 200 }));
  });
});

function call(index: number) {
  return { type: "tool_call" as const, toolCallId: `c${index}`, name: "Bash", args: { command: "deploy staging" } };
}

function refusal(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (StoreError.is(error)) return { code: error.code };
    throw error;
  }
  return undefined;
}
