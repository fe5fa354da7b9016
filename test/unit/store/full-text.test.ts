import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
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
