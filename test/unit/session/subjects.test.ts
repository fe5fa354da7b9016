import { beforeEach, describe, expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 1);

const LOCK = "the stale session lock blocks the writer until the lock file is removed";
const COLOR = "purple buttons look better beside yellow headings";
const OVEN = "the oven bakes sourdough bread with rye flour";

let store: Store;
let now: number;

/**
 * Three sessions of one project, a day apart: "first" is about the lock and colors, "second" about the lock, "third" about
 * the lock and bread. The last message of each is the newest step, which stays out of the forest.
 */
beforeEach(async () => {
  now = START_MS;
  store = openedStore(temporaryPath(), { clock: () => now });
  // Made first, spoken in last.
  store.session("third", { project: "web" });
  now += 1_000;
  store.session("first", { project: "web", title: "Locks and colors" });
  store.session("first").append([user(LOCK), assistant(LOCK), user(COLOR), assistant(COLOR), user("Thanks!")]);
  now += DAY_MS;
  store.session("second", { project: "web" }).append([user(LOCK), calls(["c"]), results(["c"], LOCK), user("Bye.")]);
  now += DAY_MS;
  store.session("third").append([user(OVEN), user(LOCK), assistant(LOCK), user("Done.")]);
  now += 2 * DAY_MS;
  await store.upkeep();
});

const places = (target: string | number, options = {}): string[] =>
  store.expand(target, options).members.map(({ sessionId, seq }) => `${sessionId} ${seq}`);

const idOf = (sessionId: string, seq: number): number => store.session(sessionId).messages()[seq]!.id;

describe("subjects", () => {
  test("a handle from before a rewind keeps the order of its sessions", () => {
    const { subject } = store.subjects()[0]!;
    const before = places(subject).map((place) => place.split(" ")[1]);
    const ids = store.expand(subject).members.map(({ id }) => id);
    now += DAY_MS;
    store.session("first").rewind({ toSeq: -1 });
    expect(store.expand(subject).members.map(({ id }) => id)).toEqual(ids);
    expect(places(subject).map((place) => place.split(" ")[1])).toEqual(before);
  });

  test("lists what came up in several sessions, with its sessions and times", () => {
    const found = store.subjects();
    expect(found).toEqual([
      {
        subject: `subject:${idOf("first", 0)}@${store.stats().logPosition}`,
        project: "web",
        label: expect.stringContaining("lock"),
        clusterCount: 3,
        sessionCount: 3,
        messageCount: 7,
        tokenCount: expect.any(Number),
        firstAtMs: START_MS + 1_000,
        lastAtMs: START_MS + 1_000 + 2 * DAY_MS,
        sessions: [
          {
            sessionId: "first",
            title: "Locks and colors",
            label: "The stale session lock blocks the writer until the lock file is removed",
            messageCount: 2,
            firstAtMs: START_MS + 1_000,
            lastAtMs: START_MS + 1_000,
          },
          expect.objectContaining({ sessionId: "second", title: null, messageCount: 3 }),
          expect.objectContaining({ sessionId: "third", messageCount: 2, lastAtMs: START_MS + 1_000 + 2 * DAY_MS }),
        ],
      },
    ]);
    const tokens = store.expand(found[0]!.subject).members.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
    expect(found[0]!.tokenCount).toBe(tokens);
  });

  test("lists those of one project, and as many as asked", () => {
    expect(store.subjects({ project: "web" })).toHaveLength(1);
    expect(store.subjects({ project: "api" })).toEqual([]);
    expect(store.subjects({ limit: 0 })).toEqual([]);
    expect(() => store.subjects({ limit: -1 })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });

  test("are rows that SQL reads", () => {
    expect(
      store.query("SELECT session_id, message_count FROM subject_members WHERE subject_id = 1 ORDER BY cluster_id"),
    ).toEqual([
      { session_id: "first", message_count: 2 },
      { session_id: "second", message_count: 3 },
      { session_id: "third", message_count: 2 },
    ]);
  });
});

describe("expand and find", () => {
  test("give a subject's messages session by session, in the order in which the sessions were made", () => {
    const { subject } = store.subjects()[0]!;
    expect(places(subject)).toEqual(["third 1", "third 2", "first 0", "first 1", "second 0", "second 1", "second 2"]);
    expect(places(subject, { limit: 3, offset: 1 })).toEqual(["third 2", "first 0", "first 1"]);
    expect(store.expand(subject, { limit: 0 })).toMatchObject({ root: subject, level: "subject", memberCount: 7 });
    expect(store.expand(subject.split("@")[0]!).root).toBe(subject);
  });

  test("go from a message to its subject", () => {
    const { subject } = store.subjects()[0]!;
    expect(store.expand(idOf("second", 2)).place!.subject).toBe(subject);
    expect(places(idOf("second", 2), { level: "subject" })).toHaveLength(7);
    // Alone with its subject, it is one all the same.
    expect(store.expand(idOf("third", 0)).place!.subject).toBe(
      `subject:${idOf("third", 0)}@${store.stats().logPosition}`,
    );
    expect(places(idOf("third", 0), { level: "subject" })).toEqual(["third 0"]);
  });

  test("give the cluster of a message whose cluster has no place yet, and the step of one that is hot", () => {
    const settings = { project: "web", hotSize: 1, overlap: 0 };
    const session = store.session("fourth", settings);
    session.append([user(LOCK), assistant(LOCK), user("Hm."), user("Ok.")]);
    session.compact();
    expect(store.expand(idOf("fourth", 1)).place!.subject).toBeNull();
    expect(store.expand(idOf("fourth", 1), { level: "subject" }).level).toBe("cluster");
    expect(store.expand(idOf("fourth", 3), { level: "subject" })).toMatchObject({ level: "step", memberCount: 1 });
  });

  test("give what a subject held at a position", () => {
    const started = store.query(
      "SELECT id, kind, root FROM unions WHERE level = 'subject' AND (root = 1 OR node = 1) ORDER BY id",
    );
    expect(started.map(({ kind }) => kind)).toEqual(["start", "unite", "unite"]);
    const [start, second] = started.map(({ id }) => id as number);
    expect(places(`subject:1@${start}`)).toEqual(["first 0", "first 1"]);
    expect(places(`subject:1@${second}`)).toHaveLength(5);
    expect(() => places(`subject:1@${start! - 1}`)).toThrow(expect.objectContaining({ code: "HANDLE_INVALID" }));
    expect(() => places("subject:1@999999")).toThrow(expect.objectContaining({ code: "HANDLE_INVALID" }));
    expect(() => places("subject:2")).toThrow(expect.objectContaining({ code: "ROOT_NOT_FOUND" }));
  });

  test("a cluster names the subject that it is in, and at an old position the one that it was in", async () => {
    const member = idOf("second", 0);
    expect(store.expand(`subject:${member}`).root).toBe(store.subjects()[0]!.subject);
    expect(places(`subject:${member}`)).toHaveLength(7);
    const { subject } = store.subjects()[0]!;
    expect(store.expand(`subject:${member}@${subject.split("@")[1]}`).root).toBe(subject);
    store.forget("first");
    expect(() => places(`subject:${member}`)).toThrow(expect.objectContaining({ code: "ROOT_NOT_FOUND" }));
    await store.upkeep();
    expect(places(`subject:${member}`)).toEqual(["third 1", "third 2", "second 0", "second 1", "second 2"]);
  });

  test("refuses a project that is no name", () => {
    const wrong = { project: {} } as unknown as { project: string };
    expect(() => store.subjects(wrong)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    expect(() => store.sessions(wrong)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });
});
