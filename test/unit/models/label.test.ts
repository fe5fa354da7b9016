import { describe, expect, test } from "vitest";
import { labelOf } from "../../../src/models/label.ts";

describe("labelOf", () => {
  test("prefers names to words, and words that many texts share", () => {
    const texts = [
      "The session lock is taken in lock-file.ts before the migration.",
      "lock-file.ts leaves the lock behind when the process dies in the migration.",
      "Then acquireLock() must break the stale one after a migration.",
    ];
    expect(labelOf(texts).split(", ").slice(0, 2)).toEqual(["lock-file.ts", "migration"]);
  });

  test("has at most four words", () => {
    expect(labelOf(["alphabet bravado charlatan delirium echoing foxtrot"]).split(", ")).toHaveLength(4);
  });

  test("spells names as the texts do", () => {
    expect(labelOf(["call HashingEmbedder here", "HashingEmbedder again"])).toContain("HashingEmbedder");
  });

  test("does not name a thing and its parts", () => {
    expect(labelOf(["cleanup.go cleanup.go", "cleanup cleanup.go"])).toBe("cleanup.go");
    expect(labelOf(["检索检索", "检索"])).toBe("检索");
  });

  test("leaves out stop words, numbers, ids, places, people and the names of calls", () => {
    expect(labelOf(["this is what we have", "12345 2026-01-05 deadbeef01", "at :12:5 e.g. @egamma"])).toBe("");
    expect(labelOf(["issue-241287964"])).toBe("issue");
    expect(labelOf(["run_shell\nnpm whatever", "run_shell\nnpm whatever"])).not.toContain("run_shell");
  });

  test("puts what is true of any work on code behind what is not", () => {
    expect(labelOf(["parameter function region", "parameter function region"]).split(", ")[0]).toBe("region");
  });

  test("is empty where there are no words", () => {
    expect(labelOf([])).toBe("");
    expect(labelOf(["", "?!", " \n"])).toBe("");
  });

  test("reads the beginning of long texts, and texts from all over a long list", () => {
    expect(labelOf([`${"- ".repeat(2_000)} unread`])).toBe("");
    const texts = Array.from({ length: 1_000 }, (_, index) => (index < 500 ? "beginning" : "ending"));
    expect(labelOf(texts).split(", ").toSorted()).toEqual(["beginning", "ending"]);
  });

  test("is not misled by texts that look like patterns", () => {
    expect(labelOf(["$Scope.$Apply $Scope.$Apply", "(a+)+$ [x"])).toContain("$Scope.$Apply");
  });
});
