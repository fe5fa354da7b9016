import { expect, test } from "vitest";
import type { MessageInput, Store } from "../../../src/index.ts";
import { edits, fails, runs } from "../../support/acts.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

async function storeWith(sessions: Readonly<Record<string, readonly MessageInput[]>>): Promise<Store> {
  const store = temporaryStore();
  for (const [id, messages] of Object.entries(sessions)) store.session(id, { project: "/srv/web" }).appendAll(messages);
  await store.upkeep();
  return store;
}

const ERROR = "TypeError: lease.until is not a function";
const MENDED = [
  user("The tests fail."),
  ...fails("npm test -- lease", `src/lease.ts:4:11: ${ERROR}`),
  ...edits("/srv/web/src/lease.ts", "The clock was passed in the wrong order."),
  ...runs("npm test -- lease", "3 passed"),
];

test("the sessions of a file are the last first, with reasons and decisions", async () => {
  const store = await storeWith({
    first: [
      user("Never import the clock in src/lease.ts, it must be given."),
      ...edits("/srv/web/src/lease.ts", "I pass the clock as an argument."),
      assistant("We decided that lease.ts takes the clock as its first argument."),
    ],
    other: [user("Look at the queue."), ...edits("/srv/web/queue/lease.ts", "The queue has its own lease.")],
    last: [user("What does it do?"), ...runs("cat src/lease.ts", "export …")],
  });
  const sessions = store.work.file("src/lease.ts");
  expect(sessions).toMatchObject([
    { sessionId: "last", readCount: 1, changeCount: 0, changes: [], decided: [] },
    {
      sessionId: "first",
      changeCount: 1,
      changes: [{ text: "I pass the clock as an argument." }],
      decided: [
        { text: "We decided that lease.ts takes the clock as its first argument." },
        { text: "Never import the clock in src/lease.ts, it must be given." },
      ],
    },
  ]);
  const [change] = sessions[1]!.changes;
  expect(store.expand(change!.messageId).members.some(({ id }) => id === change!.messageId)).toBe(true);
  expect(store.work.file("lease.ts")).toHaveLength(3);
  expect(store.work.file("/srv/web/src/lease.ts")).toHaveLength(2);
  expect(store.work.file("/srv/other/src/lease.ts").map(({ sessionId }) => sessionId)).toEqual(["last"]);
  expect(store.work.file("ease.ts")).toEqual([]);
  expect(store.work.replaced("src/lease.ts")).toMatchObject([{ texts: ["old"] }]);
});

test("a fix is what came between the failure and the success of the same command", async () => {
  const store = await storeWith({ mended: MENDED });
  const [fix, ...others] = store.work.fixes(`Exit code 1\n/home/ada/web/src/lease.ts:9:3: ${ERROR}`);
  expect(others).toEqual([]);
  expect(fix).toMatchObject({
    sessionId: "mended",
    succeeded: "npm test -- lease",
    steps: [{ kind: "edit", target: "/srv/web/src/lease.ts" }],
    said: { text: "The clock was passed in the wrong order." },
  });
});

test("nothing is said rather than a guess", async () => {
  const store = await storeWith({
    open: [...fails("npm test", "TypeError: the queue is not open"), ...edits("/srv/web/src/queue.ts")],
    lucky: [...fails("npm test", "TypeError: the socket was closed"), ...runs("npm test", "ok")],
    other: [
      ...fails("npm test", "TypeError: no lease was given"),
      ...edits("/srv/web/a.ts"),
      ...runs("npm run lint", "ok"),
    ],
  });
  for (const error of [
    "TypeError: the queue is not open",
    "TypeError: the socket was closed",
    "TypeError: no lease was given",
    "",
    "7",
  ])
    expect(store.work.fixes(error), error).toEqual([]);
});

test("an error that came back after it was mended has the last cure", async () => {
  const store = await storeWith({
    again: [
      ...MENDED,
      ...fails("npm test -- lease", ERROR),
      ...edits("/srv/web/src/clock.ts"),
      ...runs("npm test -- lease", "3 passed"),
    ],
  });
  expect(store.work.fixes(ERROR)).toMatchObject([{ steps: [{ target: "/srv/web/src/clock.ts" }] }]);
});

test("a command has the ways that worked first, and then those that did not", async () => {
  const store = await storeWith({
    s: [
      ...fails("pytest -x", "pytest: command not found"),
      ...runs("uv run pytest -x", "3 passed"),
      ...runs("cd web && uv run pytest -x | tail -3", "3 passed"),
      ...runs("uv run ruff check", "ok"),
    ],
  });
  expect(store.work.ways("pytest")).toMatchObject([{ okCount: 0, failedCount: 1, error: "pytest: command not found" }]);
  expect(store.work.ways("uv run pytest")).toMatchObject([{ command: "uv run pytest -x", okCount: 2, failedCount: 0 }]);
  expect(store.work.ways("uv").map(({ command }) => command)).toEqual(["uv run pytest -x", "uv run ruff check"]);
  expect(store.work.ways("")).toEqual([]);
  expect(store.work.ways("uv", { limit: 1 })).toHaveLength(1);
  expect(store.work.ways("uv", { project: "/srv/other" })).toEqual([]);
});

test("friction is an error of three sessions, and copies of a message count once", async () => {
  const at = (hour: number) => ({ at: Date.UTC(2026, 10, 1, hour) });
  const store = await storeWith({
    a: fails("npm test", ERROR, at(1)),
    b: fails("npm test", ERROR, at(2)),
    copy: fails("npm test", ERROR, at(2)),
  });
  expect(store.work.friction()).toEqual([]);
  store.session("c", { project: "/srv/web" }).appendAll(MENDED);
  await store.upkeep();
  expect(store.work.friction()).toMatchObject([
    { error: ERROR, sessionCount: 3, count: 3, command: "npm test -- lease", fix: { sessionId: "c" } },
  ]);
});

test("wrong options are refused", async () => {
  const store = await storeWith({});
  expect(() => store.work.file(7 as never)).toThrow("the path");
  expect(() => store.work.ways("go", { limit: -1 })).toThrow("limit");
  expect(() => store.work.fixes("x", { projekt: "web" } as never)).toThrow("projekt");
});
