import { expect } from "vitest";
import type { MessageInput } from "../../src/index.ts";
import { hubWithStores, run, test, testOfVectors } from "../support/hub.ts";
import { expectSameAnswers } from "../support/hub-answers.ts";
import { letterEmbedder } from "../support/other-embedders.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const project = "large";

test("more than 5,000 messages are searched as in the store, whatever other projects of the store say", async () => {
  const { hub, home: store } = await hubWithStores();
  const words = "lock region deploy café src/fooBar.ts retry session セッション 404 tower lens glass the it".split(" ");
  const saying = (session: string, at: number, count: number): MessageInput[] =>
    Array.from({ length: count }, (_, index) => {
      const number = 7 * at + index;
      const content = `${words[number % words.length]} w${number % 900} ${"common ".repeat(number % 5)}of ${session}`;
      return { role: index % 2 === 0 ? "user" : "assistant", content };
    });
  for (let round = 0; round < 11; round++) {
    for (const session of ["even", "odd", `s${round}`]) {
      store.session(session, { project }).append(saying(session, round, 160));
    }
    store
      .session("elsewhere", { project: "another" })
      .append([...saying("elsewhere", round, 300), { role: "user", content: "regoin regoin lock 404 lens Ann" }]);
  }
  const queries = ["lock w17 common", "deploi regoin w8", '"of s3" tower', "who said lens in even?"];
  const expectSame = async (): Promise<void> => {
    expect(await expectSameAnswers(hub, store, project, queries)).toBeGreaterThan(150);
  };
  await hub.push(store, { projects: [project] });
  await expectSame();
  for (const session of ["even", "s3"]) {
    const rows = store.query(
      `SELECT id FROM messages WHERE session_id = '${session}' AND seq IN (0, 5, 40, 41, 42, 100, 159)`,
    );
    store.forget(session, { messageIds: rows.map(({ id }) => id as number) });
  }
  store.forget("s5");
  await hub.push(store, { projects: [project] });
  await expectSame();
  await hub.keep();
  await expectSame();
}, 240_000);

testOfVectors(
  "a message that shares no word with the query is found among more than are compared one by one",
  async () => {
    const { url, hub } = await hubWithStores();
    const store = temporaryStore({ embedder: letterEmbedder });
    for (let number = 0; number < 11; number++) {
      const messages = Array.from({ length: 500 }, (_, index) => ({
        role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
        content: `${"abcdefghijk"[number]}${"bdfgkmpstvz"[index % 11]}a${"lnrtw"[index % 5]}o${"bcdfg"[(index % 25) >> 2]}u number ${index}`,
      }));
      if (number === 4) messages[20] = { role: "user", content: "xylophones quartets" };
      if (number === 6) messages[495] = { role: "user", content: "zeppelins hovercrafts" };
      store.session(`s${number}`, { project }).append(messages);
    }
    await store.upkeep();
    await hub.push(store, { projects: [project] });
    for (const [query, text] of [
      ["xylophonesque", "xylophones quartets"],
      ["hovercraftiest", "zeppelins hovercrafts"],
    ] as const) {
      const [first] = await store.recall(query, { project, limit: 1 });
      expect(first!.text).toBe(text);
      const found = await hub.recall(query, { project, limit: 1, store });
      expect(found[0]).toMatchObject({ messageId: first!.messageId, text });
      expect((await hub.recall(query, { project, limit: 1 }))[0]?.text).not.toBe(text);
    }
    const clusterCount = async () => Number((await run(url, "SELECT count(*) FROM coppice.clusters"))[0]!.count);
    const before = await clusterCount();
    expect(before).toBeGreaterThan(100);
    store.forget("s4");
    await hub.push(store, { projects: [project] });
    expect(await clusterCount()).toBeLessThan(before);
    expect((await hub.recall("xylophonesque", { project, limit: 50, store })).map(({ text }) => text)).not.toContain(
      "xylophones quartets",
    );
  },
);
