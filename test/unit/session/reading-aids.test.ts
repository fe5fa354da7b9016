import { describe, expect, test } from "vitest";
import { estimatingTokenCounter } from "../../../src/core/tokens.ts";
import { titleOfSession } from "../../../src/models/title.ts";
import { answersFirst } from "../../../src/session/aids/answers-first.ts";
import { hitsPage, pageAround } from "../../../src/session/aids/result-pages.ts";
import { sessionNames } from "../../../src/session/aids/session-name.ts";
import { edits, fails, runs } from "../../support/acts.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

describe("a session is named", () => {
  test("by its title, by what its user asks first, or by all of these words without tags", () => {
    expect(titleOfSession("Lamps", "Which lamp?")).toBe("Lamps");
    expect(titleOfSession(null, "Hi, can you please mend the lamp of the harbor?")).toBe("Mend the lamp of the harbor");
    expect(titleOfSession(null, "<task id='1'>ok\n<b>{}</b></task> = x < y;")).toBe("ok {} = x < y;");
    expect(titleOfSession(null, "<empty/>")).toBeNull();
    expect(titleOfSession(null, "import a from 'b';\n\u202e".repeat(40))).toMatch(/^import a[^\u202e]{1,71}…$/);
    expect(titleOfSession(null, null)).toBeNull();
  });

  test("wherever several are named at once", () => {
    const store = temporaryStore();
    store.session("a").append(user("Mend the lamp."));
    store.session("b", { title: "Boats" });
    store.session("c");
    expect([...sessionNames(store, ["a", "b", "c", "a", "none"])]).toEqual([
      ["a", "Mend the lamp"],
      ["b", "Boats"],
    ]);
  });
});

test("a long name is cut between two characters", async () => {
  const store = temporaryStore();
  store.session("s", { title: `${"a".repeat(59)}🎉` }).append(user("Mend the lamp."));
  const rest = { beyond: 0, pointer: () => "" };
  const budget = { tokensMax: 1_000, tokenCounter: estimatingTokenCounter };
  const page = hitsPage(await store.recall("lamp"), store, rest, budget);
  expect(page.items[0]!.title).toBe("a".repeat(59));
});

test("a hit tells what its calls ran and changed, also if its agent writes them apart, unless its snippet does", async () => {
  const store = temporaryStore();
  const words = "Let me run the tests of the harbor.";
  store
    .session("s")
    .append([
      user("How do we run the tests of the harbor?"),
      ...[assistant(words), ...runs("mise run test:harbor", "all pass")],
      ...[assistant(`${words} By npm.`), ...fails("npm run tests", "missing script")],
      ...[assistant("I change the harbor so that its tests run."), ...edits("/srv/harbor.ts")],
      ...[assistant(`${words} make tests`), ...runs("make tests")],
      ...[assistant(`${words} Or not.`), user("Why not?")],
    ]);
  await store.upkeep();
  const hits = (await store.recall("run tests harbor")).filter(({ snippet }) => /harbor\b.*[.s]$/.test(snippet));
  const did = Object.fromEntries(hits.map((hit) => [hit.snippet, hit.did]));
  expect(did).toMatchObject({
    [words]: ["mise run test:harbor"],
    [`${words} By npm.`]: ["npm run tests (failed)"],
    "I change the harbor so that its tests run.": ["edit /srv/harbor.ts"],
  });
  for (const said of ["make tests", "Or not."]) expect(did[`${words} ${said}`]).toBeUndefined();
  const rest = { beyond: 0, pointer: () => "" };
  const page = hitsPage(hits, store, rest, { tokensMax: 2_000, tokenCounter: estimatingTokenCounter });
  expect(page.text).toContain(`${words}\n→ mise run test:harbor</hit>`);
  expect(page.items.find(({ text }) => text === words)).toMatchObject({ did: ["mise run test:harbor"] });
});

test("an answer comes before the question that it answers, and nothing else moves", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append(user("Which lens did we choose for the lighthouse?"));
  session.append(calls(["c1"]));
  session.append(results(["c1"], "lens list"));
  session.append(assistant("The Fresnel lens."));
  session.append(user("Order the lens."));
  session.append(assistant("The lens is ordered."));
  const hits = await store.recall("lens");
  const [question, answer, order, ordered] = [0, 3, 4, 5].map((seq) => hits.find((hit) => hit.seq === seq)!);
  const seqs = (given: typeof hits) => answersFirst(store, given).map(({ seq }) => seq);
  expect(seqs([order!, question!, ordered!, answer!])).toEqual([4, 3, 0, 5]);
  expect(seqs([answer!, question!])).toEqual([3, 0]);
  expect(seqs([question!, ordered!])).toEqual([0, 5]);
  expect(seqs([question!, hits.find((hit) => hit.seq === 2)!])).toEqual([0, 2]);
});

test("a hit that is cut to its snippet asks if its whole text does", async () => {
  const store = temporaryStore();
  const seqs = async (asked: string) => {
    const session = store.session();
    session.append([
      user(asked),
      assistant(`The lens of the lighthouse is a Fresnel lens. ${"It turns. ".repeat(60)}`),
    ]);
    const hits = await store.recall("lens lighthouse", { sessionIds: [session.id], tokensMax: 150, neighbors: 0 });
    const [question, answer] = [0, 1].map((seq) => hits.find((hit) => hit.seq === seq)!);
    expect(question).toMatchObject({ cut: true });
    return answersFirst(store, [question!, answer!]).map(({ seq }) => seq);
  };
  const filler = "We sail at dawn. ".repeat(60);
  expect(await seqs(`About the lens of the lighthouse. ${filler}Which one is it?`)).toEqual([1, 0]);
  expect(await seqs(`${filler}Which lens has the lighthouse? ${filler}`)).toEqual([0, 1]);
});

function longCluster() {
  const store = temporaryStore();
  const session = store.session("long", { hotSize: 2, overlap: 0, evictBatch: 2 });
  session.append(
    Array.from({ length: 400 }, (_, index) =>
      user(`The lamp of the north light, part ${index}. ${"lens ".repeat(40)}`),
    ),
  );
  session.compact();
  const cluster = session.roots({ level: "cluster" }).toSorted((a, b) => b.messageCount - a.messageCount)[0]!;
  const { members } = store.expand(cluster.root, { limit: 1_000 });
  return { store, session, members };
}

describe("the page around a message", () => {
  test("has the message, wherever in its cluster it stands", () => {
    const { store, members } = longCluster();
    expect(members.length).toBeGreaterThan(20);
    for (const { id } of members) {
      const expansion = store.expand(id, { level: "cluster", limit: 15 });
      expect(expansion.members.map((member) => member.id)).toContain(id);
      const rest = { beyond: 0, pointer: () => "more" };
      const budget = { tokensMax: 400, tokenCounter: estimatingTokenCounter };
      const page = pageAround(id, expansion, rest, budget);
      expect(page.items.map(({ messageId }) => messageId)).toContain(id);
      expect(page.before).toBe(members.findIndex((member) => member.id === page.items[0]!.messageId));
    }
  });

  test("begins with the first message if the message is among the first, and an offset is obeyed", () => {
    const { store, members } = longCluster();
    const [first, second] = members;
    expect(store.expand(second!.id, { level: "cluster", limit: 15 })).toMatchObject({ offset: 0 });
    expect(store.expand(members.at(-1)!.id, { level: "cluster", limit: 2, offset: 0 }).members[0]!.id).toBe(first!.id);
  });

  test("is the same for message:12 and 12, and the root of a theme means the theme", () => {
    const { store, session, members } = longCluster();
    expect(store.expand(`message:${members[3]!.id}`)).toEqual(store.expand(members[3]!.id));
    for (const { root } of session.roots()) {
      const id = Number(/\d+/.exec(root)![0]);
      const { level, offset, members: shown } = store.expand(id);
      expect({ level, shown }).toEqual({ level: "theme", shown: store.expand(root, { offset }).members });
    }
  });
});
