import { mkdirSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { CliFolder } from "../support/cli.ts";
import { assistant, user } from "../support/said.ts";

const folder = new CliFolder({ isHere: true });
const project = realpathSync(folder.path);

beforeAll(() => {
  mkdirSync(join(project, ".git"));
  const store = openStore(folder.db);
  store
    .session("monday", { project, title: "Locks" })
    .append([user("How do we lock a session?"), assistant("We decided that the session lock is a file with flock.")]);
  store.close();
});

test("a rule is stored for the project of the folder, without secrets, and told by recap, resume and recall", async () => {
  const key = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
  const stored = await folder.run(["remember", "We", "deploy", "on", "Tuesdays,", "never", "with", key, "--by", "Ada"]);
  expect(stored.stdout).toContain(`Remembered for ${basename(project)} as message:`);
  expect(stored.stderr).toContain("What looks like a secret was replaced by a placeholder.");
  for (const args of [["recap"], ["resume", "monday"], ["recall", "deploy", "Tuesdays"], ["remember"]]) {
    const { stdout } = await folder.run(args);
    expect(stdout, args[0]).toContain("We deploy on Tuesdays, never with [secret: ");
    expect(stdout, args[0]).not.toContain(key);
  }
  expect((await folder.run(["sessions"])).stdout.trim().split("\n")).toHaveLength(2);
});

test("a rejected message says why in recall, expand and show, until the verdict is forgotten", async () => {
  const rejected = await folder.json("remember", "It blocks on NFS.", "--rejects", "message:2");
  const verdict = `rejected: It blocks on NFS. (message:${rejected.messageId})`;
  const shows = [["recall", "session", "lock", "file"], ["expand", "message:2"], ["show", "monday"], ["recap"]];
  for (const args of shows) expect((await folder.run(args)).stdout, args[0]).toContain(verdict);
  expect((await folder.run(["remember"])).stdout).toMatch(/^rejected “We decided that .*”: It blocks on NFS\.$/m);
  await folder.run(["forget", rejected.sessionId, "--messages", String(rejected.messageId), "--yes"]);
  expect((await folder.run(["expand", "message:2"])).stdout).not.toContain("NFS");
});

test("what cannot be remembered is refused with what to do", async () => {
  expect(await folder.refusal(2, "remember", "")).toContain("words to remember");
  expect(await folder.refusal(2, "remember", "x", "--replaces", "theme:1")).toContain("a message, such as message:12");
  expect(await folder.refusal(1, "remember", "x", "--rejects", "message:999")).toContain("No message with id 999");
  expect(await folder.refusal(2, "remember", "x", "--rejects", "1", "--replaces", "1")).toContain("--rejects");
  expect(await folder.refusal(1, "remember", "x", "--project", "nobody")).toContain("nobody");
});
