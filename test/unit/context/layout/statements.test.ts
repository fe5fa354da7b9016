import { expect, test } from "vitest";
import { chooseStatements, listStatements, type PricedStatement } from "../../../../src/context/layout/statements.ts";

const statement = (text: string, tokenCount = 10, fields: Partial<PricedStatement> = {}): PricedStatement => {
  return { text, tokenCount, isImportant: false, seqs: [], seq: 0, shownFrom: 1, ...fields };
};

test("all are shown if all have room, also those that say the same", () => {
  const twice = [statement("The lock is stale."), statement("The lock is stale.")];
  expect(listStatements(twice, 20, [])).toEqual(twice);
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

test("an important statement is shown before those that say more", () => {
  const important = statement("Never deploy", 10, { isImportant: true });
  const telling = statement("The lock file is stale after a reboot of the second host");
  expect(chooseStatements([telling, important], 10)).toEqual([important]);
});

test("what is said elsewhere adds nothing", () => {
  const known = statement("The lock file is stale after a reboot");
  const other = statement("The region is eu-west-1");
  expect(chooseStatements([known, other], 10, ["After the reboot, the lock file is stale."])).toEqual([other]);
});

test("a list grows at its end, and when it is full, a part of it makes room for more", () => {
  const all = Array.from({ length: 40 }, (_, seq) =>
    statement(`Matter ${seq} is settled`, 10, { seq, shownFrom: seq }),
  );
  const listAt = (count: number) => listStatements(all.slice(0, count), 100, []).map(({ seq }) => seq);
  let kept = 0;
  for (let count = 1; count <= all.length; count++) {
    const [before, list] = [listAt(count - 1), listAt(count)];
    expect(list).toContain(count - 1);
    expect(list.length).toBeLessThanOrEqual(10);
    expect(list).toEqual(list.toSorted((left, right) => left - right));
    if (before.every((seq, index) => seq === list[index])) kept++;
  }
  expect(kept).toBeGreaterThan(25);
});
