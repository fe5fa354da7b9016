import { expect, test } from "vitest";
import { secretsIn } from "../../../src/imports/redaction/secrets.ts";

/** Of CPU, so that a machine with other work keeps it. What grew faster than its text took minutes or did not end. */
const CPU_MS_MAX = 8_000;
const CHARS = 200_000;

/**
 * Goal: no text of a tool can hold up an import.
 * Method: texts that made patterns try the same characters again and again, or all ways to divide them.
 */
test.each([
  ["a value of digits that is no number", `PASSWORD=${"1".repeat(400)}#\n`],
  ["a value of words that tests have", `password: "${"password".repeat(50)}#"\n`],
  ["a value of words that tests have, with numbers", `Authorization: ${"pass-1-secret.".repeat(250)}~\n`],
  ["beginnings of tokens in each other", "eyJ_"],
  ["beginnings of longer tokens in each other", "ops_eyJ"],
  ["names without a value", "AUTHORIZATION:"],
  ["names and signs", "_pwd="],
])("%s takes time in proportion to its length", (_, unit) => {
  const text = unit.repeat(CHARS / unit.length);
  const from = process.cpuUsage();
  secretsIn(text);
  expect(process.cpuUsage(from).user / 1_000).toBeLessThan(CPU_MS_MAX);
});
