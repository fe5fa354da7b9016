import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { writeTranscript } from "../support/claude-lines.ts";
import { CliFolder } from "../support/cli.ts";

const folder = new CliFolder({ isHere: true });
const [work, client, fox] = ["work/shop", "client/shop", "work/shop/.claude/worktrees/fox"].map((name) =>
  join(folder.path, name),
) as [string, string, string];

let saidCount = 0;

/** What Claude Code writes of a session. */
function transcript(sessionId: string, cwd: string, ...texts: string[]): void {
  const said = texts.map((text) => ({ number: saidCount++, text }));
  writeTranscript(join(folder.path, "transcripts", `${sessionId}.jsonl`), sessionId, said, cwd);
}

/** What an agent is told when a new session of it starts. */
async function told(cwd: string): Promise<string> {
  const input = { session_id: randomUUID(), cwd, source: "startup" };
  return (await folder.run(["hook", "session-start", "--agent", "claude-code"], { stdin: JSON.stringify(input) }))
    .stdout;
}

beforeAll(async () => {
  for (const path of [join(work, ".git", "objects"), client, fox]) mkdirSync(path, { recursive: true });
  const config = '[remote "origin"]\n\turl = https://ada:key@github.com/acme/shop.git\n';
  writeFileSync(join(work, ".git", "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(work, ".git", "config"), config);
  transcript("own", work, "Which gateway takes the payments?", "We decided on Brambleby for the payments.");
  transcript("other", client, "Which gateway takes the client's payments?", "Quillmore, with a margin of 31 percent.");
  transcript("apart", fox, "Which gateway does the fox need?", "The fox needs no gateway.");
  await folder.json("import", join(folder.path, "transcripts"));
});

test("two folders of one name share no words, even if one is gone, and a worktree is of its repository", async () => {
  expect(await folder.json("projects")).toEqual([
    { project: client, name: "shop (client)", sessionCount: 1, isGone: false, remote: null },
    { project: work, name: "shop (work)", sessionCount: 2, isGone: false, remote: "github.com/acme/shop" },
  ]);
  renameSync(join(client, ".."), join(folder.path, "archive"));
  for (const cwd of [work, fox, join(work, "packages")]) {
    mkdirSync(cwd, { recursive: true });
    expect(await told(cwd), cwd).toContain("Brambleby");
    expect(await told(cwd), cwd).not.toContain("client's");
  }
  expect(await told(join(folder.path, "archive", "shop"))).toBe("");
  const sessionsIn = async (...args: string[]) =>
    (await folder.json("recall", "gateway payments", ...args)).map((hit: { sessionId: string }) => hit.sessionId);
  expect(new Set(await sessionsIn("--project", "shop (work)"))).toEqual(new Set(["own", "apart"]));
  expect(new Set(await sessionsIn("--project", fox))).toEqual(new Set(["own", "apart"]));
  expect(new Set(await sessionsIn("--project", client))).toEqual(new Set(["other"]));
  for (const command of [["recall", "gateway"], ["recap"], ["sessions"], ["subjects"], ["projects", "exclude"]]) {
    const refusal = await folder.refusal(2, ...command, "--project", "shop");
    expect(refusal, command[0]).toContain('one of "shop (client)", "shop (work)"');
  }
  const resumed = await folder.json("resume", "own", "--query", "gateway margin", "--scope", "project");
  expect(JSON.stringify(resumed)).not.toContain("31 percent");
  expect((await folder.run(["show", "own"])).stdout).toContain("project shop (work)");
});

test("a folder that was moved goes on with what was said where it was, once the user says so", async () => {
  const now = join(folder.path, "archive", "shop");
  const { stdout } = await folder.run(["projects", "merge", "shop (client)", now]);
  expect(stdout).toMatch(/^Project\tSessions\tFolder\tRemote\nshop \(archive\)\t1\t/);
  expect(await told(now)).toContain("client's");
  expect(await told(work)).not.toContain("client's");
  await folder.json("projects", "rename", now, "nda");
  expect((await folder.run(["sessions"])).stdout).toContain("\tnda\t");
  transcript("later", client, "And the refunds?", "Also Quillmore."); // its transcript names the old folder
  await folder.json("import", join(folder.path, "transcripts"));
  expect(await folder.json("sessions", "--project", "nda")).toHaveLength(2);
  expect((await folder.run(["projects", "split", "nda"])).stderr).toContain("Its commands are rename, merge, exclude.");
});

test("what was excluded by a name before anything was imported stays out, and what is excluded now is one project", async () => {
  await folder.json("projects", "exclude", "--project", "diary");
  transcript("diary", join(folder.path, "home", "diary"), "Dear diary.", "Hello.");
  expect(await folder.json("import", join(folder.path, "transcripts"))).toMatchObject({
    newCount: 0,
    excludedCount: 1,
  });
  await folder.json("projects", "exclude", "--project", "diary", "--remove");
  expect(await folder.json("projects", "exclude", "--project", "nda")).toMatchObject({
    projects: [join(folder.path, "archive", "shop")],
  });
  transcript("newest", client, "A new matter.", "Yes.");
  transcript("mine", work, "Mine, too.", "Yes.");
  expect(await folder.json("import", join(folder.path, "transcripts"))).toMatchObject({
    newCount: 4,
    excludedCount: 3,
  });
});
