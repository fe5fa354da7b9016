import { beforeEach, describe, expect, test } from "vitest";
import type { Session, Store } from "../../../src/index.ts";
import { idsOf } from "../../support/claims.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const LOCK = "the session lock is stale and the writer waits";
const COLOR = "purple buttons look better beside yellow headings";

/**
 * Messages 1, 2 and 5–7 are about the lock, 3 and 4 about colors; the forest has room for one theme only.
 *
 *     log   1 start 1   2 join 2→1   3 start 3   4 unite 3→1   5 join 4→3   6 join 5→1   …
 */
function twoClusters(): { store: Store; session: Session } {
  const store = temporaryStore();
  store.session("before").append(user("another session, so that ids and seqs differ"));
  const session = store.session("s", { hotSize: 2, overlap: 0, evictBatch: 100, maxThemes: 1 });
  session.append([
    user(LOCK),
    assistant(LOCK),
    user(COLOR),
    assistant(COLOR),
    user(LOCK),
    calls(["c"]),
    results(["c"], LOCK),
    user("hot one"),
    user("hot two"),
  ]);
  return { store, session };
}

let store: Store;
let session: Session;
let idOf: (seq: number) => number;
beforeEach(() => {
  ({ store, session } = twoClusters());
  session.compact();
  const ids = session.messages().map(({ id }) => id);
  idOf = (seq) => ids[seq]!;
});

const seqsOf = (target: string | number, options = {}): number[] =>
  store.expand(target, options).members.map(({ seq }) => seq);

describe("expand", () => {
  test("gives the messages of a span from its first to its last, but for those that are pinned", () => {
    const { messageId: pinned } = session.append(user("pinned", { pinned: true }));
    const { messageId: last } = session.append(user("after it"));
    expect(store.expand(`span:${idOf(7)}@${last}`)).toMatchObject({
      root: `span:${idOf(7)}@${last}`,
      level: "span",
      memberCount: 3,
    });
    expect(seqsOf(`span:${idOf(7)}@${last}`)).toEqual([7, 8, 10]);
    expect(seqsOf(`span:${idOf(7)}@${last}`, { offset: 1, limit: 1 })).toEqual([8]);
    expect(seqsOf(`span:${idOf(8)}@${pinned}`)).toEqual([8]);
  });

  test("gives what is left of a span whose first or last message was forgotten, and nothing without both", () => {
    const [first, last] = [idOf(5), idOf(8)];
    const handle = `span:${first}@${last}`;
    expect(seqsOf(handle)).toEqual([5, 6, 7, 8]);
    store.forget(session.id, { messageIds: [first] });
    expect(seqsOf(handle)).toEqual([7, 8]); // its step is forgotten whole
    store.forget(session.id, { messageIds: [last] });
    expect(() => store.expand(handle)).toThrow(`The first or the last message of "${handle}" is not stored`);
  });

  test("refuses a span that ends before it begins, or in another session, and that of a message", () => {
    for (const handle of [`span:${idOf(2)}@${idOf(1)}`, `span:1@${idOf(1)}`, `span:${idOf(1)}@999`]) {
      expect(() => store.expand(handle)).toThrow(
        expect.objectContaining({ code: "ROOT_NOT_FOUND", details: { handle } }),
      );
    }
    expect(() => store.expand(idOf(1), { level: "span" })).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", details: expect.objectContaining({ option: "level" }) }),
    );
  });

  test("gives the messages of a cluster or a theme as they were appended, in order", () => {
    const { root, level, members, memberCount } = store.expand(`cluster:${idOf(0)}`);
    expect([root, level, memberCount]).toEqual([`cluster:${idOf(0)}@7`, "cluster", 5]);
    expect(members).toEqual([0, 1, 4, 5, 6].map((seq) => session.messages()[seq]));
    expect(seqsOf(`theme:${idOf(0)}`)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  test("gives what the root held at a position", () => {
    const at = (position: number): number[] => seqsOf(`theme:${idOf(0)}@${position}`);
    expect([at(1), at(2), at(3), at(4), at(5)]).toEqual([[0], [0, 1], [0, 1], [0, 1, 2], [0, 1, 2, 3]]);
    expect(seqsOf(`cluster:${idOf(0)}@5`)).toEqual([0, 1]);
  });

  test("knows a root that was absorbed, before it was and after", () => {
    expect(seqsOf(`theme:${idOf(2)}@3`)).toEqual([2]);
    expect(seqsOf(`theme:${idOf(2)}@7`)).toEqual([2, 3]);
    expect(seqsOf(`theme:${idOf(2)}`)).toEqual([2, 3]);
  });

  test("gives pages, and the count of all", () => {
    const handle = `theme:${idOf(0)}`;
    expect(seqsOf(handle, { limit: 3 })).toEqual([0, 1, 2]);
    expect(seqsOf(handle, { limit: 3, offset: 6 })).toEqual([6]);
    expect(seqsOf(handle, { offset: 7 })).toEqual([]);
    expect(store.expand(handle, { limit: 0 })).toMatchObject({ members: [], memberCount: 7 });
    expect(idsOf(store, handle)).toEqual([0, 1, 2, 3, 4, 5, 6].map(idOf));
  });

  test("gives fifty at once unless told otherwise", () => {
    session.append(Array.from({ length: 60 }, () => user(LOCK)));
    session.compact();
    const { members, memberCount } = store.expand(session.roots()[0]!.root);
    expect([members.length, memberCount]).toEqual([50, 67]);
  });

  test("gives the cluster of a message, or with a level its theme or its step", () => {
    expect(store.expand(idOf(4))).toMatchObject({ root: `cluster:${idOf(0)}@7`, level: "cluster", memberCount: 5 });
    expect(store.expand(String(idOf(4)), { level: "theme" })).toMatchObject({
      root: `theme:${idOf(0)}@7`,
      level: "theme",
      memberCount: 7,
    });
    expect(store.expand(idOf(6), { level: "step" })).toMatchObject({ root: null, level: "step", memberCount: 2 });
    expect(seqsOf(idOf(6), { level: "step" })).toEqual([5, 6]);
  });

  test("gives the step of a message that has not graduated, whatever the level", () => {
    for (const level of ["step", "cluster", "theme"] as const) {
      expect(store.expand(idOf(8), { level })).toMatchObject({ root: null, level: "step", memberCount: 1 });
    }
  });

  test.each([
    ["theme:2@0", "HANDLE_INVALID", "its root began at log position 1"],
    ["theme:2@8", "HANDLE_INVALID", "the log ends at position 7"],
    ["theme:3", "ROOT_NOT_FOUND", undefined],
    ["theme:999", "ROOT_NOT_FOUND", undefined],
    ["cluster:1", "ROOT_NOT_FOUND", undefined],
    ["banana", "HANDLE_INVALID", "expected a level, a colon and a number"],
    ["", "HANDLE_INVALID", "expected a level, a colon and a number"],
    [999, "MESSAGE_NOT_FOUND", undefined],
    ["999", "MESSAGE_NOT_FOUND", undefined],
    [0, "MESSAGE_NOT_FOUND", undefined],
    [-1, "MESSAGE_NOT_FOUND", undefined],
    [1.5, "MESSAGE_NOT_FOUND", undefined],
    ["99999999999999999999", "MESSAGE_NOT_FOUND", undefined],
  ])("refuses %j with %s", (target, code, reason) => {
    const details = reason === undefined ? {} : { details: expect.objectContaining({ reason }) };
    expect(() => store.expand(target)).toThrow(expect.objectContaining({ code, ...details }));
  });

  test.each([
    [{ limit: -1 }, "limit"],
    [{ limit: 10_001 }, "limit"],
    [{ limit: 1.5 }, "limit"],
    [{ offset: -1 }, "offset"],
    [{ level: "session" as "step" }, "level"],
  ])("refuses the option %j", (options, option) => {
    expect(() => store.expand(idOf(0), options)).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", details: expect.objectContaining({ option }) }),
    );
  });
});

describe("the place of a message", () => {
  test("names its cluster and its theme at the session's last position, whatever is expanded", () => {
    const handles = { cluster: `cluster:${idOf(2)}@7`, theme: `theme:${idOf(0)}@7`, subject: null };
    for (const level of ["step", "cluster", "theme"] as const) {
      expect(store.expand(idOf(3), { level, limit: 0 }).place).toEqual({ sessionId: "s", seq: 3, ...handles });
    }
    expect(store.expand(idOf(6)).place!.cluster).toBe(`cluster:${idOf(0)}@7`);
  });

  test("has no handles for a hot message, and is null for a handle", () => {
    expect(store.expand(idOf(8)).place).toMatchObject({ cluster: null, theme: null, subject: null });
    expect(store.expand(`cluster:${idOf(2)}`).place).toBeNull();
  });
});

describe("roots", () => {
  test("lists themes with their clusters, and clusters, oldest first", () => {
    expect(session.roots()).toMatchObject([
      {
        root: `theme:${idOf(0)}@7`,
        level: "theme",
        messageCount: 7,
        seqFirst: 0,
        seqLast: 6,
        clusters: [`cluster:${idOf(0)}@7`, `cluster:${idOf(2)}@5`],
        summaries: [],
        uncoveredCount: 7,
      },
    ]);
    expect(session.roots({ level: "cluster" })).toMatchObject([
      { root: `cluster:${idOf(0)}@7`, messageCount: 5, stepCount: 4, seqFirst: 0, seqLast: 6, settled: false },
      { root: `cluster:${idOf(2)}@5`, messageCount: 2, stepCount: 2, seqFirst: 2, seqLast: 3, settled: false },
    ]);
  });

  test("refuses a level that there is not", () => {
    expect(() => session.roots({ level: "subject" as "theme" })).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  });
});
