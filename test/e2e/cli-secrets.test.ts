import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CliFolder } from "../support/cli.ts";
import { SECRETS } from "../support/secrets.ts";

const folder = new CliFolder({ isHere: true });
const KEY = SECRETS["aws-access-key"]!;

test("import replaces secrets, secrets finds those that were kept, and forgets them", async () => {
  const say = (id: string, content: string) => ({ session: "s", role: "user", id, content });
  const file = folder.jsonl("s.jsonl", [say("a", `the key is ${KEY}`), say("b", "the rest stays")]);
  const { stdout } = await folder.run(["import", file]);
  expect(stdout).toContain("Replaced by placeholders: 1 aws-access-key.");
  expect(readFileSync(folder.db).includes(KEY)).toBe(false);
  expect((await folder.run(["forget", "--secrets", "--dry-run"])).stdout).toBe("No secrets found.\n");

  const kept = folder.jsonl("kept.jsonl", [
    { ...say("a", `the key is ${KEY}`), session: "kept" },
    { ...say("b", "more"), session: "kept" },
  ]);
  expect(await folder.json("import", kept, "--keep-secrets")).toMatchObject({ newCount: 2, replaced: {} });
  const { secrets } = await folder.json("forget", "--secrets", "--dry-run");
  expect(secrets).toEqual([
    { kind: "aws-access-key", sessionId: "kept", messageId: expect.any(Number), masked: "AKIA… (20 characters)" },
  ]);
  await folder.refusal(2, "forget", "--secrets");
  expect(await folder.json("forget", "--secrets", "--yes")).toMatchObject({ messageCount: 1, erased: true });
  expect(readFileSync(folder.db).includes(KEY)).toBe(false);
  expect(await folder.json("import", kept, "--keep-secrets")).toMatchObject({ newCount: 0, forgottenCount: 1 });
});

test("exclude leaves a project out of imports until it is removed", async () => {
  const file = folder.jsonl("p.jsonl", [{ session: "p", project: "client", role: "user", id: "a", content: "hi" }]);
  expect(await folder.json("projects", "exclude", "--project", "client")).toEqual({ paths: [], projects: ["client"] });
  expect((await folder.run(["projects", "exclude"])).stdout).toBe("project\tclient\n");
  expect(await folder.json("import", file)).toMatchObject({ newCount: 0, excludedCount: 1 });
  await folder.json("projects", "exclude", "--project", "client", "--remove");
  expect((await folder.run(["projects", "exclude"])).stdout).toBe("Nothing is excluded.\n");
  expect(await folder.json("import", file)).toMatchObject({ newCount: 1, excludedCount: 0 });
});

test.skipIf(process.platform === "win32")("files of a store are for their owner only, whatever the umask", async () => {
  const home = join(folder.path, "open");
  const file = folder.jsonl("u.jsonl", [{ session: "u", role: "user", id: "a", content: "hi" }]);
  const options = { env: { HOME: home, COPPICE_DB: "" }, before: "umask 000; mkdir -p open" };
  for (const args of [
    ["import", file],
    ["backup", "open/copy.db"],
  ]) {
    expect(await folder.start(args, options).ended).toBe(0);
  }
  const found = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const place = join(home, ".local", "share", "coppice");
  expect(found.map(({ name }) => name)).toEqual(expect.arrayContaining(["agent.db", "copy.db"]));
  expect([statSync(place).mode & 0o777, statSync(join(place, "agent.db")).mode & 0o777]).toEqual([0o700, 0o600]);
  for (const entry of found) expect(statSync(join(entry.parentPath, entry.name)).mode & 0o777).toBe(0o600);
});
