import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import type { MessageInput, Store } from "../../../src/index.ts";
import type { NearTheme } from "../../../src/session/aids/near-themes.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import type { SearchHit } from "../../../src/view/api.ts";
import { KEY_HEADER } from "../../../src/view/questions.ts";
import { acts, edits, fails, runs } from "../../support/acts.ts";
import { slow } from "../../support/effort.ts";
import { calls, results, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { ServedView } from "../../support/served-view.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const SMALL = { hotSize: 6, overlap: 2, evictBatch: 4, resolveTokensMin: 40, project: "bakery" };

const reply = (content: string): MessageInput => ({ role: "assistant", content });

function bake(store: Store, id: string, rounds: number): void {
  const session = store.session(id, { ...SMALL, title: `Bread ${id}` });
  for (let round = 0; round < rounds; round++) {
    session.append(user(`How much rye goes into loaf ${round}, and how long does its dough rest?`));
    session.append(reply(`Loaf ${round} takes 400 g of rye. Its dough rests for nine hours.`));
    session.append(user(`Is oven ${round} hot enough, and what does its thermometer say?`));
    session.append(reply(`The thermometer of oven ${round} says 240 degrees.`));
  }
}

test("sessions are listed, filtered and paged, and their days counted", async () => {
  const store = temporaryStore();
  for (let number = 0; number < 5; number++) bake(store, `s${number}`, 1);
  store.session("other", { project: "mill" }).append(user("grain"));
  const view = await ServedView.entered(store);
  const first = await view.get("/api/sessions", { limit: 4 });
  expect(first.sessions.map(({ id }) => id)).toEqual(["other", "s4", "s3", "s2"]);
  expect(first.sessions[0]).toMatchObject({ title: "Grain", project: "mill", messageCount: 1 });
  const second = await view.get("/api/sessions", { limit: 4, offset: first.next! });
  expect([second.sessions.map(({ id }) => id), second.next]).toEqual([["s1", "s0"], null]);
  expect((await view.get("/api/sessions", { project: "mill" })).sessions).toHaveLength(1);
  expect((await view.get("/api/sessions", { text: "bread S3" })).sessions.map(({ id }) => id)).toEqual(["s3"]);
  expect((await view.get("/api/sessions", { source: "codex" })).sessions).toEqual([]);
  const { days } = await view.get("/api/days", { offsetMinutes: 120 });
  expect(days).toMatchObject([{ day: "2023-11-15", sessionCount: 6, messageCount: 21 }]);
  expect(days[0]!.fromMs).toBe(Date.UTC(2023, 10, 14, 22));
  expect(await view.get("/api/about", {})).toMatchObject({
    projects: [
      { project: "bakery", name: "bakery" },
      { project: "mill", name: "mill" },
    ],
    isWritable: false,
  });
});

test("a listed session says what came of it, and says it anew when the agent goes on", async () => {
  const store = temporaryStore();
  const session = store.session("s", { title: "Rye" });
  session.append([
    user("Mend the oven."),
    ...runs("make oven"),
    reply("The relay of the oven was broken, so I replaced it."),
  ]);
  store.session("silent").append(user("Is anybody there?"));
  const view = await ServedView.entered(store);
  const outcomes = async () => (await view.get("/api/sessions", {})).sessions.map(({ id, outcome }) => [id, outcome]);
  expect(await outcomes()).toEqual([
    ["silent", null],
    ["s", "The relay of the oven was broken, so I replaced it."],
  ]);
  session.append([user("Test it."), ...runs("make test"), reply("The oven reached 240 degrees in nine minutes.")]);
  expect((await outcomes())[0]).toEqual(["s", "The oven reached 240 degrees in nine minutes."]);
});

test("a step of a program without a user is not said to be the user's", async () => {
  const store = temporaryStore();
  const session = store.session("s", { hotSize: 2, overlap: 0, evictBatch: 2 });
  for (let call = 0; call < 5; call++) session.append([calls([`c${call}`]), results([`c${call}`], "done")]);
  session.compact();
  const view = await ServedView.entered(store);
  const joined = store.query("SELECT min(id) AS id FROM unions WHERE kind = 'join'")[0]!;
  const why = await view.get("/api/why", { session: "s", position: Number(joined.id) });
  expect(why).toMatchObject({
    kind: "join",
    score: null,
    speaker: "assistant",
    text: "It goes on with the step before it.",
  });
});

test("the list follows new messages, new sessions, titles and what is forgotten", async () => {
  const store = temporaryStore();
  for (const id of ["a", "b"]) bake(store, id, 1);
  const view = await ServedView.entered(store, { write: true });
  const listed = async () => (await view.get("/api/sessions", { text: "bread" })).sessions;
  expect((await listed()).map(({ id, messageCount }) => [id, messageCount])).toEqual([
    ["b", 4],
    ["a", 4],
  ]);
  store.resume("a").append(user("one more"));
  expect((await listed()).map(({ id, messageCount }) => [id, messageCount])).toEqual([
    ["a", 5],
    ["b", 4],
  ]);
  bake(store, "c", 1);
  expect((await listed()).map(({ id }) => id)).toEqual(["c", "a", "b"]);
  expect((await view.post("/api/rename", { session: "b", title: "Old bread" })).status).toBe(200);
  expect((await listed()).at(-1)).toMatchObject({ id: "b", title: "Old bread" });
  store.forget("a");
  expect((await listed()).map(({ id }) => id)).toEqual(["c", "b"]);
});

test("a title that another program gave is listed after a while", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const path = temporaryPath();
  const other = openedStore(path);
  for (const id of ["a", "b"]) bake(other, id, 1);
  const view = await ServedView.entered(path);
  const listed = async () => (await view.get("/api/sessions", { text: "old" })).sessions.map(({ id }) => id);
  expect(await listed()).toEqual([]);
  other.resume("b").update({ title: "Old bread" });
  await listed();
  vi.advanceTimersByTime(40_000);
  expect(await listed()).toEqual(["b"]);
});

test("a title that the serving program gave is news to its pages", () => {
  const store = temporaryStore();
  bake(store, "a", 1);
  const before = internalsOf(store).position();
  store.resume("a").update({ title: "Old bread" });
  expect(internalsOf(store).position()).not.toEqual(before);
});

test("days are counted to the end of time", async () => {
  let nowMs = 0;
  const store = temporaryStore({ clock: () => nowMs });
  for (nowMs of [8.64e15, 1.7e15, -8.64e15]) store.session(`at ${nowMs}`).append(user("when"));
  const view = await ServedView.entered(store);
  for (const offsetMinutes of [-840, 840]) {
    const { days } = await view.get("/api/days", { offsetMinutes });
    expect(days).toHaveLength(3);
    for (const { day } of days) expect(Date.parse(day)).not.toBeNaN();
  }
});

test("search finds what is typed, says where, and explains its scores", async () => {
  const store = temporaryStore();
  bake(store, "s", 5);
  store.session("t").append(user("The thermometer of the mill."));
  const view = await ServedView.entered(store);
  const { sessions, more } = await view.get("/api/search", { q: "thermometer oven 3", explain: 1, limit: 3 });
  expect([sessions.flatMap(({ hits }) => hits).length, more]).toEqual([3, true]);
  expect(sessions[0]).toMatchObject({ sessionId: "s", title: "Bread s", project: "bakery" });
  const [{ spans, parts }] = sessions[0]!.hits as [SearchHit];
  expect(spans.filter(({ isMatch }) => isMatch).map(({ text }) => text)).toContain("thermometer");
  expect(parts).toMatchObject({ words: expect.any(Number) });
  const only = await view.get("/api/search", { q: "thermometer", session: "t", limit: 1 });
  expect([only.sessions.length, only.more]).toEqual([1, false]);
  expect((await view.get("/api/search", { q: "thermometer", source: "codex" })).sessions).toEqual([]);
  expect((await view.get("/api/search", { q: "" })).sessions).toEqual([]);
  expect((await view.get("/api/search", { q: "thermometr" })).note).toMatch(/^Did you mean thermometer/i);
});

test("search finds themes, and a theme leads to those near it in other sessions", async () => {
  const store = temporaryStore();
  for (const id of ["s", "t"]) bake(store, id, 80);
  const view = await ServedView.entered(store);
  const { themes } = await view.get("/api/themes", { q: "thermometer oven", limit: 4 });
  expect(new Set(themes.map(({ sessionId }) => sessionId))).toEqual(new Set(["s", "t"]));
  const [{ theme, sessionId }] = themes as [NearTheme];
  const near = await view.get("/api/themes", { root: Number(/\d+/.exec(theme)), limit: 3 });
  expect(near.themes.length).toBeGreaterThan(0);
  expect(near.themes.map((one) => one.sessionId)).not.toContain(sessionId);
  expect((await view.get("/api/themes", {})).themes).toEqual([]);
});

test("search shows three hits if nothing is near, and says so, except within a session", async () => {
  const store = temporaryStore();
  bake(store, "s", 9);
  const view = await ServedView.entered(store);
  const query = { q: "kubernetes ingress controller thermometer annotations" };
  const { sessions, more, note } = await view.get("/api/search", query);
  expect([sessions.flatMap(({ hits }) => hits).length, more]).toEqual([3, false]);
  expect(note).toContain("probably about something else");
  const within = await view.get("/api/search", { ...query, session: "s" });
  expect(within.sessions.flatMap(({ hits }) => hits).length).toBeGreaterThan(3);
});

test("messages come in pages, with long strings cut and every part to be had whole", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  const long = "x".repeat(50_000);
  session.append(user("first"));
  session.append({
    role: "assistant",
    parts: [
      { type: "reasoning", text: "hm" },
      { type: "tool_call", toolCallId: "c", name: "write", args: { path: "a", content: long } },
    ],
  });
  const png = Buffer.from("png").toString("base64");
  session.append({
    role: "tool",
    parts: [
      {
        type: "tool_result",
        toolCallId: "c",
        isError: true,
        content: [
          { type: "text", text: long },
          { type: "file", mediaType: "image/png", data: png },
        ],
      },
    ],
  });
  const view = await ServedView.entered(store);
  const { messages, next } = await view.get("/api/messages", { session: "s" });
  expect(next).toBeNull();
  expect(messages.map(({ seq, role }) => [seq, role])).toEqual([
    [0, "user"],
    [1, "assistant"],
    [2, "tool"],
  ]);
  const [, call] = messages[1]!.parts;
  expect(call).toMatchObject({ type: "tool_call", name: "write", isCut: true, args: { path: "a" } });
  expect(JSON.stringify(call).length).toBeLessThan(25_000);
  const [result] = messages[2]!.parts;
  if (result?.type !== "tool_result") throw new Error("not a result");
  expect(result).toMatchObject({ isError: true, toolCallId: "c" });
  const [text, file] = result.content;
  expect(text).toMatchObject({ type: "text", isCut: true, charCount: 50_000, path: "0.0" });
  expect(file).toMatchObject({ type: "file", mediaType: "image/png", byteLength: 3 });
  if (file?.type !== "file") throw new Error("not a file");
  expect(await view.ask(file.href!)).toMatchObject({ body: "png", status: 200 });
  expect((await view.refusable("/api/part", { message: messages[2]!.id, path: "0.0" })).body).toBe(long);
  expect(JSON.parse((await view.refusable("/api/part", { message: messages[1]!.id, path: "1" })).body).content).toBe(
    long,
  );
  expect(await view.refusable("/api/part", { message: messages[1]!.id, path: "7" })).toMatchObject({ status: 404 });
});

test("a page of messages ends before it is too large, and the pages together have every message once", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  for (let count = 0; count < 120; count++) session.append(user(`${count} ${"y".repeat(19_000)}`));
  const view = await ServedView.entered(store);
  const seqs: number[] = [];
  for (let from: number | null = 0; from !== null; ) {
    const page = await view.ask(`/api/messages?session=s&seqFrom=${from}&limit=200`);
    expect(page.body.length).toBeLessThan(1_500_000);
    const { messages, next } = JSON.parse(page.body);
    seqs.push(...messages.map(({ seq }: { seq: number }) => seq));
    from = next;
  }
  expect(seqs).toEqual(Array.from({ length: 120 }, (_, index) => index));
});

test("the outline has a column for each fact of each message", async () => {
  const store = temporaryStore();
  bake(store, "s", 3);
  store.resume("s").append({ role: "system", content: "Be brief." });
  const view = await ServedView.entered(store);
  const outline = await view.get("/api/outline", { session: "s", seqFrom: 8, limit: 3 });
  expect(outline).toMatchObject({
    seqs: [8, 9, 10],
    roles: "uau",
    deeds: "---",
    turnSeqs: [8, 8, 10],
    pinned: [],
    next: 11,
  });
  const rest = await view.get("/api/outline", { session: "s", seqFrom: 11 });
  expect(rest).toMatchObject({ seqs: [11, 12], roles: "as", pinned: [12], next: null });
});

test("the outline says what the calls of each message did, and where the agent compacted", async () => {
  const store = temporaryStore();
  store
    .session("s")
    .append([
      user("Mend the oven."),
      ...acts("Read", { file_path: "oven.ts" }, "heat(250)"),
      ...edits("oven.ts", undefined, ["250", "220"]),
      ...fails("npm test", "Error: oven.ts is not closed"),
      ...runs("npm test", "all pass"),
      user("In short: the oven is mended.", { metadata: { isCompactSummary: true } }),
    ]);
  await store.upkeep();
  const view = await ServedView.entered(store);
  expect((await view.get("/api/outline", { session: "s" })).deeds).toBe("-r-w-f-x-c");
});

test("the context says of each stretch how it is there, and covers every message of the session", async () => {
  const store = temporaryStore();
  bake(store, "s", 40);
  const view = await ServedView.entered(store);
  const context = await view.get("/api/context", { session: "s", tokensMax: 900, query: "oven 7" });
  const whole = store.resume("s").render({ tokensMax: 900, query: "oven 7" });
  expect(context).toMatchObject({ tokensMax: 900, strategy: "union-find", tokenCount: whole.tokenCount });
  expect(context.rendered).toEqual(whole.messages.map(({ role, parts }) => ({ role, parts })));
  const stretches = context.messages.flatMap(({ stretches }) => stretches);
  const hows = new Set(stretches.map(({ how }) => how));
  for (const how of ["verbatim", "pointer", "frame"]) expect(hows).toContain(how);
  const large = await view.get("/api/context", { session: "s", tokensMax: 3_000 });
  const quoted = large.messages.flatMap(({ stretches }) => stretches).filter(({ how }) => how === "quoted");
  expect(quoted.length).toBeGreaterThan(0);
  for (const { seqFirst, seqLast } of quoted) expect(seqFirst).toBeLessThanOrEqual(seqLast!);
  expect(large.messages.every(({ isStable }) => isStable)).toBe(true);
  // The stretches of a composed message are its text, in order and without a gap.
  for (const { index, isComposed, stretches } of context.messages.filter(({ isComposed }) => isComposed)) {
    const texts = whole.messages[index]!.parts.map((part) => (part.type === "text" ? part.text : ""));
    expect(
      isComposed &&
        stretches
          .map(({ text }) => text)
          .join("")
          .replace(/\s/g, ""),
    ).toBe(texts.join("").replace(/\s/g, ""));
  }
  for (const { messageId, seq, how } of whole.recalled) {
    expect(stretches).toContainEqual(expect.objectContaining({ how, seqFirst: seq, seqLast: seq }));
    expect(messageId).toBeGreaterThan(0);
  }
  const recalledAt = whole.recalled[0]!.messageIndex;
  expect(context.stablePrefixEnd).toBe(recalledAt);
  expect(context.messages.map(({ isStable }) => isStable)).toEqual(
    context.messages.map(({ index }) => index < recalledAt),
  );
  expect(context.coverage[0]).toMatchObject({ seqFirst: 0 });
  expect(context.coverage.at(-1)).toMatchObject({ how: "verbatim", seqLast: 159 });
  const lasts = context.coverage.map(({ seqLast }) => seqLast + 1);
  expect(context.coverage.slice(1).map(({ seqFirst }) => seqFirst)).toEqual(lasts.slice(0, -1));
  const verbatim = whole.sources.filter(({ how }) => how === "verbatim").map(({ seqFirst }) => seqFirst);
  const covered = context.coverage.filter(({ how }) => how === "verbatim");
  expect(covered.reduce((sum, { seqFirst, seqLast }) => sum + seqLast - seqFirst + 1, 0)).toBe(verbatim.length);
  expect(await view.refusable("/api/context", { session: "s", tokensMax: 1 })).toMatchObject({ status: 400 });
});

const SHARES: [name: string, others: number][] = [
  ["most of its store", 0],
  ["little of its store", 900],
];

slow(test.each(SHARES))(
  "the context of an earlier moment is what the model saw then, in a session that is %s",
  async (_name, others) => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("other").append(Array.from({ length: others }, (_, index) => user(`Rye ${index} for the oven`)));
    const options = { tokensMax: 900, query: "oven 7" };
    const seen: string[] = [];
    bake(store, "s", 10);
    const session = store.resume("s");
    for (let seq = 40; seq < 120; seq++) {
      seen[seq] = JSON.stringify(session.render(options).messages);
      session.append(seq % 2 === 0 ? user(`Is oven ${seq} hot?`) : reply(`Oven ${seq} is at 240 degrees.`));
    }
    const scratch = join(path, "..", "scratch");
    mkdirSync(scratch);
    vi.stubEnv("TMPDIR", scratch);
    onTestFinished(() => void vi.unstubAllEnvs());
    const view = await ServedView.entered(path);
    for (const at of [119, 60, 41]) {
      const context = await view.get("/api/context", { session: "s", at: String(at), ...options });
      const then = at === 119 ? JSON.stringify(session.render(options).messages) : seen[at + 1];
      expect(JSON.stringify(context.rendered)).toBe(then);
      expect(context).toMatchObject({ atSeq: at, tokensMax: 900 });
      expect(context.coverage.at(-1)!.seqLast).toBe(at);
    }
    // A position of the log is the moment at which the frontier moved over it.
    const [move] = store.query(
      "SELECT seq_end, log_position FROM frontier_moves WHERE session_id = 's' AND seq_end BETWEEN 60 AND 100",
    );
    const position = `@${move!.log_position}`;
    const moved = await view.get("/api/context", { session: "s", at: position });
    expect(moved.atSeq).toBe(Number(move!.seq_end) - 1);
    for (const at of ["120", "@999999"]) {
      expect(await view.refusable("/api/context", { session: "s", at }), at).toMatchObject({ status: 400 });
    }
    expect(await view.refusable("/api/context", { session: "s", at: "yesterday" })).toMatchObject({ status: 400 });
    expect(await view.refusable("/api/context", { session: "s", at: "50", tokensMax: 1 })).toMatchObject({
      status: 400,
    });
    const missing = await view.refusable("/api/context", { session: "nobody", at: "5" });
    expect(missing).toMatchObject({ status: 404 });
    expect(session.info().messageCount).toBe(120);
    const left = readdirSync(scratch).filter((name) => name.startsWith("coppice-"));
    expect(left).toEqual([]);
  },
);

test("summaries of a context cover exactly the members of their clusters", async () => {
  const store = temporaryStore({ summarizer: scriptedSummarizer() });
  bake(store, "s", 40);
  const session = store.resume("s");
  await session.resolveDirty();
  bake(store, "s", 10);
  session.compact();
  const view = await ServedView.entered(store);
  const { coverage, messages } = await view.get("/api/context", { session: "s", tokensMax: 4_000 });
  const summaries = session.render({ tokensMax: 4_000 }).sources.filter(({ how }) => how === "summary");
  expect(summaries.length).toBeGreaterThan(0);
  const counted = coverage.filter(({ how }) => how === "summary");
  expect(counted.length).toBeGreaterThan(0);
  const stretches = messages.flatMap(({ stretches }) => stretches);
  expect(stretches).toContainEqual(
    expect.objectContaining({ how: "summary", text: expect.stringMatching(/^<notes>/) }),
  );
});

test("the log comes in pages, has the decisions and the steps of each cluster, and a reason for each of its rows", async () => {
  const store = temporaryStore();
  store.session("s", { maxThemes: 1 });
  bake(store, "s", 40);
  bake(store, "t", 10);
  const view = await ServedView.entered(store);
  const forest = await view.get("/api/forest", { session: "s" });
  expect(forest.clusters.length).toBeGreaterThan(1);
  const steps = new Map<number, { stepCount: number; seqLast: number }>();
  const rows: string[] = [];
  let after = 0;
  for (let next: number | null = 0; next !== null; ) {
    const log = await view.get("/api/log", { session: "s", after, limit: 50 });
    log.positions.forEach((position, row) => {
      expect(position).toBeGreaterThan(after);
      after = position;
      const [kind, root] = [log.kinds[row]!, log.roots[row]!];
      rows.push([log.levels[row], kind, log.nodes[row], root].join(" "));
      if (log.levels[row] !== "c" || (kind !== "s" && kind !== "j")) return;
      const stepCount = (steps.get(root)?.stepCount ?? 0) + 1;
      steps.set(root, { stepCount, seqLast: log.seqsLast[row]! });
    });
    next = log.next;
  }
  const letters = "substr(level, 1, 1), iif(kind = 'settle', 'e', substr(kind, 1, 1))";
  const logged = `SELECT concat_ws(' ', ${letters}, node, root) AS row FROM unions WHERE session_id = 's' ORDER BY id`;
  expect(rows).toEqual(store.query(logged).map(({ row }) => row));
  expect(rows.join("\n")).toContain("t u ");
  expect(steps).toEqual(new Map(forest.clusters.map(({ root, stepCount, seqLast }) => [root, { stepCount, seqLast }])));
  for (const { id, kind } of store.query(
    "SELECT min(id) AS id, kind FROM unions WHERE session_id = 's' GROUP BY kind",
  )) {
    const why = await view.get("/api/why", { session: "s", position: Number(id) });
    expect(why).toMatchObject({ kind, position: id, text: expect.stringMatching(/\.$/) });
  }
  expect(await view.refusable("/api/why", { session: "t", position: 1 })).toMatchObject({ status: 400 });
  expect(await view.refusable("/api/why", { session: "nobody", position: 1 })).toMatchObject({ status: 404 });
  const expanded = await view.get("/api/members", { root: forest.themes[0]!.handle, limit: 3 });
  expect(expanded.members).toHaveLength(3);
  expect(expanded.memberCount).toBe(forest.themes[0]!.messageCount);
});

test("a session names its parent and its children", async () => {
  const store = temporaryStore();
  bake(store, "parent", 2);
  bake(store, "child", 1);
  const fork = internalsOf(store).intake.session({ source: "x", externalId: "fork", parentExternalId: "none" });
  fork.append(user("forked"));
  const view = await ServedView.entered(store);
  expect(await view.get("/api/session", { session: "parent" })).toMatchObject({
    session: { id: "parent", title: "Bread parent" },
    seqEnd: 8,
    parent: null,
    children: [],
    resume: "coppice resume parent",
  });
  const nobody = await view.refusable("/api/session", { session: "nobody" });
  expect(nobody).toMatchObject({ status: 404 });
  expect(JSON.stringify(nobody)).not.toContain("store."); // a reader of the page calls no method
});

test.each(["another program", "the program that serves it"])(
  "a session that %s took back is shown without what it superseded",
  async (writer) => {
    const path = temporaryPath();
    const store = openedStore(path);
    bake(store, "a", 2);
    const view = await ServedView.entered(writer === "another program" ? path : store);
    const listed = async () => (await view.get("/api/sessions", { text: "bread" })).sessions;
    expect(await listed()).toMatchObject([{ id: "a", messageCount: 8 }]);
    expect(await view.get("/api/session", { session: "a" })).toMatchObject({ supersededAtMs: null });
    const [, , , , fifth] = store.resume("a").messages();
    store.resume("a").append(user("soon superseded"));
    store.resume("a").edit(fifth!.id, user("How much salt?"));
    const { supersededAtMs, ...after } = await view.get("/api/session", { session: "a" });
    expect(after).toMatchObject({ seqEnd: 5, children: [], session: { messageCount: 5 } });
    expect(supersededAtMs).toEqual(expect.any(Number));
    expect(await listed()).toMatchObject([{ id: "a", messageCount: 5 }]);
    const { sessions } = await view.get("/api/news", { after: 0 });
    expect(sessions).toEqual([{ session: "a", messageCount: 5, seqFirst: 0 }]);
    store.resume("a").undo();
    expect(await view.get("/api/session", { session: "a" })).toMatchObject({ seqEnd: 9, children: [] });
    expect(await listed()).toMatchObject([{ id: "a", messageCount: 9 }]);
  },
);

test("forgetting first says what would go, and then needs exactly that word", async () => {
  const store = temporaryStore();
  bake(store, "s", 10);
  const view = await ServedView.entered(store, { write: true });
  const messages = [store.resume("s").messages({ limit: 1 })[0]!.id];
  const asked = JSON.parse((await view.post("/api/forget", { session: "s", messages })).body);
  expect(asked).toMatchObject({ messageCount: 1, erased: false, confirm: expect.any(String) });
  expect(store.resume("s").info().messageCount).toBe(40);
  expect(await view.post("/api/forget", { session: "s", confirm: asked.confirm })).toMatchObject({ status: 409 });
  expect(await view.post("/api/forget", { session: "s", messages, confirm: "no" })).toMatchObject({ status: 409 });
  expect(store.resume("s").info().messageCount).toBe(40);
  const done = JSON.parse((await view.post("/api/forget", { session: "s", messages, confirm: asked.confirm })).body);
  expect(done).toMatchObject({ messageCount: 1, confirm: null });
  expect(store.resume("s").info().messageCount).toBe(39);
  const { body } = await view.refusable("/api/export", { session: "s" });
  expect(body.trim().split("\n")).toHaveLength(40);
});

test("a message that has not graduated can be pinned and unpinned", async () => {
  const store = temporaryStore();
  bake(store, "s", 10);
  const view = await ServedView.entered(store, { write: true });
  const [newest, oldest] = [
    store.resume("s").messages({ last: 1 })[0]!.id,
    store.resume("s").messages({ limit: 1 })[0]!.id,
  ];
  for (const pinned of [true, false]) {
    expect(await view.post("/api/pin", { message: newest, pinned })).toMatchObject({ status: 200 });
    expect(store.resume("s").messages({ last: 1 })[0]).toMatchObject({ pinned });
  }
  expect(await view.post("/api/pin", { message: oldest, pinned: true })).toMatchObject({ status: 400 });
  expect(await view.post("/api/pin", { message: 9_999, pinned: true })).toMatchObject({ status: 404 });
});

test("pages hear of what other connections write, and nothing is said while nothing happens", async () => {
  const path = temporaryPath();
  const store = openedStore(path);
  bake(store, "s", 1);
  const view = await ServedView.entered(path);
  const { request } = await import("node:http");
  let heard = "";
  const options = { host: "127.0.0.1", port: view.port, path: "/api/events", headers: { [KEY_HEADER]: view.key! } };
  const listening = request(options, (response) => {
    response.on("data", (chunk) => {
      heard += String(chunk);
    });
    response.on("error", () => {});
  });
  listening.on("error", () => {});
  listening.end();
  await expect.poll(() => heard).toContain("retry");
  await sleep(700);
  expect(heard).not.toContain("change");
  store.resume("s").append(user("news"));
  await expect.poll(() => heard).toContain("event: change");
  const change = JSON.parse(/data: (.*)/.exec(heard)![1]!);
  expect(change).toMatchObject({ newestMessageId: 5, sessions: ["s"] });
  const news = await view.get("/api/news", { after: 4 });
  expect(news.sessions).toEqual([{ session: "s", messageCount: 1, seqFirst: 4 }]);
  listening.destroy();
});

test("health counts queues and costs, and checks run apart", async () => {
  const path = temporaryPath();
  const store = openedStore(path);
  bake(store, "s", 10);
  const view = await ServedView.entered(path);
  expect(await view.get("/api/health", {})).toMatchObject({ stats: { messageCount: 40 }, queues: [], costsByDay: [] });
  const checks = await Promise.all([view.get("/api/verify", {}), view.get("/api/verify", {})]);
  for (const check of checks) expect(check).toMatchObject({ ok: true, messageCount: 40 });
  expect(await view.get("/api/progress", {})).toEqual({ sessionCount: 1, totalCount: 1 });
  const { findings } = await view.get("/api/doctor", {});
  expect(findings.map(({ check }) => check)).toContain("integrity");
});

test("every statement that an answer shows can be run", async () => {
  const store = temporaryStore();
  bake(store, "it's", 20);
  await store.upkeep();
  const view = await ServedView.entered(store);
  const statements = await Promise.all([
    view.get("/api/sessions", { project: "bakery", text: "it's", sinceMs: 1 }),
    view.get("/api/days", { project: "bakery" }),
    view.get("/api/search", { q: 'rye\'s "dough"', project: "bakery", role: "user" }),
    view.get("/api/session", { session: "it's" }),
    view.get("/api/messages", { session: "it's" }),
    view.get("/api/forest", { session: "it's" }),
    view.get("/api/subjects", {}),
    view.get("/api/work", {}),
    view.get("/api/work", { file: "it's.ts" }),
    view.get("/api/work", { error: "it's wrong", project: "bakery" }),
    view.get("/api/work", { command: "make 'it'" }),
    view.get("/api/health", {}),
    view.get("/api/context", { session: "it's" }),
  ]);
  for (const { sql } of statements) expect(() => store.query(sql), sql).not.toThrow();
  expect(store.query(statements[2].sql).length).toBeGreaterThan(0);
});

test("past work names its messages by their place in the session", async () => {
  const store = temporaryStore();
  const session = store.session("s", { title: "Lease" });
  session.append([
    { role: "user", content: "Mend the lease." },
    ...edits("/srv/web/src/lease.ts", "The clock was wrong."),
  ]);
  const view = await ServedView.entered(store);
  const { items } = await view.get("/api/work", { file: "lease.ts" });
  expect(items).toMatchObject([
    {
      about: "Lease · /srv/web/src/lease.ts",
      sessionId: "s",
      lines: [{ kind: "changed", text: "The clock was wrong.", seq: 1 }],
    },
  ]);
  expect((await view.get("/api/work", { command: "cargo" })).items).toEqual([]);
});

test("work begins with what comes up most: no probes, no other tools, paths within the project, and the line of an error", async () => {
  const store = temporaryStore();
  const project = "/srv/web";
  const at = (ms: number) => ({ at: ms });
  const change = (path: string, ms: number) =>
    acts("Edit", { file_path: path, old_string: "a", new_string: "b" }, "done", at(ms));
  const wrong = (place: string) => `src/lease.ts:${place} - error TS2304: Cannot find name 'lease'.`;
  store
    .session("a", { project })
    .append([
      user("Mend the lease."),
      ...change(`${project}/src/lease.ts`, 1_000),
      ...change(`${project}/.worktrees/2/src/lease.ts`, 2_000),
      ...change("/tmp/notes.md", 3_000),
      ...fails("npm run check -- --fast", wrong("7:3"), at(4_000)),
      ...fails("ls missing", "ls: cannot access missing: No such file or directory", at(5_000)),
      ...runs("npm run check", "done", at(6_000)),
    ]);
  store
    .session("b", { project })
    .append([
      user("Mend it again."),
      ...fails("cd web && npm run check", wrong("9:1"), at(7_000)),
      ...fails("ls missing", "ls: cannot access missing: No such file or directory", at(8_000)),
      ...acts("Edit", { file_path: "src/x.ts" }, "String to replace not found in file.", { isError: true, at: 8_500 }),
      ...change("src/lock.ts", 9_000),
    ]);
  await store.upkeep();
  const view = await ServedView.entered(store);
  const { files, errors, commands, sql } = await view.get("/api/work-overview", {});
  expect(files.map(({ name, count }) => [name, count])).toEqual([
    ["src/lease.ts", 2],
    ["src/lock.ts", 1],
  ]);
  expect(errors).toMatchObject([
    { name: wrong("9:1"), count: 2, sessionCount: 2, lastAtMs: 7_000, sessionId: "b", seq: 1, detail: "npm run check" },
  ]);
  expect(commands).toMatchObject([{ name: "npm run check", count: 2, totalCount: 3, detail: wrong("9:1") }]);
  expect(store.query(sql).length).toBeGreaterThan(0);
  const { items } = await view.get("/api/work", { command: commands[0]!.name });
  expect(items.length).toBeGreaterThan(0);
  const later = await view.get("/api/work-overview", { sinceMs: 8_200, project });
  expect([later.files.map(({ name }) => name), later.errors]).toEqual([["src/lock.ts"], []]);
  store.session("b").append(change("src/lock.ts", 10_000));
  await store.upkeep();
  const now = await view.get("/api/work-overview", { sinceMs: 8_200, project });
  expect(now.files[0]).toMatchObject({ name: "src/lock.ts", count: 2 });
});

test("work begins also where programs are quoted or made by the shell, and calls of one message count each", async () => {
  const store = temporaryStore();
  const lines = ["'my prog' run", '"C:\\Program Files\\x.exe" build', "$(which npm) test", `${"x".repeat(300)} go`];
  const session = store.session("s");
  for (const [index, line] of [...lines, ...lines].entries()) {
    session.append(fails(line, "error: it broke", { at: 1_000 * (index + 1) }));
  }
  const together = ["a", "b", "c"].map((name) => fails(`npm test ${name}.ts`, "error: it broke", { at: 20_000 }));
  const [calls, results] = [0, 1].map((at) => together.flatMap((pair) => pair[at]!.parts ?? []));
  session.append([
    { role: "assistant", parts: calls!, createdAt: 20_000 },
    { role: "tool", parts: results!, createdAt: 20_001 },
  ]);
  await store.upkeep();
  const view = await ServedView.entered(store);
  const { commands } = await view.get("/api/work-overview", {});
  expect(commands.find(({ name }) => name === "npm test")).toMatchObject({ count: 3, totalCount: 3 });
  expect(commands.length).toBeGreaterThan(3);
  for (const { count, totalCount } of commands) expect(totalCount).toBeGreaterThanOrEqual(count);
});

test("what agents used is told by day, project, model and agent, without a price that nobody said", async () => {
  const store = temporaryStore();
  const told = (model: string, output_tokens: number, cost?: number): MessageInput => ({
    ...reply("Done."),
    createdAt: Date.UTC(2026, 1, 3),
    metadata: { model, usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens }, ...(cost && { cost }) },
  });
  store.session("a", { project: "bakery" }).append([user("Bake."), told("m", 20), told("m", 30)]);
  store.session("b", { project: "mill" }).append([user("Mill."), told("n", 40, 0.25)]);
  const view = await ServedView.entered(store);
  const { rows, sql } = await view.get("/api/usage", {});
  const day = "2026-02-03";
  const sorted = rows.sort((left, right) => left.replyCount - right.replyCount);
  const tokens = { cachedTokens: 10, inputTokens: 20, outputTokens: 50 };
  expect(sorted).toEqual([
    {
      day,
      project: "mill",
      model: "n",
      agent: null,
      replyCount: 1,
      inputTokens: 10,
      cachedTokens: 5,
      outputTokens: 40,
      costUsd: 0.25,
    },
    { day, project: "bakery", model: "m", agent: null, replyCount: 2, ...tokens, costUsd: null },
  ]);
  expect(store.query(sql)).toHaveLength(2);
  // A reader's day begins at another hour, as in the list that a day leads to.
  for (const [offsetMinutes, its] of [
    [60, "2026-02-03"],
    [-300, "2026-02-02"],
    [330, "2026-02-03"],
  ] as const) {
    const there = await view.get("/api/usage", { offsetMinutes });
    expect(there.rows.map((row) => row.day)).toEqual([its, its]);
    expect(store.query(there.sql)).toEqual(there.rows);
    expect((await view.get("/api/sql", { query: there.sql })).rows).toHaveLength(2);
  }
  store.resume("b").append([told("n", 60)]);
  const asked = await Promise.all([view.get("/api/usage", {}), view.get("/api/usage", {})]);
  for (const { rows: now } of asked) expect(now.map(({ replyCount }) => replyCount)).toEqual([2, 2]);
});

test("what a compaction lost is told by its summary", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  const summary = { role: "user", content: "Nothing to tell.", metadata: { isCompactSummary: true } } as const;
  session.append([user("Never touch the east oven."), summary, user("Bake the rye bread first."), summary]);
  const view = await ServedView.entered(store);
  const linesOf = async (seq: number) => {
    const { lost } = await view.get("/api/lost", { session: "s", summary: session.messages()[seq]!.id });
    return lost?.lines.map((line) => [line.seq, line.text]);
  };
  expect(await linesOf(1)).toEqual([[0, "Never touch the east oven."]]);
  expect(await linesOf(3)).toContainEqual([2, "Bake the rye bread first."]);
  expect(await linesOf(0)).toBeUndefined();
});

test("parameters that mean nothing are refused with what was expected", async () => {
  const view = await ServedView.entered(temporaryStore());
  for (const path of [
    "/api/sessions?limit=0",
    "/api/sessions?limit=1e3",
    "/api/sessions?colour=red",
    "/api/messages",
    "/api/messages?session=s&seqFrom=-1",
    "/api/search?q=x&role=king",
    "/api/context?session=s&strategy=best",
    "/api/members?root=cluster",
  ]) {
    const { status, body } = await view.ask(path);
    expect([400, 404], path).toContain(status);
    expect(JSON.parse(body).error.message.length).toBeGreaterThan(10);
  }
});

test("a fork is shown with what it shares, also before its first own message", async () => {
  const store = temporaryStore();
  bake(store, "s", 6);
  const session = store.resume("s");
  const roots = session.roots({ level: "cluster" }).length;
  expect(roots).toBeGreaterThan(0);
  const fork = session.fork({ id: "f" });
  const view = await ServedView.entered(store);
  for (const own of [0, 12]) {
    for (let seq = 24; seq < 24 + own; seq++) fork.append((seq % 2 === 0 ? user : reply)(`Does loaf ${seq} rise?`));
    const seqEnd = 24 + own;
    const context = await view.get("/api/context", { session: "f" });
    expect(context.atSeq).toBe(seqEnd - 1);
    expect(context.coverage.at(-1)!.seqLast).toBe(seqEnd - 1);
    expect((await view.get("/api/session", { session: "f" })).seqEnd).toBe(seqEnd);
    const outline = await view.get("/api/outline", { session: "f", limit: 100 });
    expect(outline.seqs).toEqual(Array.from({ length: seqEnd }, (_, seq) => seq));
    const { messages, sql } = await view.get("/api/messages", { session: "f", limit: 100 });
    expect(store.query(sql).map(({ seq }) => seq)).toEqual(messages.map(({ seq }) => seq));
    const forest = await view.get("/api/forest", { session: "f" });
    expect(forest).toMatchObject({ seqEnd, logPosition: expect.any(Number) });
    expect(forest.clusters.map(({ root }) => root)).toEqual(
      fork.roots({ level: "cluster" }).map(({ root }) => Number(/\d+/.exec(root)![0])),
    );
    for (const { firstAtMs, lastAtMs } of forest.clusters) expect(Math.min(firstAtMs, lastAtMs)).toBeGreaterThan(0);
    const { positions } = await view.get("/api/log", { session: "f", limit: 1000 });
    expect(positions.at(-1)).toBe(forest.logPosition);
    for (const position of positions) {
      expect(await view.get("/api/why", { session: "f", position })).toMatchObject({ position });
    }
    expect(await view.get("/api/session", { session: "f" })).toMatchObject({
      sharedSeqLast: 23,
      parent: { session: "s", forkSeq: 23, sharedSeqLast: null },
    });
    expect((await view.get("/api/session", { session: "s" })).children).toMatchObject([
      { session: "f", forkSeq: 23, sharedSeqLast: 23 },
    ]);
    if (own === 0) {
      expect(positions).toEqual((await view.get("/api/log", { session: "s", limit: 1000 })).positions);
    }
  }
});

test("the context of an earlier moment is shown of a session with forks, and of a fork from its beginning on", async () => {
  const store = temporaryStore();
  bake(store, "s", 6);
  const session = store.resume("s");
  const seen: string[] = [];
  for (let seq = 24; seq < 30; seq++) {
    session.append((seq % 2 === 0 ? user : reply)(`Does loaf ${seq} rise?`));
    seen[seq] = JSON.stringify(session.render().messages);
  }
  const fork = session.fork({ id: "f", toSeq: 26 });
  const begun = JSON.stringify(fork.render().messages);
  for (let seq = 27; seq < 40; seq++) {
    fork.append((seq % 2 === 0 ? user : reply)(`Does bun ${seq} rise?`));
    seen[seq] = JSON.stringify(fork.render().messages);
  }
  for (const id of ["g", "h"]) fork.fork({ id, toSeq: 36 }).append(user("And a roll?"));
  const view = await ServedView.entered(store);
  const past = await view.get("/api/context", { session: "s", at: "25" });
  expect(JSON.stringify(past.rendered)).toBe(seen[25]);
  expect(JSON.stringify((await view.get("/api/context", { session: "f", at: "26" })).rendered)).toBe(begun);
  expect(JSON.stringify((await view.get("/api/context", { session: "f", at: "31" })).rendered)).toBe(seen[31]);
  expect(store.sessions().map(({ id }) => id)).toEqual(expect.arrayContaining(["s", "f", "g", "h"]));
  const refused = await view.refusable("/api/context", { session: "f", at: "25" });
  expect(refused).toMatchObject({ status: 400 });
  expect(JSON.stringify(refused)).toContain("from seq 26 on");
});
