import { describe, expect, test } from "vitest";
import { shortIds } from "../../../src/cli/screen/short-ids.ts";

const A = "488c5296-fc78-4fdf-8cfd-f1cae9454bd0";
const B = "0190f1c2-1111-7abc-8000-000000000001";
const C = "0190f1c2-1111-7abd-8000-000000000002";
const FORK = "fork-e106d1934836ccf6ac3c12aec11f8fb8";

describe("shortIds", () => {
  test.each([
    ["eight characters where that is enough", A, [A, B], "488c5296"],
    ["as many groups as tell it from others", B, [A, B, C], "0190f1c2-1111-7abc"],
    ["what stands before a UUID, such as a date", `2026-01-15-${A}`, [`2026-01-15-${A}`, A], "2026-01-15-488c5296"],
    ["what it has started, under its own", `${A}/agent-a4cae29`, [A, `${A}/agent-a4cae29`], "488c5296/agent-a4cae29"],
    [
      "a fork by the beginning of its hash",
      `${A}/${FORK}`,
      [A, `${A}/${FORK}`, `${B}/${FORK}`],
      "488c5296/fork-e106d193",
    ],
    [
      "of two forks as much as tells them apart",
      `${A}/${FORK}`,
      [`${A}/${FORK}`, `${A}/fork-e106d193aaaaaaaaaaaa`],
      "488c5296-fc78/fork-e106d1934836c",
    ],
    [
      "as much as no other name begins with",
      `2026-01-15-${A}`,
      [`2026-01-15-${A}`, "2026-01-15-488c5296-more"],
      "2026-01-15-488c5296-fc78",
    ],
    ["names that people gave, whole", "support-42", ["support-42", "support-43"], "support-42"],
  ])("%s", (_, id, ids, shown) => {
    expect(shortIds(ids)(id)).toBe(shown);
  });
});
