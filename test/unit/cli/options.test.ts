import { describe, expect, test } from "vitest";
import { repeatableOption, timeOption } from "../../../src/cli/options.ts";

/** What an option makes of the texts that follow it, one after the other. */
function parsed(option: ReturnType<typeof timeOption>, ...texts: string[]): unknown {
  return texts.reduce<unknown>((before, text) => option.parseArg!(text, before as never), undefined);
}

describe("timeOption", () => {
  const since = timeOption("since", "", "first");
  const until = timeOption("until", "", "last");

  test("takes a day of the user's for its first or its last moment", () => {
    expect(parsed(since, "2026-11-01")).toBe(new Date(2026, 10, 1).getTime());
    expect(parsed(until, "2026-11-01")).toBe(new Date(2026, 10, 1, 23, 59, 59, 999).getTime());
    expect(parsed(since, "2024-02-29")).toBe(new Date(2024, 1, 29).getTime());
  });

  test("takes a time, in the user's zone or the one it names", () => {
    for (const option of [since, until]) {
      expect(parsed(option, "2026-11-01T14:30")).toBe(new Date(2026, 10, 1, 14, 30).getTime());
      expect(parsed(option, "2026-11-01 14:30:05.25")).toBe(new Date(2026, 10, 1, 14, 30, 5, 250).getTime());
      expect(parsed(option, "2026-11-01T14:30Z")).toBe(1_793_543_400_000);
      expect(parsed(option, "2026-11-01T14:30:00+02:00")).toBe(1_793_536_200_000);
    }
  });

  test.each([
    "",
    "yesterday",
    "2026",
    "2026-11",
    "2026-02-30",
    "2026-13-01",
    "2026-11-01T25:00",
    "2026-11-01T14",
    "1793543400000",
    "2026-11-01T14:30 UTC",
  ])("refuses %j, and says what it takes", (text) => {
    expect(() => parsed(since, text)).toThrow(
      `Expected --since to be a date or a time such as 2026-11-01, 2026-11-01T14:30 or 2026-11-01T14:30:00Z, got "${text}".`,
    );
  });
});

describe("repeatableOption", () => {
  test("collects what is given, in order", () => {
    expect(parsed(repeatableOption("session <id>", ""), "b", "a", "b")).toEqual(["b", "a", "b"]);
  });

  test("refuses what is not allowed, under its own name", () => {
    const role = repeatableOption("role <role>", "", ["user", "tool"]);
    expect(parsed(role, "tool", "user")).toEqual(["tool", "user"]);
    expect(() => parsed(role, "tool", "human")).toThrow('Expected --role to be one of user, tool, got "human".');
  });
});
