import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CliFolder } from "../support/cli.ts";

const sayIn = (session: string) => (id: string, content: string) => ({ session, role: "user", id, content });

test("forget shows what would go, needs agreement, deletes a message, then the session, until it is restored", async () => {
  const folder = new CliFolder({ isHere: true });
  const say = sayIn("s");
  const file = folder.jsonl("notes.jsonl", [say("a", "the canary-51c0 sings"), say("b", "the rest stays")]);
  await folder.run(["import", file]);
  const shown = await folder.run(["forget", "s", "--dry-run"]);
  expect(shown.stdout).toMatch(/^To forget: the session s, 2 messages with \d+ tokens\.\nNothing was forgotten\.\n$/);
  for (const more of [[], ["--json"]]) {
    expect(await folder.refusal(2, "forget", "s", ...more)).toContain("Forgetting needs your agreement.");
  }

  const { messages } = await folder.json("show", "s");
  expect(await folder.json("forget", "s", "--messages", String(messages[0].id), "--yes")).toMatchObject({
    ...{ messageCount: 1, sessionCount: 0, erased: true, isDryRun: false },
  });
  expect(readFileSync(folder.db).includes("canary-51c0")).toBe(false);
  expect(readFileSync(folder.db).includes("the rest stays")).toBe(true);
  expect((await folder.run(["forget", "s", "--yes"])).stdout).toBe(
    "Forgot 1 message of s and 0 summaries.\nThe file holds no byte of them.\n",
  );
  expect((await folder.run(["forget", "s", "--yes"])).exitCode).toBe(1);
  expect((await folder.run(["forget", "s", "--messages", "x"])).exitCode).toBe(2);

  expect(await folder.json("import", file)).toMatchObject({ newCount: 0, forgottenCount: 2 });
  expect(await folder.json("forget", "s", "--restore")).toEqual({ restored: true });
  expect((await folder.run(["forget", "s", "--restore"])).exitCode).toBe(1);
  expect(await folder.json("import", file)).toMatchObject({ newCount: 2, forgottenCount: 0 });
});

test("forget lists copies and takes them, and several sessions, a project and a time", async () => {
  const folder = new CliFolder({ isHere: true });
  const uuid = "7a3c5e10-4b2d-4f68-9c01-0123456789ab";
  const secret = "the canary-77d1 sings at noon";
  const says = (session: string, day: number, content: string, id = `${day}`) => {
    return { ...sayIn(session)(id, content), createdAt: `2026-05-0${day}T09:00:00Z` };
  };
  await folder.json(
    "import",
    folder.jsonl("days.jsonl", [
      { session: "one", project: "reef" },
      says("one", 1, secret, uuid),
      says("one", 2, "a second day at the reef"),
      { session: "two", project: "reef" },
      says("two", 1, secret, uuid),
      says("two", 3, "a third day at the reef"),
      { session: "three", project: "dune" },
      says("three", 3, "the canary was quoted: canary-77d1 sings at noon"),
    ]),
  );
  const shown = await folder.run(["forget", "one", "--dry-run"]);
  expect(shown.stdout).toContain("These stay, without --related:\n  1 message of two (copies)\n");
  const done = await folder.run(["forget", "one", "--since", "2026-05-01", "--until", "2026-05-01", "--yes"]);
  expect(done.stdout).toContain("the file still holds text of them, in 1 place of 1 other session: two (1)\n");
  expect(done.stdout).not.toContain("holds no byte");
  const [, again] = /^To forget them, too:\n {2}coppice (.+)$/m.exec(done.stdout)!;
  expect(again).toMatch(/^forget two --messages \d+$/);
  expect((await folder.json("forget", "--project", "reef", "--dry-run")).sessionCount).toBe(2);
  expect((await folder.run(["forget", "--project", "cave", "--yes"])).exitCode).toBe(1);
  expect((await folder.run(["forget", "--yes"])).exitCode).toBe(2);
  const all = await folder.run(["forget", "--project", "reef", "--since", "2026-05-01", "--yes"]);
  expect(all.stdout).toBe("Forgot 3 messages of 2 sessions and 0 summaries.\nThe file holds no byte of them.\n");
  expect((await folder.json("sessions")).map(({ id }: { id: string }) => id)).toEqual(["three"]);
});
