import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { progressOf, type ShowProgress } from "../../../src/cli/screen/progress.ts";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import { formatBytes } from "../../../src/cli/screen/text.ts";
import { FakeStream } from "../../support/fake-terminal.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Returns the progress line after updates at these times. */
function told(reports: readonly [atMs: number, ...Parameters<ShowProgress>][], format?: (n: number) => string): string {
  const stderr = new FakeStream({ isTTY: true });
  const terminal = new Terminal(new FakeStream(), stderr, {});
  const progress = progressOf(terminal, "messages", format);
  const startMs = performance.now();
  for (const [atMs, ...report] of reports) {
    vi.advanceTimersByTime(startMs + atMs - performance.now());
    progress(...report);
  }
  return stderr.text.split("\u001b[K").at(-1)!;
}

test("shows the amount, and the total if known", () => {
  expect(told([[0, 1_200]])).toBe("messages: 1,200");
  expect(told([[0, 1_200, 3_400]])).toBe("messages: 1,200 of 3,400");
});

test("shows the rate since the first update and the time left, after one second", () => {
  const first = [0, 100, 1_000] as const;
  expect(told([[...first], [999, 300, 1_000]])).toBe("messages: 300 of 1,000");
  expect(told([[...first], [2_000, 300, 1_000]])).toBe("messages: 300 of 1,000 · 100/s · 7 s left");
  expect(told([[...first], [10_000, 110, 1_000]])).toBe("messages: 110 of 1,000 · 1/s · 15 min left");
  expect(
    told([
      [0, 0],
      [2_000, 300],
    ]),
  ).toBe("messages: 300 · 150/s");
});

test("shows bytes as bytes", () => {
  expect(
    told(
      [
        [0, 0, 4_000_000],
        [2_000, 2_000_000, 4_000_000],
      ],
      formatBytes,
    ),
  ).toBe("messages: 2.0 MB of 4.0 MB · 1.0 MB/s · 2 s left");
});
