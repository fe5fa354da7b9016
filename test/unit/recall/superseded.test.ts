import { expect, test } from "vitest";
import type { RecallOptions, Store } from "../../../src/index.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

function rewound(): Store {
  const store = temporaryStore();
  const session = store.session("harbor", { project: "web" });
  session.append([
    user("Where do the ships go?"),
    { ...assistant("The ships go to the lighthouse of Bergen."), createdAt: 1_000 },
    { ...user("Which lighthouse of the harbor?"), createdAt: 2_000 },
  ]);
  session.rewind({ toSeq: 0 });
  session.append(assistant("The ships go to the pier."));
  const other = store.session("other");
  other.append(user("The lighthouse keeper sleeps."));
  other.rewind({ toSeq: -1 });
  return store;
}

async function found(store: Store, query: string, options: RecallOptions = {}) {
  const hits = await store.recall(query, { superseded: true, neighbors: 0, ...options });
  return hits.map(({ text, sessionId, superseded = false }) => [text, sessionId, superseded]);
}

const BERGEN = ["The ships go to the lighthouse of Bergen.", "harbor", true];
const WHICH = ["Which lighthouse of the harbor?", "harbor", true];
const KEEPER = ["The lighthouse keeper sleeps.", "other", true];

test("superseded messages are found only if they are asked for, and say whose they are", async () => {
  const store = rewound();
  expect(await store.recall("lighthouse")).toEqual([]);
  expect(await store.recall("lighthouse", { superseded: false })).toEqual([]);
  const hits = await store.recall("lighthouse of Bergen", { superseded: true });
  expect(hits[0]).toMatchObject({
    ...{ sessionId: "harbor", seq: 1, role: "assistant", root: null, superseded: true },
    snippet: "The ships go to the lighthouse of Bergen.",
    neighbors: [{ snippet: "Which lighthouse of the harbor?" }],
  });
  expect(hits).toHaveLength(3);
});

test("they alternate with the messages of the path, which say nothing", async () => {
  const all = await found(rewound(), "where do the ships go?");
  expect(all.map(([, , superseded]) => superseded)).toEqual([false, true, false]);
  expect(all[1]).toEqual(BERGEN);
  expect(await found(rewound(), "where do the ships go?", { limit: 2 })).toEqual(all.slice(0, 2));
});

test("they alternate as long as there are any under a token limit, too", async () => {
  const store = temporaryStore();
  const session = store.session("harbor");
  session.append(user("Where do the ships go?"));
  const colors = "amber blue coral denim ebony fawn green hazel ivory jade khaki lime mauve navy ocher pink".split(" ");
  session.append(colors.map((color) => user(`The old lighthouse lamp had a ${color} shade, I think.`)));
  session.rewind({ toSeq: 0 });
  session.append(colors.map((color) => user(`The lighthouse lamp shines in ${color} light.`)));
  const shown = async (options: RecallOptions) => (await found(store, "lighthouse lamp", options)).map((hit) => hit[2]);
  expect(await shown({ tokensMax: 100_000 })).toEqual(await shown({ limit: 30 }));
});

test("project, sessions, roles, parts and times narrow them", async () => {
  const store = rewound();
  const inScope = (options: RecallOptions) => found(store, "lighthouse", options).then((hits) => hits.sort());
  expect(await inScope({})).toEqual([KEEPER, BERGEN, WHICH].sort());
  expect(await inScope({ project: "web" })).toEqual([BERGEN, WHICH].sort());
  expect(await inScope({ sessionIds: ["other"] })).toEqual([KEEPER]);
  expect(await inScope({ sessionIds: [] })).toEqual([]);
  expect(await inScope({ roles: ["assistant"] })).toEqual([BERGEN]);
  expect(await inScope({ sinceMs: 1_000, untilMs: 1_000 })).toEqual([BERGEN]);
  expect(await inScope({ sinceMs: 1_001, untilMs: 2_000 })).toEqual([WHICH]);
  const session = store.session("tools");
  session.append([calls(["c1"]), results(["c1"])]);
  session.rewind({ toSeq: -1 });
  expect(await inScope({ partTypes: ["tool_call"] })).toEqual([]);
  expect(await inScope({ partTypes: ["text"], project: "web" })).toEqual([BERGEN, WHICH].sort());
});

test("a phrase must be in them letter by letter", async () => {
  const store = rewound();
  expect(await found(store, '"lighthouse of Bergen"')).toEqual([BERGEN]);
  expect(await found(store, '"Bergen lighthouse"')).toEqual([]);
});

test("ranked by session, each session has one hit", async () => {
  const sessions = (await found(rewound(), "ships lighthouse", { by: "session" })).map(([, id]) => id);
  expect(sessions).toEqual(["harbor", "other"]);
});

test("what comes back is not superseded any more, and what was forgotten is not found", async () => {
  const store = rewound();
  store.session("harbor").undo();
  expect((await found(store, "Bergen"))[0]).toEqual([BERGEN[0], "harbor", false]);
  expect(await found(store, "pier")).toContainEqual(["The ships go to the pier.", "harbor", true]);
  store.forget("other");
  expect(await found(store, "keeper")).toEqual([]);
});
