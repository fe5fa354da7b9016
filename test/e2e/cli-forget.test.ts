import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CliFolder } from "../support/cli.ts";

const folder = new CliFolder({ isHere: true });

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
      ...{ summaryCount: 0, artifactCount: 0, isCopy: false, related: [], erased: true, stillIn: [], isDryRun: false },
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
    const refused = await folder.run(args);
    expect([refused.exitCode, refused.stdout]).toEqual([2, ""]);
    expect(refused.stderr).toContain("Forgetting needs your agreement.");
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

test("forget lists copies and takes them, and several sessions, a project and a time", async () => {
  const at = (day: number) => `2026-05-0${day}T09:00:00Z`;
  const uuid = "7a3c5e10-4b2d-4f68-9c01-0123456789ab";
  const say = (session: string, id: string, day: number, content: string) => ({
    ...{ session, role: "user", id, createdAt: at(day), content },
  });
  const secret = "the canary-77d1 sings at noon";
  const lines = [
    ...[
      { session: "one", project: "reef" },
      say("one", uuid, 1, secret),
      say("one", "b", 2, "a second day at the reef"),
    ],
    ...[
      { session: "two", project: "reef" },
      say("two", uuid, 1, secret),
      say("two", "c", 3, "a third day at the reef"),
    ],
    ...[
      { session: "three", project: "dune" },
      say("three", "d", 3, "the canary was quoted: canary-77d1 sings at noon"),
    ],
  ];
  const own = new CliFolder({ isHere: true });
  await own.run(["import", own.jsonl("days.jsonl", lines)]);
  const shown = await own.run(["forget", "one", "--dry-run"]);
  expect(shown.stdout).toContain("These stay, without --related:\n  1 message of two (copies)\n");
  const done = await own.run(["forget", "one", "--since", "2026-05-01", "--until", "2026-05-01", "--yes"]);
  expect(done.stdout).toContain("the file still holds text of them, in 1 place of 1 other session: two (1)\n");
  expect(done.stdout).not.toContain("holds no byte");
  const [, again] = /^To forget them, too:\n {2}coppice (.+)$/m.exec(done.stdout)!;
  expect(again).toMatch(/^forget two --messages \d+$/);
  expect((await own.json("forget", "--project", "reef", "--dry-run")).sessionCount).toBe(2);
  expect((await own.run(["forget", "--project", "cave", "--yes"])).exitCode).toBe(1);
  expect((await own.run(["forget", "--yes"])).exitCode).toBe(2);
  const all = await own.run(["forget", "--project", "reef", "--since", "2026-05-01", "--yes"]);
  expect(all.stdout).toBe("Forgot 3 messages of 2 sessions and 0 summaries.\nThe file holds no byte of them.\n");
  expect((await own.json("sessions")).map(({ id }: { id: string }) => id)).toEqual(["three"]);
});
