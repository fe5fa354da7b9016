import { expect, test } from "vitest";
import { within } from "../../../src/hooks/deadline.ts";

test("an agent does not wait for work without an end", () => {
  const startMs = performance.now();
  const forever = (): never => {
    for (;;);
  };
  expect(() => within(50, forever)).toThrow(expect.objectContaining({ code: "ERR_SCRIPT_EXECUTION_TIMEOUT" }));
  expect(performance.now() - startMs).toBeLessThan(5_000);
});

test("what has no time left is ended, too", () => {
  expect(() => within(-5, () => Array.from({ length: 1e9 }, (_, index) => index))).toThrow(/timed out/);
});

test("work that ends in time gives its result or its own error", () => {
  expect(within(5_000, () => ["done"])).toEqual(["done"]);
  const failure = new Error("no such table");
  expect(() => within(5_000, () => raise(failure))).toThrow(failure);
});

function raise(error: Error): never {
  throw error;
}
