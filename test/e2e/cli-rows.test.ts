import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CliFolder, longSession } from "../support/cli.ts";

const folder = new CliFolder({ isHere: true });
const inFolder = (name: string): string => join(folder.path, name);

test("a session moves to another store by a file, and renders the same there", async () => {
  await folder.run(["import", folder.jsonl("notes.jsonl", longSession("lamp", 80))]);
  const exported = await folder.run(["export", "--rows", "lamp"]);
  expect(exported).toMatchObject({ exitCode: 0, stderr: "" });
  writeFileSync(inFolder("lamp.rows"), exported.stdout);

  const there = ["--db", inFolder("there.db")];
  const imported = await folder.run(["import", "--rows", inFolder("lamp.rows"), ...there]);
  expect(imported).toMatchObject({ exitCode: 0, stderr: "" });
  expect(imported.stdout).toContain("lamp\tnew\t80");
  const contexts = [[], there].map((at) => folder.run(["resume", "lamp", "--tokens-max", "2000", ...at]));
  const [here, away] = await Promise.all(contexts);
  expect(away!.stdout).toBe(here!.stdout);
  expect(await folder.json("import", "--rows", inFolder("lamp.rows"), ...there)).toEqual({
    sessions: [{ sessionId: "lamp", outcome: "known", newCount: 0, forgottenCount: 0, notes: [], error: null }],
  });

  writeFileSync(inFolder("cut.rows"), exported.stdout.slice(0, -100));
  const refusal = await folder.refusal(1, "import", "--rows", inFolder("cut.rows"), ...there);
  expect(refusal).toMatch(/it is (not a line of JSON|cut off)/);
});

test("a session whose ids are taken is refused with what to do", async () => {
  await folder.run(["import", folder.jsonl("own.jsonl", longSession("own", 10)), "--db", inFolder("own.db")]);
  const refused = await folder.run(["import", "--rows", inFolder("lamp.rows"), "--db", inFolder("own.db")]);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain('message 1 belongs to session "own"');
  expect(refused.stderr).toContain("coppice export --rows --own-ids");
  for (const args of [
    ["export", "--own-ids"],
    ["import", "--rows", "x", "--dry-run"],
    ["export", "--rows", "--format", "markdown"],
  ]) {
    await folder.refusal(2, ...args);
  }
});
