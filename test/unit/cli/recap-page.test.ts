import { beforeEach, expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/command-line.ts";
import { COMMAND_GROUPS } from "../../../src/cli/commands.ts";
import { displayWidth } from "../../../src/cli/screen/display-width.ts";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import { openStore } from "../../../src/index.ts";
import { edits } from "../../support/acts.ts";
import { runOnPipes } from "../../support/every-command.ts";
import { FakeStream } from "../../support/fake-terminal.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryPath } from "../../support/temporary-store.ts";

let db: string;

beforeEach(() => {
  db = temporaryPath();
});

async function recapOn(columns: number, ...args: string[]): Promise<string[]> {
  const stdout = new FakeStream({ isTTY: true, columns });
  const terminal = new Terminal(stdout, new FakeStream(), { NO_COLOR: "1" });
  await runCommandLine(["--db", db, "recap", ...args], { groups: COMMAND_GROUPS, version: "1", terminal });
  return stdout.text.trimEnd().split("\n");
}

const INSTRUMENTS = ["harp", "oboe", "viola", "flute", "cello", "tuba", "lute", "zither", "organ"];

/** Each project has two sessions, whose turns close with three long sentences. */
function fill(projects: readonly string[]): void {
  const store = openStore(db);
  for (const project of projects) {
    for (const part of ["strings", "frame"]) {
      const session = store.session(`${project}-${part}`, { project, title: `The ${part} of the ${project}` });
      for (let turn = 0; turn < 6; turn++) {
        session.append([
          user(`Never paint the ${part} ${turn} of the ${project}, because varnish number ${turn} holds better.`),
          ...edits(`${part}${turn}.md`),
          assistant(
            `The ${part} of the ${project} number ${turn} is varnished with resin ${turn + 40}, which the workshop mixed.\n\n` +
              `The ${project} keeps its tone at ${400 + turn} hertz over the whole range of its ${part}, as measured twice.\n\n` +
              "Shall I varnish the next one, too?",
          ),
        ]);
      }
    }
  }
  store.close();
}

test("a screen has room for every project, and says how to see the rest", async () => {
  fill(INSTRUMENTS);
  for (const columns of [100, 140, 200]) {
    const lines = await recapOn(columns);
    expect(lines.length).toBeLessThanOrEqual(40);
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(columns);
    expect(lines.at(-1)).toMatch(/^… \d+ more topics; show them with --limit 18$/);
  }
  const wide = (await recapOn(140)).join("\n");
  for (const name of INSTRUMENTS) expect(wide).toContain(name);
  expect(wide.split("\n")[0]).toMatch(/ · newest first$/);
  const all = await recapOn(140, "--limit", "18");
  expect(all.length).toBeGreaterThan(60);
  const [, piped] = await runOnPipes(["--db", db, "recap"]);
  expect(piped.split("\n").length).toBeGreaterThan(60);
});

test("a project with one topic is named with its title, and a project with several above them", async () => {
  fill(["harp"]);
  const store = openStore(db);
  store
    .session("one", { project: "gong", title: "The stand of the gong" })
    .append([
      user("Build a stand for the gong."),
      ...edits("stand.md"),
      assistant("The stand of the gong is made of oak."),
    ]);
  store.close();
  const lines = await recapOn(140);
  expect(lines.find((line) => line.startsWith("The stand of the gong"))).toMatch(/ {2}gong · today · session one$/);
  expect(lines).toContain("harp");
});

test("what was asked is marked, and not told again below a title that says it", async () => {
  const store = openStore(db);
  store
    .session("one", { title: "Rebase the branch of the lease" })
    .append([
      user("Rebase the branch of the lease"),
      ...edits("a.md"),
      assistant("Done. All 31 tests pass."),
      user("Rename the whole handbook of instruments."),
      ...edits("b.md"),
      assistant("Done. All tests pass, and everything is committed."),
    ]);
  store.close();
  const lines = await recapOn(140);
  expect(lines.filter((line) => line.includes("Rebase the branch"))).toHaveLength(1);
  expect(lines).toContain("  user: Rename the whole handbook of instruments.  message:5");
});
