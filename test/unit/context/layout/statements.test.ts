import { expect, test } from "vitest";
import { chooseStatements } from "../../../../src/context/layout/statements.ts";

const statement = (text: string, tokens = 10) => ({ text, tokens });

test("all are shown if all have room, also those that say the same", () => {
  const twice = [statement("The lock is stale."), statement("The lock is stale.")];
  expect(chooseStatements(twice, 20)).toEqual(twice);
});

test("without room for all, what adds the most words per token is shown, in order", () => {
  const first = statement("The lock file is stale after a reboot");
  const same = statement("The lock file is stale");
  const other = statement("The region is eu-west-1");
  const long = statement("Invoices show currencies of another country", 100);
  expect(chooseStatements([first, same, other, long], 30)).toEqual([first, other]);
});

test("of statements that add as much, the later one is shown", () => {
  const older = statement("alpha beta");
  const newer = statement("gamma delta");
  expect(chooseStatements([older, newer], 10)).toEqual([newer]);
});
