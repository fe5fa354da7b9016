import { expect, test } from "vitest";
import type { MessageInput, Store } from "../../../src/index.ts";
import { edits, fails, runs } from "../../support/acts.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

async function storeWith(sessions: Readonly<Record<string, readonly MessageInput[]>>): Promise<Store> {
  const store = temporaryStore();
  for (const [id, messages] of Object.entries(sessions)) store.session(id, { project: "/srv/web" }).append(messages);
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

test.each([true, false])(
  "what was done last is first, although older sessions were imported later (noted: %j)",
  async (isNoted) => {
    const store = temporaryStore();
    const day = (n: number): number => 1_700_000_000_000 + n * 86_400_000;
    for (const n of [3, 1, 2]) {
      const session = store.session(`day ${n}`);
      session.append(runs("cat src/lease.ts", "export …", { at: day(n) }));
      session.append(fails(`make lease${n}`, ERROR, { at: day(n) + 1 }));
      session.append(runs(`make -B lease${n}`, "done", { at: day(n) + 2 }));
    }
    if (isNoted) await store.upkeep();
    expect(store.work.file("src/lease.ts").map(({ sessionId }) => sessionId)).toEqual(["day 3", "day 2", "day 1"]);
    expect(store.work.fixes(ERROR).map(({ sessionId }) => sessionId)).toEqual(["day 3", "day 2", "day 1"]);
    expect(store.work.ways("cat")[0]).toMatchObject({ sessionId: "day 3", okCount: 3 });
  },
);

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

test("another call that happened to work is no fix", async () => {
  const error = "TypeError: no lease was given to the clock";
  const pairs: readonly (readonly [string, string])[] = [
    ["npm test -- a.test.ts", "npm test -- b.test.ts"],
    ["node build.js", "node --version"],
    ["npm test", "npm test --help"],
    ["cat foo.txt", "cat other.txt"],
  ];
  for (const [failed, worked] of pairs) {
    const store = await storeWith({ s: [...fails(failed, error), ...edits("/srv/web/a.ts"), ...runs(worked, "ok")] });
    expect(store.work.fixes(error), failed).toEqual([]);
  }
  const store = await storeWith({ s: [...fails("mise test --fast", error), ...runs("mise test --quick", "ok")] });
  expect(store.work.fixes(error)).toMatchObject([{ succeeded: "mise test --quick", steps: [] }]);
  expect(store.work.fixes(error, { limit: 0 })).toEqual([]);
});

test("many files of one name do not hide another, and a file in the root of a project is found", async () => {
  const at = { at: Date.UTC(2026, 10, 1) };
  const store = temporaryStore();
  store
    .session("rare", { project: "/srv/web" })
    .append([...edits("/srv/web/src/rare/index.ts", "It is rare."), ...runs("cat README.md", "x")]);
  store
    .session("hot", { project: "/srv/hot" })
    .append(Array.from({ length: 1_100 }, () => runs("cat src/hot/index.ts", "x", at)).flat());
  await store.upkeep();
  expect(store.work.file("src/rare/index.ts")).toMatchObject([{ sessionId: "rare", changeCount: 1 }]);
  expect(store.work.file("src/hot/index.ts")).toMatchObject([{ sessionId: "hot", readCount: 1_000 }]);
  expect(store.work.file("/srv/web/README.md")).toMatchObject([{ sessionId: "rare" }]);
  expect(store.work.file("/srv/hot/README.md")).toEqual([]);
  expect(store.work.file("src\\rare\\index.ts")).toHaveLength(1);
});

test("calls of one time in one session are no copies", async () => {
  const at = { at: Date.UTC(2026, 10, 1) };
  const store = await storeWith({
    s: [
      ...fails("frob --all", "frob: command not found", at),
      ...runs("frob --all", "ok", at),
      ...runs("frob --all", "ok", at),
    ],
  });
  expect(store.work.ways("frob")).toMatchObject([{ okCount: 2, failedCount: 1 }]);
});

test("a step that goes on is told as it is now", async () => {
  const store = temporaryStore();
  const [call, result] = runs("make", "all made");
  store.session("s").append(call!);
  await store.upkeep();
  store.session("s").append(result!);
  expect(store.work.ways("make")).toMatchObject([{ okCount: 1 }]);
});

test("what was replaced is that of the file, and not of another call of the message", async () => {
  const edit = (toolCallId: string, path: string, old: string) => {
    return {
      type: "tool_call" as const,
      toolCallId,
      name: "Edit",
      args: { file_path: path, old_string: old, new_string: "x" },
    };
  };
  const result = (toolCallId: string, isError: boolean) => ({
    type: "tool_result" as const,
    toolCallId,
    content: "",
    isError,
  });
  const store = await storeWith({
    s: [
      {
        role: "assistant",
        parts: [edit("a", "a/index.ts", "A"), edit("b", "b/index.ts", "B"), edit("c", "b/index.ts", "C")],
      },
      { role: "tool", parts: [result("a", false), result("b", false), result("c", true)] },
    ],
  });
  expect(store.work.replaced("b/index.ts")).toMatchObject([{ texts: ["B"] }]);
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
  const later = MENDED.map((message) => ({ ...message, createdAt: Date.UTC(2026, 10, 2) }));
  store.session("c", { project: "/srv/web" }).append(later);
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

test("the ways of each project are counted by themselves, with what failed there", async () => {
  const store = temporaryStore();
  const build = (id: string, project: string, messages: readonly MessageInput[]) =>
    store.session(id, { project }).append(messages);
  build("theirs", "/srv/other", [...runs("npm run build", "done"), ...runs("npm run build", "done")]);
  build("ours", "/srv/web", [
    ...fails("npm run build", "Error: Cannot find module ./gone"),
    ...runs("npm run build", "done"),
    ...fails("npm run build", "Error: Unexpected token in the config"),
  ]);
  await store.upkeep();
  const [theirs, ours, ...others] = store.work.ways("npm run");
  expect(others).toEqual([]);
  expect(theirs).toMatchObject({ project: "/srv/other", okCount: 2, failedCount: 0, failedMessageId: null });
  expect(ours).toMatchObject({ project: "/srv/web", okCount: 1, failedCount: 2 });
  expect(ours!.error).toBe("Error: Unexpected token in the config");
  const failed = store.expand(ours!.failedMessageId!).members.find(({ id }) => id === ours!.failedMessageId);
  expect(failed).toMatchObject({ sessionId: "ours" });
  expect(store.work.ways("npm run", { project: "/srv/web" })).toEqual([ours]);
});

test("an error that nobody had is answered by one that shares most of its words, and by no other", async () => {
  const store = await storeWith({ first: MENDED });
  const [similar] = store.work.fixes("TypeError: session.lease.until is not any function");
  expect(similar).toMatchObject({ error: ERROR, similar: true, succeeded: "npm test -- lease" });
  expect(store.work.fixes(ERROR)).toMatchObject([{ similar: false }]);
  expect(store.work.fixes("TypeError: fetch is not a constructor of anything here")).toEqual([]);
  expect(store.work.fixes("Error: no space left on device")).toEqual([]);
});
