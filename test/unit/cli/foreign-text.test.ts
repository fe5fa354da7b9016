import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/command-line.ts";
import { COMMAND_GROUPS } from "../../../src/cli/commands.ts";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import { openStore } from "../../../src/index.ts";
import { edits, fails, runs } from "../../support/acts.ts";
import { EVERY_COMMAND } from "../../support/every-command.ts";
import { FakeStream } from "../../support/fake-terminal.ts";
import { talk } from "../../support/said.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";

const SOURCE = fileURLToPath(new URL("../../../src", import.meta.url));

/** Matches what can write to a terminal. */
const WRITER = /process\.std(?:out|err)\b|\bconsole\.|#std(?:out|err)\.write|\bmarks\?|\becho\b|\bcreateInterface\(/;

/** Matches what makes foreign text printable. */
const PRINTABLE = /(?:write\((?:cutToWidth\()?|\$\{)(?:visibleText|shown|oneLine)\(/;

/** Files that may write to a terminal what they have not made printable, and in how many lines. Add a line only if its text is constant. */
const WRITERS: Readonly<Record<string, number>> = {
  // Readline asks a question that is constant.
  "cli/agreement.ts": 2,
  // The protocol, which a program reads.
  "cli/commands/mcp.ts": 1,
  "cli/screen/pager.ts": 1,
  "cli/screen/terminal.ts": 5,
  // Names of programs.
  "importers/markdown-roles.ts": 1,
  "importers/specstory.ts": 1,
  "imports/redaction/value-rules.ts": 1,
  "models/actions.ts": 1,
};

test("only a few places write to a terminal", () => {
  const found: Record<string, number> = {};
  for (const file of readdirSync(SOURCE, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    const lines = readFileSync(join(SOURCE, file), "utf8")
      .replaceAll(/^\s*(?:\/?\*|\/\/).*|\s\/\/ .*$/gm, "")
      .split("\n");
    const writing = lines.filter((line) => WRITER.test(line) && !PRINTABLE.test(line));
    if (writing.length > 0) found[file] = writing.length;
  }
  expect(found).toEqual(WRITERS);
});

const CSI = "\u009b31m";
const OSC = "\u009d52;c;aGk=\u009c";
const BIDI = "\u202e\u2066\u200e\u200f\u061c\u2069";
const HOSTILE = `${CSI}${OSC}${BIDI}`;

/** Matches what a terminal would obey, except line feeds, tabs, and the formats and erasures that the program writes. */
const OBEYED = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const OWN = /\x1b\[\d{1,2}m|\r\x1b\[K/g;

/** A server that cannot be reached would be tried again for seconds. */
const NO_URL = [["--url", `none${HOSTILE}`]];

/** The arguments of each command. */
const TYPED: Record<string, (session: string, file: string, folder: string) => string[][]> = {
  setup: () => [["pi", "--dry-run"], [HOSTILE]],
  import: (_, file, folder) => [[file], [join(folder, `none${HOSTILE}`)]],
  hook: (_, __, folder) => [["off", "--project", join(folder, `none${HOSTILE}`)], ["status"], [HOSTILE]],
  watch: (_, __, folder) => [[folder, "--once"]],
  sessions: () => [[], ["--project", `p${HOSTILE}`]],
  rewind: (session) => [
    [session, "--to", "20", "--yes"],
    [session, "--undo", "--yes"],
    [session, "--to", HOSTILE],
  ],
  show: (session) => [[session], [session, "--tree"], [`none${HOSTILE}`], [session.slice(0, 2)]],
  recall: (session) => [["hostile"], ["deploy", "--session", session, "--explain"]],
  remember: () => [
    [`a rule ${HOSTILE}`],
    [`a reason ${HOSTILE}`, "--rejects", "1"],
    ["x", "--by", HOSTILE],
    ["x", "--replaces", HOSTILE],
    [],
    ["--project", `p${HOSTILE}`],
  ],
  ask: () => [
    ["deploy", "--dry-run"],
    ["deploy", "--with", HOSTILE],
  ],
  expand: (session) => [["1"], [session], [`theme:${HOSTILE}`]],
  resume: (session) => [[session], [session, "--query", "deploy"]],
  forest: (session) => [[session]],
  "sessions fork": (session) => [
    [session, "--id", `f${HOSTILE}`],
    [session, "--at", HOSTILE],
  ],
  "sessions name": (session) => [
    [session, HOSTILE],
    [session, `title ${HOSTILE}`],
  ],
  "sessions tag": (session) => [[session, HOSTILE], [session]],
  "sessions hide": (session) => [[session], [session, "--undo"]],
  recap: () => [
    ["--lines", "9"],
    ["--project", `p${HOSTILE}`],
  ],
  file: () => [["a.ts"], ["a.ts", "--restore"], [HOSTILE]],
  fix: () => [[], ["TypeError: the lamp is hostile"], [HOSTILE]],
  how: () => [["make"], [HOSTILE]],
  lost: (session) => [[session], [], ["--project", `p${HOSTILE}`]],
  subjects: () => [[], ["subject:1"], [`subject:${HOSTILE}`]],
  sql: () => [["SELECT id, project, title FROM sessions"], [`SELECT 1 AS "a${HOSTILE}"`], [`SELECT ${HOSTILE}`]],
  completion: () => [["bash"], [HOSTILE]],
  export: (session) => [[], [session], [session, "--rows"]],
  doctor: () => [[]],
  verify: () => [[]],
  restore: (_, __, folder) => [[join(folder, `none${HOSTILE}.db`)]],
  backup: (_, __, folder) => [[join(folder, `copy${HOSTILE}.db`)], [join(folder, `none${HOSTILE}`, "copy.db")]],
  reembed: () => [[HOSTILE]],
  projects: () => [[], [HOSTILE]],
  "projects merge": () => [[`p${HOSTILE}`, `q${HOSTILE}`]],
  "projects rename": () => [[`q${HOSTILE}`, HOSTILE]],
  "projects exclude": () => [["--project", `p${HOSTILE}`], []],
  "hub push": () => [["--dry-run"], [HOSTILE]],
  "hub pull": () => [[HOSTILE]],
  home: () => [[]],
  "hub add": () => [["postgres://127.0.0.1:1/none", "--project", `p${HOSTILE}`]],
  hub: () => [[], [HOSTILE]],
  "hub init": () => NO_URL.map((more) => ["--team", HOSTILE, ...more]),
  "hub follow": () => [[HOSTILE]],
  "hub unfollow": () => [[HOSTILE]],
  "hub sync": () => [[]],
  "hub grant": () => NO_URL.map((more) => [HOSTILE, "--team", HOSTILE, ...more]),
  "hub remove": () => [[]],
  forget: (session) => [
    ["--secrets", "--dry-run"],
    [session, "--dry-run"],
    [session, "--yes"],
    [session, "--restore"],
  ],
};

/** Commands whose output is the protocol, or comes through the terminal as it does in all others. */
const NOT_RUN = ["mcp", "view", "demo"];

/** Goal: no command sends what a store, a file or a typed word holds raw. Method: run each on hostile names, as text and as JSON. */
test("no command sends a terminal what it would obey", async () => {
  const folder = temporaryFolder();
  const db = join(folder, `agent${HOSTILE}.db`);
  const session = `ab${HOSTILE}`;
  const store = openStore(db);
  for (const id of [session, `${session}2`]) {
    const opened = store.session(id, {
      project: `p${HOSTILE}`,
      title: `t${HOSTILE}`,
      hotSize: 4,
      overlap: 0,
      evictBatch: 2,
    });
    opened.append(talk(30).map((message) => ({ ...message, content: `${message.content} hostile ${HOSTILE}\x1b[2J` })));
    opened.append({ role: "user", name: `n${HOSTILE}`, content: [{ type: "data", data: { [HOSTILE]: HOSTILE } }] });
    opened.append({
      role: "assistant",
      content: [
        { type: "reasoning", text: HOSTILE },
        { type: "tool_call", toolCallId: `c${HOSTILE}`, name: HOSTILE, args: { a: HOSTILE } },
      ],
    });
    const content = [{ type: "file" as const, mediaType: HOSTILE, name: HOSTILE, url: `x:${HOSTILE}` }];
    opened.append({ role: "tool", content: [{ type: "tool_result", toolCallId: `c${HOSTILE}`, content }] });
    const path = `/w${HOSTILE}/a.ts`;
    opened.append([
      ...fails(`make ${HOSTILE}`, `TypeError: the lamp is hostile ${HOSTILE}`),
      ...edits(path, `It is hostile ${HOSTILE}.`, [HOSTILE, `${HOSTILE}2`]),
      ...runs(`make ${HOSTILE}`, HOSTILE),
    ]);
    opened.append({ role: "user", content: `In short ${HOSTILE}`, metadata: { isCompactSummary: true } });
  }
  store.close();
  const file = join(folder, `file${HOSTILE}.jsonl`);
  writeFileSync(
    file,
    `${JSON.stringify({ session: `new${HOSTILE}`, role: "user", content: HOSTILE })}\nno json ${HOSTILE}\n`,
  );
  const names = EVERY_COMMAND.map(({ name }) => name);
  expect(names.toSorted()).toEqual([...Object.keys(TYPED), ...NOT_RUN].toSorted());

  let seenCount = 0;
  for (const [name, typed] of Object.entries(TYPED)) {
    for (const args of typed(session, file, folder)) {
      for (const flags of [["--color", "always"], ["--json"]]) {
        const [stdout, stderr] = [new FakeStream({ isTTY: true, columns: 300 }), new FakeStream({ isTTY: true })];
        const terminal = new Terminal(stdout, stderr, {});
        const argv = ["--db", db, ...flags, ...name.split(" "), ...args];
        await runCommandLine(argv, { groups: COMMAND_GROUPS, version: "1", terminal });
        const written = `${stdout.text}${stderr.text}`;
        expect(written, argv.join(" ")).not.toBe("");
        expect(OBEYED.exec(written.replaceAll(OWN, "")), `${argv.join(" ")}\n${written}`).toBeNull();
        if (/U\+202E|\\u202e/.test(written)) seenCount += 1;
      }
    }
  }
  expect(seenCount).toBeGreaterThan(40); // the hostile text was shown
});
