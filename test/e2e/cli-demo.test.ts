import { expect, test } from "vitest";
import { CliFolder } from "../support/cli.ts";
import { openedStore } from "../support/temporary-store.ts";

const folder = new CliFolder();

test("demo shows the main job without a key, loses nothing to a kill, and leaves a store to look around in", async () => {
  const { exitCode, stdout, stderr } = await folder.run(["demo"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  const path = /export COPPICE_DB=(.*)/.exec(stdout)![1]!;
  const store = openedStore(path, { readonly: true });
  expect(stdout.indexOf("It replaces the flock of 2 March")).toBeGreaterThan(0);
  expect(stdout.indexOf("It replaces the flock of 2 March")).toBeLessThan(stdout.indexOf("session lock is a flock"));
  expect(stdout).toMatch(/told that \d+ messages were stored\. Lost: 0\./);
  expect(stdout).toContain("No problems found.");
  expect(stdout.split("\n").length).toBeLessThan(100);
  // Tables and lists agree with each other: what the kill left is in a session of its own.
  const longest = store.sessions().reduce((left, right) => (right.messageCount > left.messageCount ? right : left));
  expect(stdout).toContain(`${longest.messageCount} messages · ${longest.tokenCount.toLocaleString("en-US")} tokens`);
});
