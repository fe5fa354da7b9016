import { beforeEach, expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/command-line.ts";
import { COMMAND_GROUPS } from "../../../src/cli/commands.ts";
import { displayWidth } from "../../../src/cli/screen/display-width.ts";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import { openStore } from "../../../src/index.ts";
import { edits, runs } from "../../support/acts.ts";
import { runOnPipes } from "../../support/every-command.ts";
import { FakeStream } from "../../support/fake-terminal.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryPath } from "../../support/temporary-store.ts";

let db: string;

beforeEach(() => {
  db = temporaryPath();
});

/** Runs `resume` on a screen without colors. */
async function onScreen(args: readonly string[] = [], columns = 100): Promise<string[]> {
  const stdout = new FakeStream({ isTTY: true, columns });
  const terminal = new Terminal(stdout, new FakeStream(), { NO_COLOR: "1" });
  await runCommandLine(["--db", db, "resume", "s", ...args], { groups: COMMAND_GROUPS, version: "1", terminal });
  return stdout.text.trimEnd().split("\n");
}

function fill(turns: number): void {
  const store = openStore(db);
  const session = store.session("s", { title: "A lock that lasts" });
  session.append([
    user("Make the lock of the importer survive a crash."),
    ...edits("src/lock.ts", "I look for the place first."),
    ...runs("npm test"),
    assistant("The lock is now a lease of ten seconds, because a file lock stays behind. All 31 tests pass."),
  ]);
  for (let turn = 0; turn < turns; turn++) {
    session.append([
      user(`Now write page ${turn} of the handbook, about instrument ${turn}.`),
      ...edits(`docs/page${turn}.md`),
      assistant(`Page ${turn} explains how instrument ${turn} is tuned to ${400 + turn} hertz.`),
    ]);
  }
  session.append([
    user("Which port does the importer listen on?\nI ask because of the firewall."),
    ...runs("grep -r port src"),
    assistant(["It listens on port 4417.", ...Array.from({ length: 80 }, (_, line) => `Detail ${line}.`)].join("\n\n")),
  ]);
  store.close();
}

test("a screen shows what was asked and what came out, and then the newest turn", async () => {
  fill(0);
  const lines = await onScreen();
  expect(lines[0]).toBe("A lock that lasts");
  expect(lines[1]).toMatch(/ · 10 messages · session s$/);
  const at = (start: string): number => lines.findIndex((line) => line.startsWith(start));
  const order = [
    "  user: Make the lock of the importer survive a crash.  message:1",
    "  The lock is now a lease of ten seconds, because a file lock stays behind. All 31 tests pass.",
    "user  message:7",
    "Which port does the importer listen on?",
    "assistant  message:10",
    "It listens on port 4417.",
  ].map(at);
  expect(order).toEqual(order.toSorted((left, right) => left - right));
  expect(order).not.toContain(-1);
  expect(lines.filter((line) => line.includes("Which port"))).toHaveLength(1); // the newest turn is not told besides
  expect(lines.at(-1)).toMatch(/^… \d+ lines more of it: coppice expand message:10$/);
});

test("the page of a long session has two screens at most", async () => {
  fill(200);
  for (const columns of [80, 140]) {
    const lines = await onScreen([], columns);
    expect(lines.length).toBeLessThanOrEqual(80);
    expect(lines.length).toBeGreaterThan(30);
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(columns);
    expect(lines.join("\n")).toContain("Make the lock of the importer survive a crash.");
  }
});

test("in a pipe, with --raw, and with an option about the context, it prints the context", async () => {
  fill(200);
  const [, piped] = await runOnPipes(["--db", db, "resume", "s"]);
  expect(piped).toContain("tokens for 810 messages");
  const shown = async (args: string[]) => (await onScreen(args)).slice(1, 2).join("");
  expect(await shown([])).not.toContain("tokens for");
  for (const args of [["--raw"], ["--tokens-max", "4000"], ["--strategy", "full"], ["--query", "port"]])
    expect(await shown(args), args.join(" ")).toContain("for 810 messages");
});

test("what the user took back is not asked", async () => {
  const store = openStore(db);
  store
    .session("s")
    .append([
      user("Please paint the cover of the handbook green."),
      assistant("The cover of the handbook is green."),
      user("Forget that."),
      assistant("The cover of the handbook is white again."),
      user("What is next?"),
    ]);
  store.close();
  const page = (await onScreen()).join("\n");
  expect(page).toContain("white again");
  expect(page).not.toContain("user: Please paint");
});

test("a session with one message has a page", async () => {
  const store = openStore(db);
  store.session("s").append(user("What is a lease?"));
  store.close();
  expect((await onScreen()).join("\n")).toContain("What is a lease?");
});
