import { beforeEach, describe, expect, test } from "vitest";
import type { MessageInput, Store } from "../../../src/index.ts";
import { acts, edits, fails, runs } from "../../support/acts.ts";
import { assistant, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 5, 12);

/** Words that put a step into the subject of the lock. */
const LOCK = "stale session lock blocks the writer until the lock file is removed";

let store: Store;
let now: number;

/** Appends a session, a day after the last one. */
function say(id: string, messages: MessageInput[], project = "web"): void {
  now += DAY_MS;
  store.session(id, { project }).append(messages);
}

const idOf = (sessionId: string, seq: number): number => store.session(sessionId).messages()[seq]!.id;
const theSubject = (): string => store.subjects()[0]!.subject;

beforeEach(() => {
  now = START_MS;
  store = openedStore(temporaryPath(), { clock: () => now });
});

async function settle(): Promise<void> {
  now += 4 * DAY_MS;
  await store.upkeep();
}

describe("subject", () => {
  test("lists its clusters over time, what was decided and what replaced it, and its files, each with its source", async () => {
    say("first", [
      user(`Please find out why the ${LOCK}.`),
      assistant(`We decided that the ${LOCK} after 5 seconds. See src/lock.ts.`),
      user("Thanks!"),
    ]);
    say("second", [
      user(`Never let the ${LOCK} for long.`),
      assistant(`We decided that the ${LOCK} after 10 seconds. See src/lock.ts and src/writer.ts.`),
      user("Thanks!"),
    ]);
    await settle();
    const handle = theSubject();
    const page = store.subject(handle);
    const line = (sessionId: string, seq: number, text: string) => ({
      text,
      by: seq === 0 ? "user" : "assistant",
      sessionId,
      seq,
      messageId: idOf(sessionId, seq),
      atMs: START_MS + (sessionId === "first" ? 1 : 2) * DAY_MS,
    });
    expect(page).toMatchObject({
      subject: handle,
      project: "web",
      clusterCount: 2,
      sessionCount: 2,
      messageCount: 4,
      firstAtMs: START_MS + DAY_MS,
      lastAtMs: START_MS + 2 * DAY_MS,
      open: [],
    });
    expect(page.timeline).toEqual([
      {
        cluster: expect.stringMatching(`^cluster:${idOf("first", 0)}@`),
        title: expect.stringMatching(/find out why the stale session lock blocks/i),
        sessionId: "first",
        seqFirst: 0,
        seqLast: 1,
        messageCount: 2,
        firstAtMs: START_MS + DAY_MS,
        lastAtMs: START_MS + DAY_MS,
      },
      expect.objectContaining({ sessionId: "second", messageCount: 2 }),
    ]);
    const [newest, ...others] = page.decided;
    expect(newest).toEqual({
      ...line("second", 1, `We decided that the ${LOCK} after 10 seconds. See src/lock.ts and src/writer.ts.`),
      replaces: [
        line("second", 0, `Never let the ${LOCK} for long.`),
        line("first", 1, `We decided that the ${LOCK} after 5 seconds. See src/lock.ts.`),
      ],
    });
    expect(others).toEqual([]);
    expect(page.files).toEqual([line("second", 1, "src/lock.ts"), line("second", 1, "src/writer.ts")]);
    for (const { cluster, messageCount } of page.timeline) {
      expect(store.expand(cluster).memberCount).toBe(messageCount);
    }
  });

  test("lists open tasks of the last list and a question at the end, and leaves it to the closing words to tell of errors", async () => {
    say("first", [user(LOCK), assistant(LOCK), user("Thanks!")]);
    say("second", [
      user(LOCK),
      ...runs("npm test lock", "Error: the lock test failed", { isError: true }),
      ...runs("npm run lint", "Error: lint failed", { isError: true }),
      ...runs("npm run lint", "0 errors"),
      ...acts("TodoWrite", { todos: [{ content: "Remove the old lock", status: "pending" }] }, "Saved."),
      ...acts(
        "TodoWrite",
        {
          todos: [
            { content: "Remove the old lock", status: "completed" },
            { content: "Test the session lock", status: "pending" },
          ],
        },
        "Saved.",
      ),
      assistant(`${LOCK}. Shall I also remove the lock of the reader?`),
    ]);
    await settle();
    const { open } = store.subject(theSubject());
    expect(open.map(({ kind, text, seq }) => [kind, text, seq])).toEqual([
      ["question", "Shall I also remove the lock of the reader?", 11],
      ["task", "Test the session lock", 9],
    ]);
  });

  test("what the user asked is not open if the agent said that all passes, and only ran commands since", () => {
    const passing = [user("Mend the tests of the lock."), ...edits("lock.ts"), ...runs("npm test", "ok")];
    const openAfter = (id: string, ...messages: MessageInput[]) => {
      say(id, [...passing, ...messages], id);
      return store.recap().topics.flatMap((topic) => (topic.sessionIds[0] === id ? topic.open : [])).length;
    };
    const said = "The tests are now passing. Let me run the linter.";
    expect(openAfter("checked", ...runs("npm run lint", "ok", { said }))).toBe(0);
    expect(openAfter("went on", ...runs("npm run lint", "ok", { said }), ...edits("key.ts"))).toBe(1);
    expect(openAfter("failed", ...fails("npm run lint", "Error: it failed", { said }))).toBe(2);
    expect(openAfter("in part", ...runs("npm test", "ok", { said: "2 tests pass, 3 tests fail." }))).toBe(1);
  });

  test("an offer to help is no open question", () => {
    say("offered", [user(LOCK), assistant(`${LOCK}. How can I help you today?`)]);
    expect(store.recap().topics.flatMap(({ open }) => open)).toEqual([]);
  });

  test("of a turn that was cut off, lists its errors without a later success, and what the user asked", () => {
    const fails = (command: string) => runs(command, "Error: it failed", { isError: true });
    const open = (id: string, messages: MessageInput[]) => {
      say(id, messages, id); // those of one project and title are one topic
      const found = store.recap().topics.flatMap((topic) => (topic.sessionIds[0] === id ? topic.open : []));
      return found.map(({ kind, text, seq }) => [kind, text, seq]);
    };
    const asked = [
      user(LOCK),
      ...fails("npm run lint"),
      assistant("The lint fails."),
      user("Repair the lint of the lock, too."),
    ];
    const messages = [...asked, ...fails("npm test"), ...runs("npm test", "ok"), ...fails("npm run build")];
    expect(open("cut", messages)).toEqual([
      ["error", "npm run build: Error: it failed", 10],
      ["task", "Repair the lint of the lock, too.", 4],
    ]);
    expect(open("closed", [...messages, assistant("The build of the lock fails, because a file is missing.")])).toEqual(
      [],
    );
    expect(open("thanked", [...messages, assistant("The build of the lock fails."), user("Thanks!")])).toEqual([]);
    expect(open("asked", [...asked.slice(0, -1), user("Why does the lint of the lock fail?")])).toEqual([
      ["question", "Why does the lint of the lock fail?", 4],
    ]);
  });

  test.each([
    ["go test ./a/... -v", "cd /work && go test ./a/... | tail -5", false],
    ["go test ./...", "go test ./a/", true],
    ["npm test", "npm test -- --grep lexer", true],
    ["python -m pytest tests", "python -m json.tool x.json", true],
    ["node scripts/migrate.js", "node --version", true],
    ["docker compose up -d", "docker compose up --help", true],
    ["npm test lock", "npm test", false],
    ["npm test", "npm test lock", true],
    ["npm test && npm run lint", "npm test; npm run lint", false],
    ["npm run lint", "npm run build", true],
    ["make", "echo done", true],
  ])("after an error of %j, a success of %j leaves it open: %j", (failing, succeeding, isOpen) => {
    say("work", [user(LOCK), ...runs(failing, "Error: it failed", { isError: true }), ...runs(succeeding, "done")]);
    const open = store.recap().topics.flatMap((topic) => topic.open.filter(({ kind }) => kind === "error"));
    expect(open.map(({ text }) => text)).toEqual(isOpen ? [`${failing}: Error: it failed`] : []);
  });

  test("an error of a tool ends when the tool succeeds, with whatever it is, and what the user refused is none", () => {
    const read = (path: string, content: string, isError: boolean) =>
      acts("Read", { file_path: path }, content, { isError });
    const openIn = () => {
      return store.recap().topics.flatMap((topic) => topic.open.filter(({ kind }) => kind === "error")).length;
    };
    say("work", [user(LOCK), ...read("a.go", "File does not exist.", true)]);
    expect(openIn()).toBe(1);
    say("work", read("b.go", "package b", false));
    expect(openIn()).toBe(0);
    say("work", runs("rm -r lock", "The user doesn't want to proceed with this tool use.", { isError: true }));
    expect(openIn()).toBe(0);
  });

  test("an open end of another subject of the session is not listed", async () => {
    say("first", [user(LOCK), assistant(LOCK), user("Thanks!")]);
    const colors = "purple buttons look better beside yellow headings";
    say("second", [
      user(colors),
      assistant(colors),
      ...runs(`check ${colors}`, `Error: ${colors}`, { isError: true }),
      user(LOCK),
      assistant(LOCK),
      user("Thanks!"),
    ]);
    await settle();
    const handle = theSubject();
    expect(store.expand(idOf("second", 4)).place!.subject).toBe(handle);
    expect(store.expand(idOf("second", 2)).place!.subject).not.toBe(handle);
    expect(store.subject(handle).open).toEqual([]);
    const open = () => store.recap().topics.flatMap((topic) => topic.open.map(({ messageId }) => messageId));
    expect(open()).toEqual([]);
    say("second", [user(colors), ...runs(`check ${colors}`, `Error: ${colors}`, { isError: true })]);
    await settle();
    expect(store.subject(handle).open).toEqual([]);
    expect(open()).toHaveLength(2);
  });

  test("a message that says two like things replaces nothing", async () => {
    say("first", [user(LOCK), assistant(LOCK), user("Thanks!")]);
    say("second", [
      user(LOCK),
      assistant(`We decided that the ${LOCK} after 5 seconds.\n\nWe decided that the ${LOCK} after 9 seconds.`),
      user("Thanks!"),
    ]);
    await settle();
    expect(store.subject(theSubject()).decided.map(({ replaces }) => replaces)).toEqual([[], []]);
  });

  test("a question that was answered is not open", async () => {
    say("first", [user(LOCK), assistant(LOCK), user("Thanks!")]);
    say("second", [user(LOCK), assistant(`${LOCK}. Shall I remove it?`), user("Yes, remove it.")]);
    await settle();
    expect(store.subject(theSubject()).open).toEqual([]);
  });

  test("keeps to a limit, with the newest clusters", async () => {
    for (const name of ["a", "b", "c", "d"]) say(name, [user(LOCK), assistant(LOCK), user("Thanks!")]);
    await settle();
    const page = store.subject(theSubject(), { limit: 2 });
    expect(page.timeline.map(({ sessionId }) => sessionId)).toEqual(["c", "d"]);
    expect(page.clusterCount).toBe(4);
    expect(store.subject(theSubject(), { limit: 0 })).toMatchObject({ timeline: [], decided: [], open: [], files: [] });
  });

  test("is found by any cluster of the subject, and by no other handle", async () => {
    for (const name of ["a", "b"]) say(name, [user(LOCK), assistant(LOCK), user("Thanks!")]);
    await settle();
    const handle = theSubject();
    expect(store.subject(`subject:${idOf("b", 0)}`).subject).toBe(handle);
    expect(store.subject(handle, { project: "web" }).subject).toBe(handle);
    for (const [wrong, code] of [
      ["subject:999999", "ROOT_NOT_FOUND"],
      [`cluster:${idOf("b", 0)}`, "HANDLE_INVALID"],
      ["lock", "HANDLE_INVALID"],
    ] as const) {
      expect(() => store.subject(wrong)).toThrow(expect.objectContaining({ code }));
    }
    expect(() => store.subject(handle, { project: "api" })).toThrow(
      expect.objectContaining({ code: "ROOT_NOT_FOUND" }),
    );
    expect(() => store.subject(handle, { limit: -1 })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });
});

describe("recap", () => {
  test.each([
    "Don't commit anything to the harbor's main branch without a review.",
    "Do not edit the tide table by hand, it is generated from the almanac.",
    "Don't touch anything in the vendor shed, it is generated.",
    "The fix for the leak of the sluice is to glue the seal before the flood.",
    "The leak was resolved by a rubber seal, because leather shrinks in salt.",
  ])("tells what lasts as decided: %s", (text) => {
    const isRule = text.startsWith("Do");
    const messages = [user("Why does the sluice leak?"), isRule ? user(text) : assistant(text)];
    say("dam", [...messages, assistant("Understood, thank you.")]);
    expect(store.recap({ sinceMs: START_MS }).topics[0]!.decided).toMatchObject([{ text }]);
  });

  test.each([
    "The leak of the sluice is fixed now, and all the pumps are green again.",
    "The cause of the leak is still unknown, and the pumps are slow instead of idle.",
    "No decision was made about the leak of the sluice in this meeting.",
  ])("does not tell the state of things as decided: %s", (text) => {
    say("dam", [user("Why does the sluice leak?"), assistant(text), assistant("Understood, thank you.")]);
    expect(store.recap({ sinceMs: START_MS }).topics[0]!.decided).toEqual([]);
  });

  test("tells choices as decided, and neither causes nor news of the day nor rules for the next answer", () => {
    say("dam", [
      user("Why does the sluice of the upper dam leak? Don't change anything yet."),
      assistant("The cause is the seal of the sluice, because it was cut too short."),
      assistant("All tests of the sluice pass, and the leak of the dam is fixed and verified."),
      assistant("The pump of the dam exists already. Let me check that the fix of the seal is what we decided."),
      assistant("The seal of the sluice is now made of rubber instead of leather."),
    ]);
    const decided = store.recap({ sinceMs: START_MS }).topics.flatMap((topic) => topic.decided.map(({ text }) => text));
    expect(decided).toEqual(["The seal of the sluice is now made of rubber instead of leather."]);
  });

  test("tells by session what was worked on, decided and left open since a time, newest first", async () => {
    say("old", [user(LOCK), assistant(LOCK), user("Thanks!")]);
    say("colors", [
      user("Make the purple buttons yellow beside the headings."),
      assistant("We decided for purple buttons beside yellow headings."),
      user("Thanks!"),
    ]);
    say("new", [user(LOCK), assistant(`${LOCK}. The fix is a lock with a lease.`), user("Thanks!")]);
    await settle();
    const recap = store.recap({ sinceMs: START_MS + 2 * DAY_MS });
    expect(recap).toMatchObject({ sessionCount: 2, messageCount: 6, topicCount: 2 });
    expect(recap.topics.map(({ sessionIds }) => sessionIds)).toEqual([["new"], ["colors"]]);
    expect(recap.topics[0]!.told.map(({ text }) => text)).toContain(`${LOCK}. The fix is a lock with a lease.`);
    expect(recap.topics[0]!.decided.map(({ text, messageId }) => [text, messageId])).toEqual([
      [`${LOCK}. The fix is a lock with a lease.`, idOf("new", 1)],
    ]);
    expect(store.recap({ sinceMs: now }).topics).toEqual([]);
    expect(store.recap({ sinceMs: START_MS, untilMs: START_MS + 2 * DAY_MS - 1 })).toMatchObject({
      sessionCount: 1,
      messageCount: 3,
    });
    expect(store.recap({ untilMs: START_MS - 1 })).toMatchObject({
      sinceMs: START_MS - 1 - 7 * DAY_MS,
      sessionCount: 0,
    });
    expect(store.recap().topics).toHaveLength(2); // the last seven days
    expect(store.recap({ project: "api" })).toMatchObject({ sessionCount: 0, messageCount: 0, topics: [] });
  });

  test("counts only messages of the time, and leaves out sessions without one", () => {
    const settings = { hotSize: 1, overlap: 0, evictBatch: 1, openClustersMax: 1 };
    const at = (day: number, count: number) =>
      Array.from({ length: count }, () => user(LOCK, { createdAt: START_MS + day * DAY_MS }));
    store
      .session("gap", settings)
      .append([...at(0, 3), ...at(10, 4), user("Ok.", { createdAt: START_MS + 10 * DAY_MS })]);
    const span = (from: number, to: number) => {
      return store.recap({ sinceMs: START_MS + from * DAY_MS, untilMs: START_MS + to * DAY_MS });
    };
    expect(store.session("gap").info().clusterCount).toBe(1);
    expect(span(4, 6)).toMatchObject({ sessionCount: 0, messageCount: 0, topics: [] });
    const first = { messageCount: 3, firstAtMs: START_MS, lastAtMs: START_MS };
    expect(span(0, 6)).toMatchObject({ sessionCount: 1, messageCount: 3, topics: [first] });
  });

  test("includes what is still in the hot window", () => {
    say("short", [user("Please repair the greenhouse thermostat."), assistant("Shall I replace the sensor?")]);
    const [topic, ...others] = store.recap().topics;
    expect(others).toEqual([]);
    expect(topic).toMatchObject({
      title: "Repair the greenhouse thermostat",
      sessionIds: ["short"],
      messageCount: 2,
      open: [{ kind: "question", text: "Shall I replace the sensor?", messageId: idOf("short", 1) }],
    });
  });

  test("tells no answer that says nothing without what it answers", () => {
    store
      .session("s", { project: "web" })
      .append([
        user("Which hinge does the garden gate need?"),
        assistant("The gate needs the brass hinge, because iron rusts in the garden."),
        user("yes, go on"),
        assistant("Let me fetch the hinge from the shed."),
      ]);
    const told = store.recap({}).topics[0]!.told.map(({ text }) => text);
    expect(told).toContain("The gate needs the brass hinge, because iron rusts in the garden.");
    expect(told.join()).not.toMatch(/go on|Let me fetch/);
  });

  test("gives every project its place, and merges sessions of one title", () => {
    const said = (id: string, project: string, count: number, more: object = {}) =>
      store
        .session(id, { project, ...more })
        .append(Array.from({ length: count }, (_, index) => user(`Please paint fence ${index} of ${id}.`)));
    said("w1", "web", 9, { title: "Paint" });
    said("w2", "web", 8, { title: "Paint" });
    said("w3", "web", 7, { title: "Mow" });
    said("a1", "api", 1, { title: "Paint" });
    const { topics, topicCount, sessionCount } = store.recap({ limit: 2 });
    expect(topics.map(({ project, sessionIds }) => [project, sessionIds.toSorted()]).toSorted()).toEqual([
      ["api", ["a1"]],
      ["web", ["w1", "w2"]],
    ]);
    expect({ topicCount, sessionCount }).toEqual({ topicCount: 3, sessionCount: 4 });
  });

  test("names a session by what was asked first, as lists and hooks do", () => {
    const steps = Array.from({ length: 12 }, (_, index) =>
      assistant(`We decided to grease bearing ${index} of the mill.`),
    );
    say("mill", [user("Please repair the mill before the harvest."), ...steps]);
    const [topic] = store.recap().topics;
    expect(topic!.title).toBe("Repair the mill before the harvest");
    expect(store.resume("mill").info().name).toBe(topic!.title);
  });

  test("leaves out a session of which nothing is told, unless its project has no other", () => {
    const greet = (id: string, project: string) => {
      store.session(id, { project }).append([user("hi"), assistant("Hello.")]);
      now += 60_000;
    };
    greet("a", "mill");
    greet("b", "dam");
    const repair = [user("Please repair the mill before the harvest."), assistant("The mill wheel turns again.")];
    store.session("c", { project: "mill" }).append(repair);
    const { topics, topicCount } = store.recap();
    expect(topics.map(({ sessionIds }) => sessionIds.join())).toEqual(["c", "b"]);
    expect(topicCount).toBe(2);
  });

  test("takes for done what another session of the project began with at once", async () => {
    const cutOff = (id: string, project: string) => {
      store
        .session(id, { project })
        .append([user("Add a lantern to the north pier of the harbor."), ...runs("ls", "pier")]);
    };
    const openIn = () =>
      store.recap().topics.flatMap(({ project, open }) => open.map(({ text }) => `${project}: ${text}`));
    cutOff("a", "harbor");
    cutOff("b", "village");
    expect(openIn()).toHaveLength(2);
    now += 60_000;
    store
      .session("c", { project: "harbor" })
      .append([user("Implement this plan: light the pier."), assistant("Done.")]);
    expect(openIn()).toEqual(["village: Add a lantern to the north pier of the harbor."]);
  });

  test("takes an agent's summary neither for a request nor for a rule", async () => {
    const summary = user("Task: mend the thermostat. We decided on copper. Never touch the east boiler.", {
      metadata: { isCompactSummary: true },
    });
    const messages = [summary, assistant("The greenhouse sensor is loose."), ...runs("make sensor", "made")];
    say("short", messages);
    store.session("long", { hotSize: 1, overlap: 0, evictBatch: 1 }).append([...messages, user("Ok.")]);
    expect(JSON.stringify(store.recap())).not.toMatch(/on copper|east boiler|mend the thermostat/i);
    await settle();
    const { topics } = store.recap();
    expect(topics.length).toBeGreaterThan(0);
    expect(JSON.stringify(topics)).not.toMatch(/on copper|east boiler|mend the thermostat/i);
    expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
  });

  test("chooses the largest topics, and those with open ends, and counts the others", () => {
    say("small", [user("Please paint the fence."), assistant("Done.")]);
    say(
      "large",
      Array.from({ length: 10 }, (_, index) => user(`Please tell story ${index} of the lighthouse.`)),
    );
    say("open", [user("Please bake the bread."), assistant("Which flour do you like?")]);
    const { topics, topicCount } = store.recap({ limit: 2 });
    expect(topicCount).toBe(3);
    expect(topics.map(({ sessionIds }) => sessionIds)).toEqual([["open"], ["large"]]);
  });

  test("refuses wrong options", () => {
    for (const wrong of [
      { limit: -1 },
      { linesMax: 1.5 },
      { sinceMs: "yesterday" },
      { until: 5 },
      { sinceMs: 6, untilMs: 5 },
    ]) {
      expect(() => store.recap(wrong as object)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    }
  });
});
