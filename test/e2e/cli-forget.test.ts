import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CliFolder } from "../support/cli.ts";

const folder = new CliFolder();

test("forget deletes messages, then the session, and no byte of them stays in the file", async () => {
  const say = (id: string, content: string) => ({ session: "s", role: "user", id, content });
  const file = folder.jsonl("notes.jsonl", [say("a", "the canary-51c0 sings"), say("b", "the rest stays")]);
  await folder.run(["import", file]);
  const [first] = JSON.parse((await folder.run(["show", "s", "--json"])).stdout).messages;

  const some = await folder.run(["forget", "s", "--messages", String(first.id), "--yes", "--json"]);
  expect([some.exitCode, JSON.parse(some.stdout)]).toEqual([
    0,
    {
      ...{ messageCount: 1, tokenCount: expect.any(Number), sessionCount: 0, clusterCount: 0 },
      ...{ summaryCount: 0, artifactCount: 0, isCopy: false, erased: true, isDryRun: false },
    },
  ]);
  expect(readFileSync(folder.db).includes("canary-51c0")).toBe(false);
  expect(readFileSync(folder.db).includes("the rest stays")).toBe(true);

  const all = await folder.run(["forget", "s", "--yes"]);
  expect(all.stdout).toBe("Forgot 1 message of s and 0 summaries.\nThe file holds no byte of them.\n");
  expect((await folder.run(["forget", "s", "--yes"])).exitCode).toBe(1);
  expect((await folder.run(["forget", "s", "--messages", "x"])).exitCode).toBe(2);
});

test("forget shows what would go, needs agreement, and stays forgotten until it is restored", async () => {
  const say = (id: string, content: string) => ({ session: "kept", role: "user", id, content });
  const file = folder.jsonl("kept.jsonl", [say("a", "the canary-90ab sings"), say("b", "the rest stays")]);
  await folder.run(["import", file]);

  const shown = await folder.run(["forget", "kept", "--dry-run"]);
  expect(shown.stdout).toMatch(
    /^To forget: the session kept, 2 messages with \d+ tokens\.\nNothing was forgotten\.\n$/,
  );
  for (const args of [
    ["forget", "kept"],
    ["forget", "kept", "--json"],
  ]) {
    expect(await folder.fails(2, args)).toContain("Forgetting needs your agreement.");
  }
  expect((await folder.json("sessions")).length).toBe(1);

  await folder.json("forget", "kept", "--yes");
  for (const args of [
    ["import", file],
    ["watch", file, "--once"],
  ])
    await folder.run(args);
  expect(await folder.json("sessions")).toEqual([]);
  expect(await folder.json("import", file)).toMatchObject({ newCount: 0, forgottenCount: 2 });
  expect(readFileSync(folder.db).includes("canary-90ab")).toBe(false);

  await folder.json("import", folder.jsonl("k2.jsonl", [{ ...say("a", "another"), session: "kept-2" }]));
  expect(await folder.json("forget", "kept", "--restore")).toEqual({ restored: true });
  expect((await folder.run(["forget", "kept", "--restore"])).exitCode).toBe(1);
  expect(await folder.json("import", file)).toMatchObject({ newCount: 2, forgottenCount: 0 });
});
