import { beforeAll, expect, test } from "vitest";
import { CliFolder, longSession } from "../support/cli.ts";

const folder = new CliFolder({ isHere: true });
const ofAgent = new CliFolder({ isHere: true });

/** A long session, mostly in the forest (messages 1 to 120), and a short one in a project (121 to 123). */
beforeAll(async () => {
  const said = [
    "Which lens did we choose?",
    "The Fresnel lens, because the tower is low.",
    "Order it from the glass works.",
  ];
  const short = said.map((content, index) => ({
    session: "harbor-log",
    project: "harbor",
    role: index === 1 ? "assistant" : "user",
    content,
    createdAt: `2026-04-01T08:0${index}:00Z`,
  }));
  await folder.json("import", folder.jsonl("notes.jsonl", longSession("village-notes", 120)));
  await folder.json("import", folder.jsonl("log.jsonl", short));
});

async function found(...args: string[]): Promise<string[]> {
  const hits: { sessionId: string; role: string; seq: number }[] = await folder.json("recall", ...args);
  return hits.map(({ sessionId, role, seq }) => `${sessionId} ${role} ${seq}`);
}

test("returns hits with their seq, their neighbors and, in the forest, a handle for expand", async () => {
  const [hit] = await folder.json("recall", "fresnel", "tower", "--limit", "1");
  expect(hit).toMatchObject({
    messageId: 122,
    sessionId: "harbor-log",
    role: "assistant",
    snippet: "The Fresnel lens, because the tower is low.",
    root: expect.stringMatching(/^cluster:121@\d+$/),
    neighbors: [{ seq: 0 }, { seq: 2 }],
  });
  const [cold] = await folder.json("recall", "price of the lens grinder", "--session", "village", "--limit", "1");
  const { members } = await folder.json("expand", cold.root, "--limit", "1000");
  expect(members.map(({ id }: { id: number }) => id)).toContain(cold.messageId);
});

test("prints what was said, in which session and for which ask, and how to continue", async () => {
  const { exitCode, stdout, stderr } = await folder.run(["recall", "fresnel tower", "--limit", "1", "--explain"], {
    env: { COLUMNS: "200" },
  });
  expect(exitCode).toBe(0);
  expect(
    stdout
      .replace(/[\d.]+ (words|neigh|sess|speak|time|vec)/g, "N $1")
      .replace(/score [\d.]+/, "score N")
      .replace(/@\d+/, "@N"),
  ).toBe(
    [
      "Which lens did we choose? · harbor · jsonl · 2026-04-01 · harbor-log",
      "  The Fresnel lens, because the tower is low.  message:122",
      "  score N = N words + N neighborhood + N session + N speaker + N time + N vector",
      "",
    ].join("\n"),
  );
  expect(stderr).toMatch(/^Next: coppice expand message:122, for the messages around the first hit\n$/);
});

test("proposes to go on with the session that answers, and not with one that only has a word", async () => {
  const said = ["How high is the tower of the mill?", "The tower of the mill is forty metres high."];
  const lines = said.map((content, index) => ({
    type: index === 0 ? "user" : "assistant",
    uuid: `u${index}`,
    parentUuid: index === 0 ? null : "u0",
    sessionId: "4fec7ea0-0000-4000-8000-000000000000",
    timestamp: `2026-04-01T08:0${index}:00Z`,
    message: { role: index === 0 ? "user" : "assistant", content: [{ type: "text", text: content }] },
  }));
  await ofAgent.json("import", ofAgent.jsonl("tower.jsonl", lines));
  const hintsFor = async (query: string): Promise<string> =>
    (await ofAgent.run(["recall", query], { env: { COLUMNS: "100" } })).stderr;
  expect(await hintsFor("how high is the tower of the mill")).toContain("claude --resume 4fec7ea0");
  const weak = await hintsFor("which tower has the elevator of the airport garage");
  expect(weak).toContain("probably about something else");
  expect(weak).not.toContain("--resume");
});

test("filters by session, project, role, part and time", async () => {
  const all = ["harbor-log assistant 1", "harbor-log user 0", "harbor-log user 2"];
  expect((await found("lens", "--project", "harbor")).sort()).toEqual(all);
  expect((await found("lens", "--session", "harb")).sort()).toEqual(all);
  expect(await found("lens", "--session", "harb", "--role", "assistant", "--role", "tool")).toEqual([all[0]]);
  const both = await found("lens", "--session", "harb", "--session", "vill", "--limit", "1000");
  expect(new Set(both.map((place) => place.split(" ")[0]))).toEqual(new Set(["harbor-log", "village-notes"]));
  expect(await found("lens", "--part", "tool_call", "--part", "file")).toEqual([]);
  expect(await found("lens", "--since", "2026-04-01T08:01", "--until", "2026-04-01T08:01:30Z")).toEqual([all[0]]);
  expect((await found("lens", "--since", "2026-04-01", "--until", "2026-04-01")).sort()).toEqual(all);
  expect(await found("lens", "--since", "2026-04-02")).toEqual([]);
  expect(await found("lens", "--tokens-max", "1")).toEqual([]);
});

test("fills a token limit unless a number of hits is given, too", async () => {
  expect(await found("oven")).toHaveLength(10);
  expect((await found("oven", "--tokens-max", "50000")).length).toBeGreaterThan(10);
  expect(await found("oven", "--tokens-max", "50000", "--limit", "10")).toHaveLength(10);
});

test("searches the words of a quoted title that stands nowhere, and says so", async () => {
  expect(await folder.run(["recall", "--limit", "1", 'who ordered "The Works of Glass"?'])).toMatchObject({
    stdout: expect.stringContaining("from the glass works"),
    stderr: "The quoted text was not found, so its words were searched.\n",
  });
  expect(await folder.run(["recall", '"the works of glass"'])).toEqual({
    exitCode: 0,
    stdout: "",
    stderr: "No message has the quoted text. Without the quotes, its words are searched.\n",
  });
});

test("says that nothing was found, and does not fail", async () => {
  const nothing = { exitCode: 0, stdout: "", stderr: "No message has words of the query.\n" };
  expect(await folder.run(["recall", "submarine"])).toEqual(nothing);
  expect(await folder.json("recall", "submarine")).toEqual([]);
});

test("answers a question for the work of a time as recap does, and one about a topic with messages", async () => {
  const asked = ["what", "did", "we", "do", "on", "2026-04-01"];
  const time = ["--since", "2026-04-01", "--until", "2026-04-01"];
  const recap = await folder.run(["recap", ...time]);
  expect(recap.stdout).toContain("since 2026-04-01 00:00");
  expect(recap.stdout).toContain("The Fresnel lens, because the tower is low.");
  expect(await folder.run(["recall", ...asked])).toEqual(recap);
  expect(await folder.run(["recall", ...asked, "--project", "harbor"])).toEqual(
    await folder.run(["recap", ...time, "--project", "harbor"]),
  );
  const others = [
    [...asked, "about", "the", "lens"],
    [...asked, "--limit", "3"],
    [...asked, "--role", "user"],
  ];
  for (const words of others) expect((await folder.run(["recall", ...words])).stdout).not.toContain("since 2026");
  expect(await folder.json("recall", ...asked)).toEqual([]); // programs get an array of hits
});

test("by theme, prints what themes are about with their handles, and expand shows what is near", async () => {
  const themes: { theme: string; sessionId: string }[] = await folder.json(
    "recall",
    "price of the lens",
    "--by",
    "theme",
  );
  expect(themes[0]).toMatchObject({ sessionId: "village-notes", theme: expect.stringMatching(/^theme:\d+@\d+$/) });
  const { stdout } = await folder.run(["recall", "price of the lens", "--by", "theme"]);
  expect(stdout).toContain(themes[0]!.theme);
  const refused = await folder.run(["recall", "lens", "--by", "theme", "--role", "user"]);
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining("theme with role")]);
  const harbor = themes.find(({ sessionId }) => sessionId === "harbor-log");
  const { near } = await folder.json("expand", harbor?.theme ?? themes[0]!.theme, "--limit", "1");
  for (const { sessionId } of near ?? []) expect(sessionId).not.toBe(harbor?.sessionId ?? "village-notes");
});
