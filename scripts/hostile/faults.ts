import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

/** A test: its file, and words of its name. */
type NamedTest = readonly [file: string, name: string];

/** What once went wrong, and the tests that do it again. */
export const FAULTS: Readonly<Record<string, readonly NamedTest[]>> = {
  "one file under two names": [
    ["test/media/one-name.test.ts", "is refused by either name, until one of them is gone"],
    ["test/media/one-name.test.ts", "is refused to others where it got the second name while in use"],
    ["test/media/one-name.test.ts", "a store that is mounted as a single file is refused"],
  ],
  "a foreign database without end": [
    ["test/unit/imports/hostile-files.slow.test.ts", "is given up after ten seconds"],
    ["test/unit/imports/hostile-files.test.ts", "the reading of a database is stopped at once"],
    ["test/e2e/hostile-databases.slow.test.ts", ""],
  ],
  "one bad file among good ones": [
    ["test/unit/imports/hostile-files.slow.test.ts", "of 300 files, every good one comes in"],
    ["test/unit/imports/hostile-files.test.ts", "a chain of 20,000 sessions comes in"],
    ["test/unit/imports/hostile-files.test.ts", "a failure of an importer costs only its file"],
  ],
  "a flipped bit": [
    ["test/media/damage.test.ts", "whose words were altered shows none of them"],
    ["test/unit/store/verify.test.ts", "finds damaged facts, which nothing brings back"],
    ["test/unit/store/verify.test.ts", "finds damaged derived rows, and brings them back bit for bit"],
    ["test/unit/store/verify.test.ts", "finds a damaged full-text index, and builds it again"],
  ],
  "a damaged file that is read": [
    ["test/media/damage.test.ts", "shows no wrong words and throws nothing but our errors"],
    ["test/media/damage.test.ts", "gives all messages but those on a bad page, and names these"],
  ],
  "a time that no calendar has": [
    ["test/unit/limits.test.ts", "the limit of time holds on both sides"],
    ["test/e2e/cli-times.test.ts", ""],
  ],
  "escape sequences in names": [["test/unit/cli/foreign-text.test.ts", ""]],
  "an MCP client that is gone": [
    ["test/unit/mcp/live-store.test.ts", "calls wait for a client that reads slowly"],
    ["test/unit/mcp/tools.test.ts", "one whose client has left, stop waiting for a vector"],
    ["test/e2e/mcp-protocol.test.ts", "a client that leaves in the middle of a call takes the server with it"],
  ],
  "odd arguments and lines": [
    ["test/unit/session/odd-arguments.test.ts", ""],
    ["test/unit/importers/lines.test.ts", "gives objects, and says of each other line what is wrong with it"],
    ["test/unit/importers/registry.test.ts", "reads a first line of many megabytes"],
    ["test/unit/recall/recall.test.ts", "is found by the words of a phrase that stands nowhere"],
  ],
  "hostile requests of an MCP client": [
    ["test/unit/mcp/hostile-requests.test.ts", ""],
    ["test/unit/mcp/tools.test.ts", "a server for one project shows nothing of another"],
  ],
  "quoted text that tries to leave its quotation": [
    ["test/unit/hooks/quotation.test.ts", ""],
    ["test/unit/mcp/tools.test.ts", "what was said can end no element, and hides nothing"],
    ["test/view/hostile.slow.test.ts", ""],
  ],
  "a stranger at the view": [
    ["test/unit/view/attacks.test.ts", ""],
    ["test/unit/view/slow-connections.slow.test.ts", ""],
  ],
  "many sessions that start on a locked store": [["test/e2e/sessions-at-once.slow.test.ts", ""]],
  "calls out of order": [["test/property/disorder.test.ts", ""]],
  "readers that never rest": [["test/unit/store/log-length.test.ts", ""]],
  "a summarizing process that is slow": [
    ["test/processes/resolve.slow.test.ts", "what a stopped process was at is left to it"],
    ["test/processes/resolve.slow.test.ts", "two processes pay for each summary once"],
  ],
};

const REPORT = z.object({
  testResults: z.array(
    z.object({ name: z.string(), assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })) }),
  ),
});

interface FaultFigures {
  passed: number;
  failed: number;
  /** Tests that this machine cannot run, such as those that mount a file. */
  skipped: number;
}

/** Runs the tests of all faults. A named test that does not exist counts as failed. */
export function repeatFaults(folder: string): Record<string, FaultFigures> {
  const tests = Object.values(FAULTS).flat();
  const path = join(folder, "tests.json");
  const files = [...new Set(tests.map(([file]) => file))];
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${path}`];
  // It tells each file on stderr when its tests have run.
  spawnSync("npx", ["vitest", "run", "--mode", "all", ...files, ...reporters], { stdio: ["ignore", 2, 2] });
  const { testResults } = REPORT.parse(JSON.parse(readFileSync(path, "utf8")));
  const outcomesOf = ([file, name]: NamedTest): string[] => {
    const results = testResults.filter((result) => result.name.endsWith(`/${file}`));
    const found = results
      .flatMap(({ assertionResults }) => assertionResults)
      .filter((one) => one.fullName.includes(name));
    return found.length === 0 ? ["missing"] : found.map(({ status }) => status);
  };
  return Object.fromEntries(
    Object.entries(FAULTS).map(([fault, named]) => {
      const outcomes = named.flatMap(outcomesOf);
      const passed = outcomes.filter((status) => status === "passed").length;
      const skipped = outcomes.filter((status) => status === "skipped" || status === "pending").length;
      return [fault, { passed, failed: outcomes.length - passed - skipped, skipped }];
    }),
  );
}
