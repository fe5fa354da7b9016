import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CliFolder } from "../support/cli.ts";

const folder = new CliFolder();

test("forget deletes messages, then the session, and no byte of them stays in the file", async () => {
  const say = (id: string, content: string) => ({ session: "s", role: "user", id, content });
  const file = folder.jsonl("notes.jsonl", [say("a", "the canary-51c0 sings"), say("b", "the rest stays")]);
  await folder.run(["import", file]);
  const [first] = JSON.parse((await folder.run(["show", "s", "--json"])).stdout).messages;

  const some = await folder.run(["forget", "s", "--messages", String(first.id), "--json"]);
  expect([some.exitCode, JSON.parse(some.stdout)]).toEqual([
    0,
    { messageCount: 1, summaryCount: 0, artifactCount: 0, erased: true },
  ]);
  expect(readFileSync(folder.db).includes("canary-51c0")).toBe(false);
  expect(readFileSync(folder.db).includes("the rest stays")).toBe(true);

  const all = await folder.run(["forget", "s"]);
  expect(all.stdout).toBe("Forgot 1 message of s and 0 summaries.\nThe file holds no byte of them.\n");
  expect((await folder.run(["forget", "s"])).exitCode).toBe(1);
  expect((await folder.run(["forget", "s", "--messages", "x"])).exitCode).toBe(2);
});
