import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FULL_TEXT_TABLES } from "../../../src/store/derived/full-text.ts";

test("the index is made anew as the migration made it", () => {
  const migration = readFileSync(new URL("../../../migrations/0003_search.sql", import.meta.url), "utf8");
  const made = migration.match(/CREATE VIRTUAL TABLE [^;]+/g);
  expect(FULL_TEXT_TABLES).toEqual(made);
});
