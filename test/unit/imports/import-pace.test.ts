import { expect, test } from "vitest";
import { ImportPace } from "../../../src/imports/import-pace.ts";

/** Simulates transactions in which each message takes `messageMs`. */
function write(pace: ImportPace, count: number, messageMs: number): void {
  for (let index = 0; index < count; index++) pace.note(pace.messageCount, pace.messageCount * messageMs);
}

test("transactions approach 24 milliseconds, with 1 to 100 messages", () => {
  const pace = new ImportPace();
  expect(pace.messageCount).toBe(48);
  write(pace, 20, 0.4);
  expect(pace.messageCount).toBeGreaterThanOrEqual(58);
  expect(pace.messageCount).toBeLessThanOrEqual(60);
  write(pace, 20, 0.01);
  expect(pace.messageCount).toBe(100);
  write(pace, 20, 400);
  expect(pace.messageCount).toBe(1);
});

test("pauses when the file was held for half as long, in any number of transactions", async () => {
  const pace = new ImportPace();
  /** Returns true if the pause takes time. */
  const pauses = async (): Promise<boolean> => {
    let isOver = false;
    const pause = pace.pause().then(() => {
      isOver = true;
    });
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    const hasWaited = !isOver;
    await pause;
    return hasWaited;
  };
  pace.note(10, 8);
  expect(await pauses()).toBe(false);
  pace.note(10, 8);
  expect(await pauses()).toBe(true);
  expect(await pauses()).toBe(false);
});
