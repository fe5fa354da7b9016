import { describe, expect, test } from "vitest";
import { recallCommand } from "../../../src/cli/commands/recall.ts";
import { repeatableOption, timeOption } from "../../../src/cli/options.ts";

/** Parses the texts that follow an option, one after the other. */
function parsed(option: ReturnType<typeof timeOption>, ...texts: string[]): unknown {
  return texts.reduce<unknown>((before, text) => option.parseArg!(text, before as never), undefined);
}

test("--near is a whole day, or a moment", () => {
  const near = recallCommand.options!.find(({ long }) => long === "--near")!;
  const [fromMs, nextMs] = [new Date(2026, 10, 1).getTime(), new Date(2026, 10, 2).getTime()];
  expect(parsed(near, "2026-11-01")).toEqual({ fromMs, toMs: nextMs - 1 });
  const atMs = Date.UTC(2026, 10, 1, 14, 30);
  expect(parsed(near, "2026-11-01T14:30Z")).toEqual({ fromMs: atMs, toMs: atMs });
});

describe("timeOption", () => {
  const since = timeOption("since", "", "first");
  const until = timeOption("until", "", "last");

  test("turns a day of the user's time zone into its first or last moment", () => {
    expect(parsed(since, "2026-11-01")).toBe(new Date(2026, 10, 1).getTime());
    expect(parsed(until, "2026-11-01")).toBe(new Date(2026, 10, 1, 23, 59, 59, 999).getTime());
    expect(parsed(since, "2024-02-29")).toBe(new Date(2024, 1, 29).getTime());
  });

  test("accepts a time that is some hours, days or weeks ago", () => {
    for (const [text, hours] of [
      ["36h", 36],
      ["7d", 168],
      ["2w", 336],
    ] as const) {
      const ago = Date.now() - (parsed(since, text) as number);
      expect(Math.abs(ago - hours * 3_600_000)).toBeLessThan(10_000);
    }
    expect(() => parsed(since, "7 d")).toThrow("7d for seven days ago");
  });

  test("accepts a time in the user's zone or in a named one", () => {
    for (const option of [since, until]) {
      expect(parsed(option, "2026-11-01T14:30")).toBe(new Date(2026, 10, 1, 14, 30).getTime());
      expect(parsed(option, "2026-11-01 14:30:05.25")).toBe(new Date(2026, 10, 1, 14, 30, 5, 250).getTime());
      expect(parsed(option, "2026-11-01T14:30Z")).toBe(1_793_543_400_000);
      expect(parsed(option, "2026-11-01T14:30:00+02:00")).toBe(1_793_536_200_000);
    }
  });

  test.each([
    "",
    "the day before yesterday",
    "2026-11",
    "2026-02-30",
    "2026-11-01T25:00",
    "1793543400000",
    "2026-11-01T14:30 UTC",
  ])("refuses %j, and says what it takes", (text) => {
    expect(() => parsed(since, text)).toThrow(
      `Expected --since to be a date or a time such as 2026-11-01, 2026-11-01T14:30, 2026-11-01T14:30:00Z, yesterday, last week, or 7d for seven days ago, got "${text}".`,
    );
  });
});

describe("repeatableOption", () => {
  test("collects the values in order", () => {
    expect(parsed(repeatableOption("session <id>", ""), "b", "a", "b")).toEqual(["b", "a", "b"]);
  });

  test("refuses a value that is not allowed, and names the flag", () => {
    const role = repeatableOption("role <role>", "", ["user", "tool"]);
    expect(parsed(role, "tool", "user")).toEqual(["tool", "user"]);
    expect(() => parsed(role, "tool", "human")).toThrow('Expected --role to be one of user, tool, got "human".');
  });
});
