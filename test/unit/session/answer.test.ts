import { expect, test } from "vitest";
import { answerOf } from "../../../src/session/aids/answer.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

test("hits stand together by session, three of each before others come", async () => {
  const store = temporaryStore();
  for (const id of ["a", "b"]) {
    const session = store.session(id, { project: "harbor", title: `Lamps of ${id}` });
    const things = ["needs oil and a wick", "burned all night", "was sold to Ines", "stands on the pier"];
    session.append(things.map((thing) => user(`The lamp number ${id} ${thing}.`)));
  }
  const answer = answerOf(await store.recall("lamp number"), store);
  const [first, second] = answer.map(({ sessionId }) => sessionId);
  expect(new Set([first, second])).toEqual(new Set(["a", "b"]));
  const shown = answer.flatMap(({ sessionId, hits }) => hits.map(() => sessionId));
  expect(shown.slice(0, 6)).toEqual([first, first, first, second, second, second]);
  expect(shown).toHaveLength(8);
  const { sessionId } = answer[0]!;
  expect(answer[0]).toMatchObject({ title: `Lamps of ${sessionId}`, project: "harbor", agent: null });
});

test("an answer is shown with what was asked, once for each turn, and its question is not shown again", async () => {
  const store = temporaryStore();
  store
    .session("s", { title: "Lighthouse" })
    .append([
      user("Which lens does the lighthouse need?"),
      assistant("A **Fresnel** lens, as the lighthouse is tall."),
      calls(["c"]),
      results(["c"], "lens of the lighthouse: 4 m"),
      user("Order paint.\n\nWhite."),
      assistant("The paint of the lens room is ordered."),
    ]);
  const [{ hits }] = answerOf(await store.recall("lens lighthouse paint"), store) as [ReturnType<typeof answerOf>[0]];
  expect(hits.find(({ hit }) => hit.seq === 0)).toBeUndefined();
  const asks = hits.filter(({ asked }) => asked !== null).map(({ hit, asked }) => [hit.seq, asked]);
  expect(asks.filter(([, asked]) => asked === "Which lens does the lighthouse need?")).toHaveLength(1);
  expect(hits.find(({ hit }) => hit.seq === 5)!.asked).toBe("Order paint. White.");
});

test("a title that says what was asked stands for it, and hits of a hub have only their sessions", async () => {
  const store = temporaryStore();
  store.session("s").append([user("Mend the lamp of the pier"), assistant("The lamp is mended.")]);
  const hits = (await store.recall("lamp mended")).filter(({ role }) => role === "assistant");
  expect(answerOf(hits, store)).toMatchObject([{ title: "Mend the lamp of the pier", hits: [{ asked: null }] }]);
  expect(answerOf(hits)).toMatchObject([{ sessionId: "s", title: null, agent: null, hits: [{ asked: null }] }]);
});
