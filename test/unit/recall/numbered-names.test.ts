import { expect, test } from "vitest";
import { numberedNames } from "../../../src/recall/numbered-names.ts";
import { processorMsSince } from "../../support/processor-time.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const holds = (question: string, text: string): boolean => numberedNames(question).some((name) => name.test(text));

test.each([
  ["what failed in service 3?", "service 3 is down", true],
  ["what failed in service 3?", "restart Service #3 now", true],
  ["what failed in service 3?", "service-3", true],
  ["what failed in service 3?", "service3.log", true],
  ["what failed in service #3?", "service 3", true],
  ["what failed in service 3?", "service 31", false],
  ["what failed in service 3?", "microservice 3", false],
  ["what failed in service 3?", "service 2, 3 times", false],
  ["version 3.1 of it", "version 3", false],
  ["at 3:30", "at 3", false],
  ["all 3 of them", "all 3", false],
  ["what happened 3 days ago?", "it happened 3 times", false],
  ["what was done in the last 3 days?", "the last 3 rows", false],
  ["service 31", "service 3", false],
])("%j finds %j: %s", (question, text, isFound) => {
  expect(holds(question, text)).toBe(isFound);
});

test("a text of many spaces and a question with many names take little time", () => {
  const from = process.cpuUsage();
  expect(holds("service 3", `service${" ".repeat(100_000)}x`)).toBe(false);
  const letters = [..."abcdefghijklmnopqrst"];
  const question = letters.flatMap((one) => letters.map((other) => `name${one}${other} 3`)).join(" ");
  expect(numberedNames(`${question} `.repeat(100))).toHaveLength(16);
  expect(processorMsSince(from)).toBeLessThan(2_000);
});

test("a message with the number that is asked for comes before those with other numbers", async () => {
  const store = temporaryStore();
  const session = store.session("deploys");
  for (let service = 0; service < 10; service++) {
    session.append({ role: "user", content: `How did the deploy of service ${service} to the second region go?` });
    session.append({ role: "assistant", content: `It went well: attempt number ${service} was enough.` });
  }
  for (const asked of [3, 7]) {
    const hits = await store.recall(`deploy of service ${asked}`, { limit: 3 });
    expect(hits[0]!.text).toContain(`service ${asked} `);
    expect(hits[0]!.copies).toEqual([]);
    expect(hits).toHaveLength(3);
  }
});
