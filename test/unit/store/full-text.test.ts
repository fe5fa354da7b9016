import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { FullTextSums } from "../../../src/store/checks/verify-full-text.ts";
import { FULL_TEXT_TABLES } from "../../../src/store/derived/full-text.ts";
import { repositoriesOf } from "../../support/full-text.ts";
import { assistant, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

/** Ids are places in the order of appending, from 1. */
function members(path: string, scope: { project?: string; sessionIds?: string[] }, idMax: number): number[] {
  const messages = repositoriesOf(path).fullText.messagesOf(scope)!;
  return Array.from({ length: idMax + 2 }, (_, id) => id).filter((id) => messages.has(id));
}

describe("the messages of a scope", () => {
  test("are told by their ids, whether sessions took turns or not", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const [one, two, three] = ["one", "two", "three"].map((id) =>
      store.session(id, { project: id === "two" ? "q" : "p" }),
    );
    one!.append([user("a"), assistant("b"), user("c")]); // 1, 2, 3
    two!.append(user("d"));
    three!.append(user("e"));
    two!.append(assistant("f"));
    three!.append(assistant("g"));
    expect(members(path, { project: "p" }, 7)).toEqual([1, 2, 3, 5, 7]);
    expect(members(path, { project: "q" }, 7)).toEqual([4, 6]);
    expect(members(path, { sessionIds: ["one"] }, 7)).toEqual([1, 2, 3]);
    expect(members(path, { sessionIds: ["one", "two"], project: "p" }, 7)).toEqual([1, 2, 3]);
    expect(members(path, { sessionIds: ["no such"] }, 7)).toEqual([]);
  });

  test("are read again once somebody has written", () => {
    const path = temporaryPath();
    const session = openedStore(path).session("s");
    session.append(user("a"));
    const { fullText } = repositoriesOf(path);
    const hasSecond = (): boolean => fullText.messagesOf({ sessionIds: ["s"] })!.has(2);
    expect(hasSecond()).toBe(false);
    session.append(user("b"));
    expect(hasSecond()).toBe(true);
  });

  test("are not looked for where all are meant", () => {
    const path = temporaryPath();
    openedStore(path).session("s").append(user("a"));
    expect(repositoriesOf(path).fullText.messagesOf({})).toBeUndefined();
  });
});

test("the index is made anew as the migration made it", () => {
  const migration = readFileSync(new URL("../../../migrations/0001_views.sql", import.meta.url), "utf8");
  expect(FULL_TEXT_TABLES).toEqual(migration.match(/CREATE VIRTUAL TABLE [^;]+/g));
});

describe("verify notices words that a search would not find, or would find in vain,", () => {
  const MESSAGES = ["alpha parsers gamma", "delta parsing zeta", "alpha"].map((text) => text.split(" "));

  /** Counts the wrong words of an index that has the words of some messages, which should have others. */
  function wrongCount(stored: readonly string[][], expected: readonly string[][]): number {
    const path = temporaryPath();
    openedStore(path).close();
    const { database, fullText } = repositoriesOf(path, { readonly: false });
    for (const [index, words] of stored.entries()) fullText.insert(index + 1, words);
    const sums = new FullTextSums(database.client);
    for (const [index, words] of expected.entries()) sums.add(index + 1, words);
    return sums.wrongCount();
  }

  test.each([
    ["and no others", 0, MESSAGES],
    ["at another place", 2, [["parsers", "alpha", "gamma"], ...MESSAGES.slice(1)]],
    ["in another message", 2, [["alpha", "parsers", "zeta"], ["delta", "parsing", "gamma"], ["alpha"]]],
    ["once too often", 2, [["alpha", "alpha", "gamma"], ...MESSAGES.slice(1)]],
    ["that are missing", 1, MESSAGES.slice(0, 2)],
    ["that nobody wrote", 1, [...MESSAGES.slice(0, 2), ["alpha", "omega"]]],
  ])("%s", (_, count, stored) => {
    expect(wrongCount(stored, MESSAGES)).toBe(count);
  });

  test("among more of them than are kept in memory", () => {
    const messages = [0, 1, 2].map((at) => ["often", ...Array.from({ length: 18_000 }, (_, own) => `w${at}x${own}`)]);
    const stored = messages.map((words) => words.with(500, "often"));
    expect(wrongCount(stored, messages)).toBe(4);
  });
});
