import { beforeAll, describe, expect, test } from "vitest";
import { CliFolder, longSession } from "../support/cli.ts";

const folder = new CliFolder({ isHere: true });

/** A session of 120 messages about two subjects, and a short one whose id begins alike. */
beforeAll(async () => {
  const file = folder.jsonl("notes.jsonl", [
    ...longSession("village-notes", 120),
    {
      session: "village-news",
      role: "user",
      content: "Nothing \u001b[31mnew\u001b[0m.",
      project: "gazette",
      createdAt: "2026-03-02T08:00:00Z",
    },
  ]);
  await folder.json("import", file);
});

describe("sessions", () => {
  test("lists the most recently used first, with their counts", async () => {
    expect(await folder.json("sessions")).toMatchObject([
      { id: "village-news", project: "gazette", source: "jsonl", messageCount: 1, themeCount: 0 },
      { id: "village-notes", project: null, source: "jsonl", messageCount: 120 },
    ]);
    const [header, first, second] = (await folder.run(["sessions"])).stdout.split("\n");
    expect(header).toBe("Session\tProject\tTitle\tMessages\tTokens\tThemes\tLast message");
    expect(first).toMatch(/^village-news\tgazette\tNothing new\t1\t\d+\t0\t20/);
    expect(second).toMatch(/^village-notes\t\tThe lighthouse lamp 0 .*\t120\t\d{4}\t\d+\t2026-03-01T01:59:00\.000Z$/);
  });

  test("fits a screen, and suggests there what to type next", async () => {
    const { stdout, stderr } = await folder.run(["sessions", "--limit", "1"], { env: { COLUMNS: "64" } });
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(64);
    expect(stderr).toContain("Next: coppice show village-news");
    expect(stderr).toContain("There are more sessions: add --offset 1,");
  });

  test("lists the sessions of one project, or since a day", async () => {
    for (const filter of [
      ["--project", "gazette"],
      ["--since", "2026-03-02"],
    ]) {
      expect(await folder.json("sessions", ...filter)).toMatchObject([{ id: "village-news" }]);
    }
    expect(await folder.refusal(1, "sessions", "--project", "none")).toContain(
      'No session is of a project called "none".\n`coppice projects` lists them.',
    );
  });
});

describe("show", () => {
  test("prints messages word for word, a page at a time, and how to continue", async () => {
    const { stdout } = await folder.run(["show", "village-notes", "--limit", "2", "--offset", "58"]);
    expect(stdout).toContain("session village-notes · from jsonl\n");
    expect(stdout).toContain(" · 2026-03-01 00:00 to 2026-03-01 01:59\n");
    expect(stdout).toContain("assistant  message:60 · 2026-03-01 00:59\nThe lighthouse lamp 59 needs a new lens,");
    expect(stdout).not.toContain("lamp 57");
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("… 60 more; continue with --offset 60");
    const rest = await folder.run(["show", "village-notes", "--offset", "118"]);
    expect(rest.stdout).toContain("oven 119");
    expect(rest.stdout).not.toContain("more");
  });

  test("makes control characters of a message visible", async () => {
    const { stdout } = await folder.run(["show", "village-news"]);
    expect(stdout).toContain("Nothing ␛[31mnew␛[0m.");
    const { messages } = await folder.json("show", "village-news");
    expect(messages[0].parts).toEqual([{ type: "text", text: "Nothing \u001b[31mnew\u001b[0m." }]);
  });
});

describe("resume", () => {
  test("prints the context of a model, under its token count", async () => {
    const context = await folder.json("resume", "village-notes", "--tokens-max", "2000");
    expect(context.tokenCount).toBeLessThanOrEqual(2_000);
    const { stdout } = await folder.run(["resume", "village-notes", "--tokens-max", "2000"]);
    const tokens = context.tokenCount.toLocaleString("en-US");
    expect(stdout.split("\n")[1]).toBe(`session village-notes · ${tokens} of 2,000 tokens for 120 messages`);
    expect(stdout.split("\n")[2]).not.toContain("summarized"); // without a model there are no summaries
    expect(stdout.split("\n")[3]).toContain(`${context.pressure.fullTokens.toLocaleString("en-US")} tokens in full`);
    expect(stdout).toContain("The bakery oven 119 burns the bread");
    for (const { parts } of context.messages) expect(stdout).toContain(parts[0].text);
  });

  test("uses another strategy", async () => {
    const context = await folder.json("resume", "village-notes", "--strategy", "full");
    expect(context.sources.map(({ how }: { how: string }) => how)).toEqual(Array(120).fill("verbatim"));
    expect(await folder.refusal(2, "resume", "village-notes", "--strategy", "round")).toContain(
      "union-find, sandwich, flat, full",
    );
  });

  test("shows the messages that answer a query", async () => {
    const context = await folder.json("resume", "village-notes", "--tokens-max", "1000", "--query", "bakery oven 3");
    expect(context.tokenCount).toBeLessThanOrEqual(1_000);
    expect(context.recalled.length).toBeGreaterThan(0);
    const wrong = ["village-notes", "--query", "oven", "--scope", "world"];
    expect(await folder.refusal(2, "resume", ...wrong)).toContain("session, project");
  });
});

describe("forest", () => {
  test("draws themes over their clusters, and the hot window last", async () => {
    const { stdout } = await folder.run(["forest", "village-notes"]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^The lighthouse lamp 0 /);
    expect(lines[1]).toMatch(/^village-notes · 120 messages · [\d,]+ tokens$/);
    expect(lines[3]).toMatch(/^├─ ○ The lighthouse lamp 0 .* theme:1@\d+ .* #0–\d+$/);
    expect(lines[4]).toMatch(/^├─ ○ .* theme:\d+@\d+ .* #\d+–\d+$/);
    expect(lines.at(-1)).toMatch(/^└─ ◆ hot window +1 +[\d,]+ +#119–119 +word for word$/);
  });
});

describe("expand", () => {
  test("prints the members word for word, a page at a time", async () => {
    const { stdout } = await folder.run(["expand", "theme:1", "--limit", "1", "--offset", "1"]);
    expect(stdout).toMatch(/^theme:1@\d+ · \d+ messages\n/);
    expect(stdout).toContain("The lighthouse lamp 1 needs a new lens");
    expect(stdout).toMatch(/… \d+ more; continue with --offset 2\n$/);
    expect(await folder.json("expand", "5", "--level", "step")).toMatchObject({
      ...{ root: null, level: "step", memberCount: 1, members: [{ id: 5, seq: 4, externalId: "m4" }] },
    });
  });
});

describe("subjects", () => {
  const lock = (number: number) => `The session lock number ${number} is stale, and the writer waits for its file.`;
  const said = (session: string, day: number, project?: string) =>
    [1, 2].map((number) => ({
      session,
      role: "user",
      content: number === 2 ? "Thank you!" : lock(day),
      createdAt: `2026-02-0${day}T12:00:00Z`,
      ...(project !== undefined && { project }),
    }));

  beforeAll(async () => {
    const sessions = [said("monday", 2, "harbour"), said("tuesday", 3, "harbour"), said("sunday", 1)];
    await folder.json("import", folder.jsonl("locks.jsonl", sessions.flat()));
  });

  test("lists the subjects of several sessions of a project, with times", async () => {
    expect(await folder.json("subjects", "--project", "harbour", "--limit", "5")).toHaveLength(1);
    const { stdout } = await folder.run(["subjects", "--project", "harbour"]);
    const [title, extent, ...sessions] = stdout.trimEnd().split("\n");
    expect(title).toMatch(/^The session lock number 2 is stale, and the writer waits for its file {2}subject:\d+@\d+$/);
    expect(extent).toBe("2026-02-02 12:00 – 2026-02-03 12:00 · harbour · 2 sessions · 2 messages");
    expect(sessions).toEqual([
      expect.stringMatching(/^ {2}2026-02-02 12:00 {2}\S.*\tsession monday$/),
      expect.stringMatching(/^ {2}2026-02-03 12:00 {2}\S.*\tsession tuesday$/),
    ]);
  });

  test("shows what came of a subject, each line with what expand accepts", async () => {
    const [{ subject }] = await folder.json("subjects", "--project", "harbour");
    const { stdout } = await folder.run(["subjects", subject]);
    const [title, facts, empty, ...lines] = stdout.trimEnd().split("\n");
    expect(title).toBe(`The session lock number 2 is stale, and the writer waits for its file  ${subject}`);
    expect(facts).toBe("2026-02-02 12:00 – 2026-02-03 12:00 · harbour · 2 sessions · 2 messages");
    expect([empty, ...lines]).toEqual([
      "",
      expect.stringMatching(
        /^ {2}timeline {2}2026-02-02 12:00 {2}The session lock number 2 is stale, and the writer waits for its file\tcluster:\d+@\d+$/,
      ),
      expect.stringMatching(
        /^ {12}2026-02-03 12:00 {2}The session lock number 3 is stale, and the writer waits for its file\tcluster:\d+@\d+$/,
      ),
    ]);
    expect((await folder.json("subjects", subject)).timeline).toHaveLength(2);
    expect(await folder.refusal(2, "subjects", "cluster:1")).toContain("expected a subject");
  });

  test("recaps the work since a time", async () => {
    const flags = ["--since", "2026-02-01", "--project", "harbour"];
    const { stdout } = await folder.run(["recap", ...flags]);
    expect(stdout.split("\n").slice(0, 4)).toEqual([
      "since 2026-02-01 00:00 · 2 sessions · 4 messages · newest first",
      "",
      "harbour",
      expect.stringMatching(
        /^The session lock number 3 is stale, and the writer waits for its file {2}2026-02-\d\d · session tuesday$/,
      ),
    ]);
    expect((await folder.json("recap", ...flags)).topics).toHaveLength(2);
    const { stderr } = await folder.run(["recap", "--since", "1h", "--project", "harbour"]);
    expect(stderr).toMatch(/^Nothing since .* The newest message is from /);
  });

  test("expand names the sessions of a subject's messages", async () => {
    const [{ subject }] = await folder.json("subjects", "--project", "harbour");
    expect(await folder.json("expand", subject)).toMatchObject({ root: subject, level: "subject", memberCount: 2 });
    const lines = (await folder.run(["expand", subject])).stdout.split("\n");
    expect(lines[0]).toBe(`${subject} · 2 messages`);
    const named = lines.flatMap((line) => / · session (\S+)$/.exec(line)?.[1] ?? []);
    expect(named).toEqual(["monday", "tuesday"]);
  });

  test("says that there are no subjects", async () => {
    const { exitCode, stdout, stderr } = await folder.run(["subjects", "--project", "gazette"]);
    expect([exitCode, stdout]).toEqual([0, ""]);
    expect(stderr).toBe("No subjects yet. A subject needs similar settled clusters in two sessions of a project.\n");
  });
});

describe("names, tags and hidden sessions", () => {
  const listed = async (...flags: string[]) =>
    (await folder.json("sessions", ...flags)).map(({ id }: { id: string }) => id);

  test("a page follows another, in pipes too", async () => {
    expect(await listed("--offset", "1")).toEqual((await listed()).slice(1));
    const { stdout, stderr } = await folder.run(["sessions", "--limit", "1", "--json"]);
    expect([JSON.parse(stdout).length, stderr]).toEqual([1, expect.stringContaining("add --offset 1")]);
  });

  test("a tag finds its sessions, and is shown with the title", async () => {
    expect(await folder.json("sessions", "tag", "village-notes", "lamp", "coast")).toMatchObject({
      tags: ["coast", "lamp"],
    });
    expect(await listed("--tag", "lamp")).toEqual(["village-notes"]);
    await folder.run(["sessions", "name", "village-notes", "The light"]);
    expect((await folder.run(["sessions"])).stdout).toContain("\tThe light #coast #lamp\t");
    expect(await folder.json("sessions", "tag", "village-notes", "lamp", "--remove")).toMatchObject({
      tags: ["coast"],
    });
    expect(await listed("--tag", "lamp")).toEqual([]);
  });

  test("a hidden session is in no list and no recap, and recall finds it", async () => {
    const all = await listed();
    const { sessionCount } = await folder.json("recap", "--since", "2000-01-01");
    expect(all[0]).toBe("village-news");
    await folder.run(["sessions", "hide", "village-news"]);
    expect(await listed()).toEqual(all.slice(1));
    expect(await listed("--hidden")).toEqual(all);
    expect(await folder.json("show", "@last", "--limit", "0")).toMatchObject({ session: { id: "village-notes" } });
    expect(await folder.json("recap", "--since", "2000-01-01")).toMatchObject({
      sessionCount: sessionCount - 1,
    });
    expect(await folder.json("recall", '"Nothing"')).toMatchObject([{ sessionId: "village-news" }]);
    await folder.run(["sessions", "hide", "village-news", "--undo"]);
    expect(await listed()).toEqual(all);
  });
});

describe("lost", () => {
  const folder = new CliFolder({ isHere: true });
  const wish = "Paint the village oven in the color of the lighthouse.";
  const lines = [
    { role: "user", content: wish },
    { role: "user", content: "A summary without the oven.", metadata: { isCompactSummary: true } },
  ].map((line, hour) => ({ ...line, session: "oven", project: "ovens", createdAt: `2026-01-02T0${hour}:00:00Z` }));
  const never = { session: "bakery", role: "user", content: "Nothing new.", project: "gazette" };
  beforeAll(() => folder.json("import", folder.jsonl("oven.jsonl", [...lines, never])));

  test("shows what the summary lacks, with the message to expand", async () => {
    const { stdout } = await folder.run(["lost"]);
    expect(stdout.trimEnd().split("\n")).toEqual([
      wish.replace(/\.$/, ""),
      "session oven · compacted 2026-01-02 01:00",
      expect.stringMatching(/^ {2}asked {5}Paint the village oven in the color of the lighthouse\.\tmessage:\d+$/),
    ]);
    const lost = await folder.json("lost", "oven");
    expect(lost).toMatchObject({ sessionId: "oven", lines: [{ kind: "asked", text: wish }] });
    const { stdout: whole } = await folder.run(["expand", `message:${lost.lines[0].messageId}`]);
    expect(whole).toContain(wish);
  });

  test("says plainly that nothing was compacted", async () => {
    const bakery = await folder.run(["lost", "bakery"]);
    expect([bakery.exitCode, bakery.stdout]).toEqual([0, ""]);
    expect(bakery.stderr).toContain("This session was never compacted.");
    const none = await folder.run(["lost", "--project", "gazette"]);
    expect(none.stderr).toContain("No session of this project was compacted.");
    expect(await folder.json("lost", "bakery")).toBeNull();
    expect((await folder.run(["lost", "nobody"])).exitCode).toBe(1);
  });
});
