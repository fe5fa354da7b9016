import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { AnyCommand } from "../../src/cli/command.ts";
import { COMMAND_GROUPS } from "../../src/cli/commands.ts";
import { CliFolder, longSession } from "../support/cli.ts";
import { TESTS_ALL } from "../support/effort.ts";
import { EVERY_COMMAND, nameOf, runOnPipes } from "../support/every-command.ts";

const folder = new CliFolder();

interface Trial {
  /** The words after the command's name, for a store with the session `cli`. */
  args: readonly string[];
  /** The keys of the value that `--json` prints, or of the first element of an array. Scripts rely on them. */
  keys: string;
  isArray?: true;
}

const SESSION =
  "id project title name tags opening source author externalId parentSessionId forkSeq messageCount tokenCount themeCount clusterCount createdAtMs updatedAtMs";

/** A trial for each command; null if the command does not end by itself, or is tried elsewhere. */
const TRIALS: Readonly<Record<string, Trial | null>> = {
  home: { args: [], keys: "store sessionCount last open recurring" },
  demo: { args: [], keys: "store acknowledgedCount lostCount" },
  setup: { args: ["--dry-run"], keys: "changes next" },
  import: {
    args: [join(folder.path, "cli.jsonl")],
    keys: "files sessionCount newCount knownCount forgottenCount excludedCount valueCount replaced passedOver isDryRun warningCount summaries",
  },
  mcp: null,
  // The page is built for the package alone.
  view: TESTS_ALL
    ? {
        args: ["--export", join(folder.path, "page.html"), "--overwrite"],
        keys: "path byteLength sessionCount messageCount",
      }
    : null,
  watch: null,
  hook: { args: ["status"], keys: "isOff projectsOff agents" },
  sessions: { args: [], isArray: true, keys: SESSION },
  "sessions name": { args: ["cli", "The lamp"], keys: "sessionId title" },
  "sessions tag": { args: ["cli", "lights"], keys: "sessionId tags" },
  "sessions hide": { args: ["cli", "--undo"], keys: "sessionId isHidden" },
  show: { args: ["@last"], keys: "session messages messageCount" },
  recall: {
    args: ["lamp"],
    isArray: true,
    keys: "messageId sessionId seq role createdAtMs text score confidence snippet marks root neighbors copies",
  },
  remember: {
    args: ["The beacon is red."],
    keys: "messageId sessionId seq text atMs project by agent about",
  },
  ask: { args: ["lamp", "--dry-run"], keys: "note tokens system prompt" },
  expand: { args: ["message:1"], keys: "root level members memberCount near offset place" },
  resume: {
    args: ["cli"],
    keys: "messages composed tokenCount stablePrefixTokens sources omitted recalled story pressure",
  },
  forest: { args: ["cli"], keys: "session themes hot pinnedCount" },
  subjects: { args: [], isArray: true, keys: "" },
  recap: {
    args: ["--since", "2000-01-01"],
    keys: "sinceMs untilMs sessionCount messageCount topics topicCount remembered",
  },
  file: { args: ["lamp.ts"], keys: "path sessions" },
  fix: { args: ["lamp: command not found"], keys: "fixes" },
  how: { args: ["npm", "test"], keys: "command ways" },
  lost: { args: ["compacted"], keys: "sessionId summaryId atMs lines earlierId" },
  sql: { args: ["SELECT seq, text FROM messages"], isArray: true, keys: "seq text" },
  export: { args: [], isArray: true, keys: "session project createdAt settings source externalId" },
  doctor: { args: [], keys: "ok stats findings" },
  verify: {
    args: [],
    keys: "ok sessionCount messageCount entryCount itemCount unionCount rebuiltCount problemCount problems",
  },
  backup: {
    args: [join(folder.path, "copy.db"), "--overwrite"],
    keys: "path byteLength sessionCount messageCount logPosition",
  },
  restore: {
    args: [join(folder.path, "copy.db")],
    keys: "path byteLength sessionCount messageCount logPosition keptAt",
  },
  reembed: { args: ["--dry-run"], keys: "estimate similarityMin result" },
  rewind: { args: ["cli", "--to", "message:2", "--dry-run"], keys: "branchId supersededCount isDryRun" },
  "sessions fork": { args: ["cli"], keys: "sessionId messageCount" },
  projects: { args: [], isArray: true, keys: "project name sessionCount isGone remote" },
  // They need folders: see cli-projects.test.ts.
  "projects rename": null,
  "projects merge": null,
  "projects exclude": { args: ["--project", "client"], keys: "paths projects" },
  "hub add": { args: ["postgres://127.0.0.1:1/none", "--project", "web"], keys: "url projects team problem" },
  "hub push": { args: ["--dry-run"], keys: "sessions" },
  "hub pull": null,
  // It needs a server: see test/hub/cli.test.ts.
  "hub init": null,
  "hub grant": null,
  "hub follow": null,
  "hub unfollow": { args: ["web"], keys: "sessions" },
  "hub sync": null,
  "hub remove": null,
  hub: { args: [], keys: "url projects team follows forgotten" },
  completion: { args: ["bash"], keys: "shell script" },
  forget: {
    args: ["spare", "--yes"],
    keys: "messageCount tokenCount sessionCount clusterCount summaryCount artifactCount isCopy related erased stillIn isDryRun",
  },
};

const tried = Object.entries(TRIALS).flatMap(([name, trial]) => (trial === null ? [] : [[name, trial] as const]));

beforeAll(async () => {
  const said = { role: "user", content: "Not for long.", createdAt: "2020-01-01T00:00:00Z" };
  const spare = { session: "spare", project: "yard", ...said };
  const wish = { ...spare, session: "compacted", content: "Polish the lamp of the north tower." };
  const summary = { ...wish, content: "In short.", metadata: { isCompactSummary: true } };
  const lines = [...longSession("cli", 60), spare, wish, summary];
  await folder.json("import", folder.jsonl("cli.jsonl", lines));
});

test("every command has a trial", () => {
  expect(Object.keys(TRIALS).sort()).toEqual(EVERY_COMMAND.map(({ name }) => name).sort());
});

describe("help", () => {
  test.each(EVERY_COMMAND.map((command) => [command.name, command] as const))(
    "for %s has examples",
    async (name, command) => {
      const [exitCode, stdout] = await runOnPipes(["help", ...name.split(" ")]);
      expect(exitCode).toBe(0);
      expect(stdout).toContain(`Usage: coppice ${name}`);
      expect(command.examples.length).toBeGreaterThan(0);
      for (const example of command.examples) expect(stdout).toContain(`  coppice ${name} ${example}`.trimEnd());
      const lines = stdout.split("\n").filter((text) => !text.startsWith("  coppice"));
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    },
  );

  test.each(
    EVERY_COMMAND.flatMap(({ name, examples }) => examples.map((example) => [`${name} ${example}`.trimEnd(), name])),
  )("the example coppice %s is valid", async (example, name) => {
    const ran: string[] = [];
    const groups = COMMAND_GROUPS.map(({ heading, commands }) => ({
      heading,
      commands: commands.map((command) => {
        const noting = (one: AnyCommand, as: string): AnyCommand => ({
          ...one,
          run: () => {
            ran.push(as);
            return { value: null, lines: [] };
          },
        });
        const parent = nameOf(command);
        const nested = command.subcommands?.map((one) => noting(one, `${parent} ${nameOf(one)}`));
        return { ...noting(command, parent), ...(nested && { subcommands: nested }) };
      }),
    }));
    const [exitCode, , stderr] = await runOnPipes(wordsOf(example.replace(/ [<>] \S+$/, "")), groups);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(ran).toEqual([name]);
  });
});

describe("every command", () => {
  test.each(tried)("%s --json prints one value and nothing on stderr", async (name, { args, keys, isArray }) => {
    const { exitCode, stdout, stderr } = await folder.run([...name.split(" "), ...args, "--json"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    const value = JSON.parse(stdout);
    expect(Array.isArray(value)).toBe(isArray === true);
    const one = isArray ? (value[0] ?? {}) : value;
    expect(Object.keys(one).sort()).toEqual(keys.split(" ").filter(Boolean).sort());
  });
});

/** Splits a line like a shell: `'"a b" c' d` becomes `"a b" c` and `d`. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, bare]) => single ?? double ?? bare!);
}
