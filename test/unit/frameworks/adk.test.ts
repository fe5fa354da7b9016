import { createEvent, createEventActions, type Event, InMemorySessionService, type Session, State } from "@google/adk";
import { describe, expect, test } from "vitest";
import { CoppiceMemoryService, CoppiceSessionService } from "../../../src/frameworks/adk.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const ADA = { appName: "app", userId: "ada" };

function said(text: string, fields: Partial<Event> = {}): Event {
  return createEvent({ author: "user", content: { role: "user", parts: [{ text }] }, ...fields });
}

function changing(stateDelta: Record<string, unknown>, fields: Partial<Event> = {}): Event {
  return createEvent({ ...fields, actions: createEventActions({ stateDelta }) });
}

/** A new session of Ada's, in a store of its own. */
async function begun() {
  const store = temporaryStore();
  const service = new CoppiceSessionService(store);
  return { store, service, session: await service.createSession({ ...ADA, sessionId: "s1" }) };
}

describe("a session", () => {
  test("comes back with its events word for word, also in another process", async () => {
    const path = temporaryPath();
    const service = new CoppiceSessionService(openedStore(path));
    const session = await service.createSession({ ...ADA, sessionId: "s1", state: { foo: { deep: ["x"] } } });
    expect(session).toMatchObject({ ...ADA, id: "s1", events: [], state: { foo: { deep: ["x"] } } });
    const events = [
      said("Where is Oslo?", { timestamp: 1_000.5 }),
      createEvent({
        author: "guide",
        content: { role: "model", parts: [{ functionCall: { id: "c", name: "map", args: { q: "oslo" } } }] },
      }),
      createEvent({
        author: "guide",
        content: { role: "user", parts: [{ functionResponse: { id: "c", name: "map", response: { at: "59°N" } } }] },
      }),
      createEvent({
        author: "guide",
        content: { role: "model", parts: [{ text: "hm", thought: true }, { text: "In Norway." }] },
        output: { x: 1 },
      }),
      createEvent({ author: "guide" }),
    ];
    for (const event of events) expect(await service.appendEvent({ session, event })).toBe(event);
    expect(session.events).toEqual(events);
    const reading = new CoppiceSessionService(openedStore(path, { readonly: true }));
    const loaded = (await reading.getSession({ ...ADA, sessionId: "s1" }))!;
    expect(loaded.events).toEqual(JSON.parse(JSON.stringify(events)));
    expect(loaded.lastUpdateTime).toBe(events.at(-1)!.timestamp);
    const messages = openedStore(path, { readonly: true }).resume("adk:app/ada/s1").messages();
    expect(messages.map(({ role, name }) => [role, name])).toEqual([["user", "user"], ["assistant", "guide"], ["tool", "guide"], ["assistant", "guide"]]); // biome-ignore format: a row
    expect(messages[0]).toMatchObject({ createdAtMs: 1_000, text: "Where is Oslo?" });
  });

  test("is made once, and gets an id if it has none", async () => {
    const service = new CoppiceSessionService(temporaryStore());
    const { id } = await service.createSession(ADA);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    await expect(service.createSession({ ...ADA, sessionId: id })).rejects.toThrow(
      `Session with id ${id} already exists`,
    );
    await service.createSession({ ...ADA, userId: "bob", sessionId: id });
    expect((await service.getOrCreateSession({ ...ADA, sessionId: id })).id).toBe(id);
    expect(await service.getSession({ ...ADA, sessionId: "ghost" })).toBeUndefined();
  });

  test("that is missing takes no event, and the session object stays as it was", async () => {
    const { service, session } = await begun();
    session.id = "missing";
    await expect(service.appendEvent({ session, event: changing({ a: 1 }) })).rejects.toThrow(
      "Session missing not found",
    );
    expect(session).toMatchObject({ events: [], state: {} });
  });

  test("is gone when it is deleted, and its user's and its app's state stay", async () => {
    const store = temporaryStore();
    const service = new CoppiceSessionService(store);
    const state = { own: 1, "user:pref": 2, "app:config": 3 };
    const session = await service.createSession({ ...ADA, sessionId: "s1", state });
    await service.appendEvent({ session, event: said("delete me") });
    await service.deleteSession({ ...ADA, sessionId: "s1" });
    await service.deleteSession({ ...ADA, sessionId: "never there" });
    expect(await service.getSession({ ...ADA, sessionId: "s1" })).toBeUndefined();
    expect(await store.recall("delete me")).toEqual([]);
    const again = await service.createSession({ ...ADA, sessionId: "s1" });
    expect(again.state).toEqual({ "user:pref": 2, "app:config": 3 });
    expect((await service.getSession({ ...ADA, sessionId: "s1" }))!.events).toEqual([]);
  });

  test("may have any names", async () => {
    const service = new CoppiceSessionService(temporaryStore());
    const names = ["__proto__", "a/b", "a%2Fb", "é".repeat(300), "constructor"];
    for (const appName of names) {
      const key = { appName, userId: "__proto__", sessionId: "__proto__" };
      const session = await service.createSession({
        ...key,
        state: JSON.parse('{"__proto__": {"polluted": 1}, "toString": 2}'),
      });
      await service.appendEvent({ session, event: changing(JSON.parse('{"user:__proto__": 3}'), { id: appName }) });
    }
    for (const appName of names) {
      const { state, events } = (await service.getSession({ appName, userId: "__proto__", sessionId: "__proto__" }))!;
      expect(Object.entries(state).sort()).toEqual([["__proto__", { polluted: 1 }], ["toString", 2], ["user:__proto__", 3]]); // biome-ignore format: a row
      expect(events.map(({ id }) => id)).toEqual([appName]);
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe("state", () => {
  test("of the app is shared by all, and that of a user by all of the user's sessions", async () => {
    const service = new CoppiceSessionService(temporaryStore());
    const key = (userId: string, sessionId: string) => ({ appName: "app", userId, sessionId });
    await service.createSession({ ...key("ada", "s1"), state: { "app:theme": "dark", "user:name": "Ada", own: 1 } });
    const second = await service.createSession(key("ada", "s2"));
    expect(second.state).toEqual({ "app:theme": "dark", "user:name": "Ada" });
    await service.appendEvent({ session: second, event: changing({ "app:theme": "light", "user:name": "A." }) });
    expect((await service.getSession(key("ada", "s1")))!.state).toEqual({
      "app:theme": "light",
      "user:name": "A.",
      own: 1,
    });
    expect((await service.createSession(key("bob", "s3"))).state).toEqual({ "app:theme": "light" });
    expect((await service.createSession({ ...key("ada", "s1"), appName: "other" })).state).toEqual({});
  });

  test("that is temporary reaches neither the store nor the stored event", async () => {
    const store = temporaryStore();
    const service = new CoppiceSessionService(store);
    const session = await service.createSession({ ...ADA, sessionId: "s1", state: { kept: 1, "temp:a": "secret" } });
    expect(session.state).toEqual({ kept: 1 });
    await service.appendEvent({ session, event: changing({ "temp:b": "secret", also: 2 }) });
    const loaded = (await service.getSession({ ...ADA, sessionId: "s1" }))!;
    expect(loaded.state).toEqual({ kept: 1, also: 2 });
    expect(loaded.events[0]!.actions.stateDelta).toEqual({ also: 2 });
    const stored = store.query(
      "SELECT CAST(value AS TEXT) AS value FROM items UNION ALL SELECT CAST(value AS TEXT) FROM entries",
    );
    expect(JSON.stringify(stored)).not.toContain("secret");
  });

  test("keeps the newer of two writes of a key, even if its event comes first", async () => {
    const { service, session } = await begun();
    const deltas = ["older", "newer", "newest"].map((value) => {
      const delta = {};
      new State(session.state, delta).set("key", value);
      return delta;
    });
    const stateOf = async () => (await service.getSession({ ...ADA, sessionId: "s1" }))!.state.key;
    await service.appendEvent({ session, event: changing(deltas[1]!) });
    expect(await stateOf()).toBe("newer"); // the newest write has no event yet
    await service.appendEvent({ session, event: changing(deltas[0]!) });
    expect(await stateOf()).toBe("newer");
    await service.appendEvent({ session, event: changing(deltas[2]!) });
    expect([await stateOf(), session.state.key]).toEqual(["newest", "newest"]);
  });

  test("and events that others stored come to an old session object with its next event", async () => {
    const store = temporaryStore();
    const [one, other] = [new CoppiceSessionService(store), new CoppiceSessionService(store)];
    const mine = await one.createSession({ ...ADA, sessionId: "s1" });
    const theirs = (await other.getSession({ ...ADA, sessionId: "s1" }))!;
    await other.appendEvent({ session: theirs, event: changing({ count: 1 }, { id: "theirs" }) });
    await one.appendEvent({ session: mine, event: changing({ mine: 2 }, { id: "mine" }) });
    expect(mine.events.map(({ id }) => id)).toEqual(["theirs", "mine"]);
    expect(mine.state).toEqual({ count: 1, mine: 2 });
  });
});

describe("events", () => {
  test("that are partial are returned and not stored", async () => {
    const { service, session } = await begun();
    const partial = said("unfinish", { partial: true });
    expect(await service.appendEvent({ session, event: partial })).toBe(partial);
    expect(session.events).toEqual([]);
    expect((await service.getSession({ ...ADA, sessionId: "s1" }))!.events).toEqual([]);
  });

  test("with the id of another one take its place", async () => {
    const { store, service, session } = await begun();
    for (const [id, text] of [["a", "draft"], ["b", "between"], ["a", "final"]] as const) await service.appendEvent({ session, event: said(text, { id }) }); // biome-ignore format: a row
    const textsOf = ({ events }: Session) => events.map(({ content }) => content!.parts![0]!.text);
    expect(textsOf(session)).toEqual(["final", "between"]);
    expect(textsOf((await service.getSession({ ...ADA, sessionId: "s1" }))!)).toEqual(["final", "between"]);
    expect(
      store
        .resume("adk:app/ada/s1")
        .messages()
        .map(({ text }) => text),
    ).toEqual(["draft", "between", "final"]);
  });

  test("that are appended at once stay in order, and the session object keeps them", async () => {
    const { service, session } = await begun();
    const events = Array.from({ length: 5 }, (_, number) => said(`number ${number}`));
    await Promise.all(events.map((event) => service.appendEvent({ session, event })));
    expect(session.events.every((event, index) => event === events[index])).toBe(true);
    const loaded = (await service.getSession({ ...ADA, sessionId: "s1" }))!.events;
    expect(loaded.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  });

  test("of one millisecond stay in order: 60 pairs", async () => {
    const { service, session } = await begun();
    const ids = Array.from({ length: 120 }, (_, number) => `e${number}`);
    for (const [number, id] of ids.entries()) {
      await service.appendEvent({ session, event: createEvent({ id, timestamp: 5_000 + Math.floor(number / 2) }) });
    }
    expect((await service.getSession({ ...ADA, sessionId: "s1" }))!.events.map(({ id }) => id)).toEqual(ids);
  });

  test("are limited by number and by time, which is exclusive", async () => {
    const { service, session } = await begun();
    for (const timestamp of [1_000, 2_000, 2_000.4, 3_000])
      await service.appendEvent({ session, event: createEvent({ timestamp }) });
    const timesBy = async (config: { numRecentEvents?: number; afterTimestamp?: number }) =>
      (await service.getSession({ ...ADA, sessionId: "s1", config }))!.events.map(({ timestamp }) => timestamp);
    expect(await timesBy({})).toEqual([1_000, 2_000, 2_000.4, 3_000]);
    expect(await timesBy({ numRecentEvents: 2 })).toEqual([2_000.4, 3_000]);
    expect(await timesBy({ afterTimestamp: 2_000 })).toEqual([2_000.4, 3_000]);
    expect(await timesBy({ afterTimestamp: 1_000, numRecentEvents: 1 })).toEqual([3_000]);
    expect(await timesBy({ afterTimestamp: 9_000 })).toEqual([]);
    expect(await timesBy({ afterTimestamp: 2_000, numRecentEvents: 3 })).toEqual([2_000.4, 3_000]);
    expect(await timesBy({ numRecentEvents: 0 })).toHaveLength(4);
    expect((await service.getSession({ ...ADA, sessionId: "s1" }))!.lastUpdateTime).toBe(3_000);
  });
});

describe("the list of sessions", () => {
  async function five(): Promise<CoppiceSessionService> {
    const service = new CoppiceSessionService(temporaryStore());
    for (const [id, timestamp] of [["s1", 1_000], ["s2", 5_000], ["s3", 3_000], ["s4", 4_000], ["s5", 3_000]] as const) {
      const session = await service.createSession({ ...ADA, sessionId: id, state: { id, "app:shared": true } });
      await service.appendEvent({ session, event: createEvent({ timestamp }) });
    } // biome-ignore format: a row
    await service.createSession({ appName: "app", userId: "bob", sessionId: "s6" });
    await service.createSession({ appName: "other", userId: "ada", sessionId: "s7" });
    return service;
  }

  test.each([
    [{}, ["s1", "s2", "s3", "s4", "s5"], { page: 1, limit: 5, totalItems: 5, totalPages: 1 }],
    [{ order: "asc" }, ["s1", "s3", "s5", "s4", "s2"], { page: 1, limit: 5, totalPages: 1 }],
    [{ order: "desc" }, ["s2", "s4", "s3", "s5", "s1"], { page: 1, limit: 5 }],
    [{ order: "asc", limit: 3 }, ["s1", "s3", "s5"], { page: 1, limit: 3, totalItems: 5, totalPages: 2 }],
    [{ order: "asc", limit: 2, page: 2 }, ["s5", "s4"], { page: 2, limit: 2, totalPages: 3 }],
    [{ order: "asc", limit: 2, page: 2, offset: 0 }, ["s5", "s4"], { page: 2 }],
    [{ order: "asc", limit: 2, offset: 3 }, ["s4", "s2"], { page: 2 }],
    [{ limit: 2, offset: 10 }, [], { totalItems: 5, totalPages: 3 }],
    [{ limit: 0 }, [], { page: 1, limit: 0, totalItems: 5, totalPages: 0 }],
  ] as const)("by %j", async (request, ids, expected) => {
    const response = await (await five()).listSessions({ ...ADA, ...request });
    expect(response.sessions.map(({ id }) => id)).toEqual(ids);
    expect(response).toMatchObject(expected);
    for (const { id, state, events } of response.sessions)
      expect([state, events]).toEqual([{ id, "app:shared": true }, []]);
  });

  test("has those of all users of an app if no user is given", async () => {
    const service = await five();
    expect((await service.listSessions({ appName: "app" })).totalItems).toBe(6);
    expect(await service.listSessions({ appName: "none" })).toEqual({
      sessions: [],
      page: 1,
      limit: 0,
      totalItems: 0,
      totalPages: 0,
    });
  });
});

describe("memory", () => {
  async function remembering(...events: Event[]): Promise<{ memory: CoppiceMemoryService; session: Session }> {
    const memory = new CoppiceMemoryService(temporaryStore());
    const session = await new InMemorySessionService().createSession({ ...ADA, sessionId: "__proto__" });
    session.events.push(...events);
    await memory.addSessionToMemory(session);
    return { memory, session };
  }

  test.each([
    ["hello", 1],
    ["HELLO,", 1],
    ["...hello?", 1],
    ["irrelevant world", 1],
    ["...!!!", 0],
    ["", 0],
    ["goodbye", 0],
  ])("finds for %j", async (query, count) => {
    const event = said("Hello world", { author: "agent", timestamp: Date.UTC(2024, 0, 15, 10, 30) });
    const { memory } = await remembering(
      event,
      createEvent({ author: "user" }),
      createEvent({ content: { role: "user", parts: [] } }),
    );
    const { memories } = await memory.searchMemory({ ...ADA, query });
    const expected = { content: event.content, author: "agent", timestamp: "2024-01-15T10:30:00.000Z" };
    expect(memories).toEqual(Array.from({ length: count }, () => expected));
  });

  test("is each user's own, in each app", async () => {
    const { memory } = await remembering(said("the secret word"));
    for (const other of [
      { ...ADA, userId: "bob" },
      { ...ADA, appName: "other" },
      { appName: "ap", userId: "p/ada" },
    ]) {
      expect(await memory.searchMemory({ ...other, query: "secret" })).toEqual({ memories: [] });
    }
  });

  test("has a session that is added again once, and only what was added", async () => {
    const { memory, session } = await remembering(said("first lighthouse", { id: "a" }));
    session.events.push(said("second lighthouse", { id: "b" }));
    const textsFor = async (query: string) =>
      (await memory.searchMemory({ ...ADA, query })).memories.map(({ content }) => content.parts![0]!.text).sort();
    expect(await textsFor("lighthouse")).toEqual(["first lighthouse"]);
    await memory.addSessionToMemory(session);
    await memory.addSessionToMemory(session);
    expect(await textsFor("lighthouse")).toEqual(["first lighthouse", "second lighthouse"]);
    session.events.shift();
    await memory.addSessionToMemory(session);
    expect(await textsFor("lighthouse")).toEqual(["second lighthouse"]);
  });

  test("and sessions in one store share their messages", async () => {
    const store = temporaryStore();
    const sessions = new CoppiceSessionService(store);
    const memory = new CoppiceMemoryService(store, { limit: 2 });
    const session = await sessions.createSession({ ...ADA, sessionId: "s1" });
    for (const number of [1, 2, 3]) await sessions.appendEvent({ session, event: said(`lighthouse number ${number}`) });
    expect((await memory.searchMemory({ ...ADA, query: "lighthouse" })).memories).toEqual([]);
    await memory.addSessionToMemory(session);
    expect((await memory.searchMemory({ ...ADA, query: "lighthouse" })).memories).toHaveLength(2);
    expect(store.resume("adk:app/ada/s1").messages()).toHaveLength(3);
    await sessions.deleteSession({ ...ADA, sessionId: "s1" });
    expect((await memory.searchMemory({ ...ADA, query: "lighthouse" })).memories).toEqual([]);
  });
});
