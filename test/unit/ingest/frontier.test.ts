import { describe, expect, test } from "vitest";
import { sessionMessages, take } from "../../../scripts/bench/messages.ts";
import { type LocalEmbedder, type MessageInput, openStore, type Session, type Store } from "../../../src/index.ts";
import { TESTS_ALL } from "../../support/effort.ts";
import { derivedRows, inDatabase, rowsOf } from "../../support/rows.ts";
import { calls, results, talk, user } from "../../support/said.ts";
import { temporaryPath, temporaryStore } from "../../support/temporary-store.ts";
import { zonesOf } from "../../support/timed-store.ts";

const SMALL = { hotSize: 4, overlap: 2, evictBatch: 3 };

function zonesAfterEach(messages: readonly MessageInput[], options: Parameters<Store["session"]>[1] = SMALL): string[] {
  const store = temporaryStore();
  const session = store.session("s", options);
  return messages.map((message) => {
    session.append(message);
    return zonesOf(store);
  });
}

describe("the frontier", () => {
  test("moves in batches, and evicts what the move before let in", () => {
    expect(zonesAfterEach(talk(14))).toEqual([
      "H",
      "HH",
      "HHH",
      "HHHH",
      "HHHHH",
      "HHHHHH",
      "oooHHHH", // hotSize + evictBatch: a batch enters the forest
      "oooHHHHH",
      "oooHHHHHH",
      "cccoooHHHH",
      "cccoooHHHHH",
      "cccoooHHHHHH",
      "ccccccoooHHHH",
      "ccccccoooHHHHH",
    ]);
  });

  test("never parts a step: the results wait for the step to be whole, and go together", () => {
    const step = [calls(["a", "b", "c"]), results(["a"]), results(["b"]), results(["c"])];
    const zones = zonesAfterEach([...talk(3), ...step, ...talk(5)]);
    expect(zones.slice(6)).toEqual([
      "oooHHHH",
      "oooHHHHH",
      "oooHHHHHH",
      "cccooooHHH", // four messages of one step, though the batch has three
      "cccooooHHHH",
      "cccooooHHHHH",
    ]);
  });

  test("waits for an open step, whatever follows it that does not close it", () => {
    const strays = Array.from({ length: 12 }, (_, index) => results([`stray_${index}`]));
    const store = temporaryStore();
    const session = store.session("s", SMALL);
    session.append([...talk(3), calls(["a", "b"]), results(["a"]), ...strays]);
    session.compact();
    expect(zonesOf(store)).toBe(`ccc${"H".repeat(14)}`);
    session.append(results(["b"]));
    expect(session.messages().at(-1)).toMatchObject({ stepId: session.messages()[3]!.id });
    session.append(talk(10));
    session.compact();
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    expect(store.expand(session.messages()[3]!.id, { level: "step" }).memberCount).toBe(3);
  });

  test("moves steps that stand in each other's middle as one", () => {
    const store = temporaryStore();
    const session = store.session("s", { hotSize: 2, overlap: 0, evictBatch: 1 });
    session.append([...talk(2), calls(["a"]), results(["stray"]), results(["a"]), user("one")]);
    expect(zonesOf(store)).toBe("ccoooH"); // and not "cccHHH", though the stray and the last would be two
    session.append([user("two"), user("three")]);
    expect(zonesOf(store)).toBe("cccccoHH");
    expect(store.verify().ok).toBe(true);
  });

  test("leaves pinned messages where they are", () => {
    const messages = talk(10).map((message, index) => ({ ...message, pinned: index === 1 }));
    expect(zonesAfterEach(messages).at(-1)).toBe("oHooHHHHHH");
  });

  test("moves before the messages are many where they are long", () => {
    const long = (text: string): MessageInput => user(`${text} ${"word ".repeat(60)}`); // some 66 tokens
    const zones = zonesAfterEach(["a", "b", "c", "d", "e"].map(long), { ...SMALL, hotTokensMax: 150 });
    expect(zones).toEqual(["H", "HH", "ooH", "ccoH", "cccoH"]);
  });
});

describe("compact", () => {
  const compacted = (count: number, options = SMALL): { zones: string; session: Session } => {
    const store = temporaryStore();
    const session = store.session("s", options);
    session.append(talk(count));
    session.compact();
    return { zones: zonesOf(store), session };
  };

  test("leaves hotSize messages out of the forest and overlap more in the window", () => {
    expect(compacted(12).zones).toBe("ccccccooHHHH");
  });

  test("does nothing where there is nothing to move", () => {
    expect(compacted(4).zones).toBe("HHHH");
    const { session } = compacted(12);
    const before = session.info();
    session.compact();
    expect(session.info()).toEqual(before);
  });
});

test("total = hot + cold - overlap", () => {
  const store = temporaryStore();
  const session = store.session("s", SMALL);
  session.append({ role: "system", content: "Be brief." });
  session.append(talk(23));
  expect(
    store.query(
      `SELECT session_id, count(*) AS total, sum(is_hot) AS hot, sum(is_cold) AS cold, sum(zone = 'overlap') AS overlap
       FROM message_zones GROUP BY session_id`,
    ),
  ).toEqual([{ session_id: "s", total: 24, hot: 9, cold: 18, overlap: 3 }]);
});

/** Messages of each of two sessions. */
const COUNT = TESTS_ALL ? 240 : 110;

/**
 * Goal: a move does the same, whether its steps were placed while messages were appended or are all placed by the move.
 * Method: two sessions grow in turns, so that each finds log positions of the other. Once one process appends everything. Once a new
 * process goes on after every four messages, and nothing is placed ahead. Some moves contain fewer steps than were placed ahead.
 */
test("moves to the same rows, whatever was placed ahead", () => {
  const options = { hotSize: 8, overlap: 0, evictBatch: 20, hotTokensMax: 4_000, maxThemes: 3, openClustersMax: 4 };
  const rowsAfter = (isReopened: boolean): string[] => {
    const path = temporaryPath();
    const open = () => openStore(path, { clock: () => 1_700_000_000_000 });
    const histories = [take(sessionMessages(1), COUNT), take(sessionMessages(2), COUNT)] as const;
    let store = open();
    for (let index = 0; index < COUNT; index++) {
      histories.forEach((messages, side) => {
        const session = store.session(`s${side}`, options);
        session.append(messages[index]!);
        if (index % 50 === 48) {
          store.session(`s${side}`, { hotSize: 20 });
          session.compact();
          store.session(`s${side}`, options);
        }
        if (!isReopened || index % 4 !== 3) return;
        store.close();
        store = open();
      });
    }
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    store.close();
    return [...derivedRows(path), ...inDatabase(path, (database) => rowsOf(database, "unions"))];
  };
  const rows = rowsAfter(false);
  expect(rows.length).toBeGreaterThan(2 * COUNT);
  expect(rows).toEqual(rowsAfter(true));
});

/** Goal: a title has all messages of its cluster. Method: a step joins a cluster that began many steps ago, before either is stored. */
test("gives a cluster the same title, whatever was placed ahead", () => {
  const embedder: LocalEmbedder = {
    id: "subjects-32",
    dimension: 32,
    similarityMin: 0.8,
    embed: (text) => new Float32Array(32).map((_, index) => Number(text.includes(`alpha${index}.`))),
  };
  const titlesAfter = (isReloaded: boolean): unknown[] => {
    const store = temporaryStore({ embedder });
    const session = store.session("s", { hotSize: 8, overlap: 2, evictBatch: 40 });
    for (let subject = 0; subject < 22; subject++) {
      session.append(user(`Please build the parser of alpha${subject}.`));
      if (isReloaded) session.update({ title: "Parsers" }); // nothing is placed ahead
    }
    for (const text of ["Thanks for alpha0.", "Fine with alpha1.", ...Array(26).fill("On to alpha30.")]) {
      session.append(user(text));
      if (isReloaded) session.update({ title: "Parsers" });
    }
    return store.query("SELECT root_id, step_count, label FROM clusters ORDER BY root_id");
  };
  const titles = titlesAfter(false);
  expect(titles[0]).toEqual({ root_id: 1, step_count: 2, label: "Build the parser of alpha0" });
  expect(titles).toEqual(titlesAfter(true));
});
