import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The unit of process times in Linux's `/proc`, in seconds. */
const TICK_S = 0.01;

const REPORT = z.object({ numTotalTests: z.number(), testResults: z.array(z.unknown()) });

/**
 * Runs `npm test` and `npm run test:all` once each.
 *
 * `testWallS`, `testCpuS`, `tests`, `files`: seconds, seconds of CPU time with all child processes, tests and test files of `npm test`.
 * `allWallS`, `allCpuS`: the same of `npm run test:all`.
 *
 * @throws {Error} if a test fails.
 */
export async function benchTests(): Promise<{ name: "tests"; figures: Record<string, number> }> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-tests-"));
  try {
    const short = run("test", join(folder, "short.json"));
    const all = run("test:all", join(folder, "all.json"));
    return {
      name: "tests",
      figures: {
        testWallS: short.wallS,
        testCpuS: short.cpuS,
        tests: short.tests,
        files: short.files,
        allWallS: all.wallS,
        allCpuS: all.cpuS,
      },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(script: string, report: string): { wallS: number; cpuS: number; tests: number; files: number } {
  const [cpuBefore, from] = [childrenCpuS(), performance.now()];
  const args = ["run", script, "--", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { status } = spawnSync("npm", args, { cwd: ROOT, stdio: ["ignore", 2, 2] });
  const wallS = Math.round((performance.now() - from) / 1_000);
  const cpuS = Math.round(childrenCpuS() - cpuBefore);
  if (status !== 0) throw new Error(`npm run ${script} failed with ${status}.`);
  const { numTotalTests: tests, testResults } = REPORT.parse(JSON.parse(readFileSync(report, "utf8")));
  return { wallS, cpuS, tests, files: testResults.length };
}

/** Returns the CPU time of all child processes that have ended, and of theirs. Only Linux tells. */
function childrenCpuS(): number {
  const stat = readFileSync("/proc/self/stat", "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * TICK_S;
}
