import { expect, test } from "vitest";
import { CliFolder } from "../support/cli.ts";

const folder = new CliFolder({ isHere: true });

const say = (id: string, content: string) => ({ session: "s", role: "user", id, content });

async function shown(): Promise<{ id: number; text: string }[]> {
  return (await folder.json("show", "s")).messages;
}

test("a session goes back to a message, shows what it has superseded, and takes it back", async () => {
  await folder.run([
    "import",
    folder.jsonl("notes.jsonl", [say("a", "harbor"), say("b", "lighthouse"), say("c", "whale")]),
  ]);
  const [first, second, third] = (await shown()).map(({ id }) => `message:${id}`);

  const preview = await folder.run(["rewind", "s", "--to", first!, "--dry-run"]);
  expect(preview.stdout).toBe(
    `To leave s: 2 messages, ${second} to ${third}. \`--undo\` would bring them back.\nNothing was changed.\n`,
  );
  for (const more of [[], ["--json"]]) {
    const refusal = await folder.refusal(2, "rewind", "s", "--to", first!, ...more);
    expect(refusal).toContain("Going back needs your agreement.");
  }
  expect(await shown()).toHaveLength(3);

  expect(await folder.json("rewind", "s", "--to", first!.slice("message:".length), "--yes")).toEqual({
    ...{ branchId: expect.any(String), supersededCount: 2, isDryRun: false },
  });
  expect((await shown()).map(({ text }) => text)).toEqual(["harbor"]);
  expect((await folder.run(["rewind", "s", "--to", first!])).stdout).toBe("That is the last message of s already.\n");
  const tree = await folder.run(["show", "s", "--tree"]);
  expect(tree.stdout).toMatch(
    new RegExp(`^s · 1 message · Harbor\\n  ✗ superseded [^\\n]* · 2 messages · ${second}: lighthouse\\n$`),
  );

  const undone = await folder.run(["rewind", "s", "--undo"]);
  expect([undone.exitCode, undone.stdout]).toEqual([0, "2 messages came back to s.\n"]);
  expect((await shown()).map(({ text }) => text)).toEqual(["harbor", "lighthouse", "whale"]);
  expect((await folder.run(["rewind", "s", "--undo"])).stdout).toBe("Nothing to take back: s was not rewound.\n");
});

test("undo asks before messages leave that were appended since the rewind", async () => {
  expect(await folder.json("rewind", "s", "--to", "start", "--yes")).toMatchObject({ supersededCount: 3 });
  await folder.run(["import", folder.jsonl("more.jsonl", [say("d", "a pier")])]);
  expect(await folder.refusal(2, "rewind", "s", "--undo")).toContain("Messages were appended since");
  expect(await folder.json("rewind", "s", "--undo", "--dry-run")).toEqual({
    ...{ restoredCount: 3, supersededCount: 1, isDryRun: true },
  });
  expect((await folder.run(["rewind", "s", "--undo", "--yes"])).stdout).toBe(
    "3 messages came back to s. 1 message left.\n",
  );
  expect(await shown()).toHaveLength(3);
  const { session, branches, children } = await folder.json("show", "s", "--tree");
  expect([session.id, children]).toEqual(["s", []]);
  expect(branches).toMatchObject([{ afterSeq: -1, messageCount: 1, isUndoable: false }]);
});

test("a tree has the sessions that a session started, and their branches", async () => {
  const child = [
    { session: "helper", parent: "s" },
    { ...say("x", "a gull"), session: "helper" },
  ];
  await folder.run(["import", folder.jsonl("child.jsonl", child)]);
  await folder.run(["rewind", "helper", "--to", "start", "--yes"]);
  const { children } = await folder.json("show", "s", "--tree");
  expect(children).toMatchObject([{ session: { id: "helper" }, branches: [{ messageCount: 1 }], children: [] }]);
  const { stdout } = await folder.run(["show", "s", "--tree"]);
  expect(stdout).toMatch(/\n {2}↳ helper · 0 messages\n {4}✗ superseded .* a gull\n$/);
});

test("a fork shares the session up to a message, and both say where it began", async () => {
  const [first] = await shown();
  const forked = await folder.run(["sessions", "fork", "s", "--at", `message:${first!.id}`, "--id", "another"]);
  expect([forked.exitCode, forked.stdout]).toEqual([0, "another shares 1 message of s.\n"]);
  expect((await folder.json("show", "another")).messages).toEqual([first]);
  expect((await folder.run(["show", "another"])).stdout).toContain("session another · forked from s\n");
  expect((await folder.run(["show", "another", "--tree"])).stdout).toMatch(
    /^another · forked from s · 1 message · Harbor\n/,
  );
  expect((await folder.run(["show", "s", "--tree"])).stdout).toMatch(/\n {2}↳ another · fork · 1 message · Harbor\n/);
  expect(await folder.refusal(1, "forget", "s", "--yes")).toContain("`coppice forget another` first");
  await folder.run(["forget", "another", "--yes"]);
});

test("a message that the session does not have is refused, and a rewind needs a target", async () => {
  expect(await folder.refusal(1, "rewind", "helper", "--to", "message:1")).toContain(
    "message:1 is not a message of session helper",
  );
  expect(await folder.refusal(2, "rewind", "s", "--to", "yesterday")).toContain("such as message:17, or start");
  expect(await folder.refusal(2, "rewind", "s")).toContain("--to");
});

test("recall finds superseded messages if it is asked to", async () => {
  expect(await folder.json("recall", "gull")).toEqual([]);
  expect(await folder.json("recall", "gull", "--superseded")).toMatchObject([
    { sessionId: "helper", superseded: true, text: "a gull" },
  ]);
  expect((await folder.run(["recall", "gull", "--superseded"])).stdout).toContain(" · superseded\n");
});
