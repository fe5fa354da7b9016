import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { z } from "zod";
import { randomFrom } from "./bench/messages.ts";
import { type Mutant, mutantsIn } from "./mutants/sites.ts";
import { Progress } from "./progress.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const ROOMS = ["forest", "ingest", "context", "recall", "store"];
const USAGE = "npm run --silent mutants -- [--count N] [--seed S] [--rooms A,B] [--near | --every] [--json]";
/** Tests that take longer have met a loop without end. */
const TESTS_MS_MAX = 900_000;

const REPORT = z.object({
  testResults: z.array(z.object({ name: z.string(), status: z.string() })),
});

/**
 * Changes the source in N random places, one at a time, and runs the tests of `npm test`. A mutant that no test notices survives, and
 * is named. A change that the types refuse is not counted. With `--near`, only the tests of the mutant's room run, and the types are
 * asked only about survivors, which takes a tenth of the time. With `--every`, tests go on after the first that fails, and each mutant's line names all files that noticed it.
 */
const { values } = parseArgs({
  options: {
    count: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
    rooms: { type: "string", default: ROOMS.join(",") },
    near: { type: "boolean", default: false },
    every: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const [count, seed] = [Number(values.count), Number(values.seed)];
if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(seed) || (values.near && values.every)) {
  console.error(`Usage: ${USAGE}`);
  process.exit(2);
}
const rooms = values.rooms.split(",");

/** The tests that notice most mutants of a room. They take a few seconds. */
const near = (room: string): string[] => [`test/unit/${room}/`, `test/property/${room}`, `test/${room}/`];

/** A copy of the repository in which mutants live, one after the other. */
class Habitat {
  readonly #folder = mkdtempSync(join(tmpdir(), "coppice-mutants-"));

  constructor() {
    const files = execFileSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" }).split("\0").filter(Boolean);
    for (const file of files) {
      mkdirSync(dirname(join(this.#folder, file)), { recursive: true });
      cpSync(join(ROOT, file), join(this.#folder, file));
    }
    symlinkSync(join(ROOT, "node_modules"), join(this.#folder, "node_modules"));
  }

  /** Returns the files of tests that noticed the mutant, or undefined if the types refuse it. */
  async filesThatNotice(mutant: Mutant): Promise<string[] | undefined> {
    const path = join(this.#folder, mutant.file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.slice(0, mutant.from) + mutant.becomes + text.slice(mutant.to));
    try {
      if (!values.near && (await this.#isRefused())) return undefined;
      const failed = values.every ? [] : await this.#failedFiles(near(mutant.file.split("/")[1]!));
      if (failed.length > 0) return failed;
      if (values.near) return (await this.#isRefused()) ? undefined : [];
      return await this.#failedFiles([]);
    } finally {
      writeFileSync(path, text);
    }
  }

  /** @throws {Error} if tests fail although nothing is changed, since then every mutant would seem to be noticed. */
  async check(): Promise<void> {
    const failed = await this.#failedFiles(values.near ? rooms.flatMap(near) : []);
    if (failed.length > 0) throw new Error(`These tests fail without a mutant: ${failed.join(", ")}.`);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #isRefused(): Promise<boolean> {
    return (await this.#run("typescript/bin/tsc", ["--noEmit"])) !== 0;
  }

  async #failedFiles(filters: readonly string[]): Promise<string[]> {
    const report = join(this.#folder, "report.json");
    rmSync(report, { force: true });
    const bail = values.every ? [] : ["--bail", "1"];
    const reporting = ["--reporter=json", `--outputFile=${report}`];
    const code = await this.#run("vitest/vitest.mjs", ["run", ...filters, ...bail, ...reporting]);
    if (code === 0) return [];
    try {
      const { testResults } = REPORT.parse(JSON.parse(readFileSync(report, "utf8")));
      const failed = testResults.filter(({ status }) => status === "failed").map(({ name }) => name);
      return failed.length > 0 ? failed.map((name) => name.slice(this.#folder.length + 1)) : ["the test run"];
    } catch {
      return ["the test run"]; // it did not end, or not with a report
    }
  }

  /** @param program  A path in `node_modules`. npm links an older compiler as `tsc`, which takes seven times as long. */
  async #run(program: string, args: readonly string[]): Promise<number | null> {
    const child: ChildProcess = spawn(process.execPath, [join(ROOT, "node_modules", program), ...args], {
      cwd: this.#folder,
      env: { ...process.env, VITEST_MAX_WORKERS: "1" }, // the projects do not take it from the command line
      stdio: "ignore",
      detached: true,
    });
    const timer = setTimeout(() => process.kill(-child.pid!, "SIGKILL"), TESTS_MS_MAX);
    const [code] = await once(child, "exit");
    clearTimeout(timer);
    return code;
  }
}

const random = randomFrom(seed);
const all = mutantsIn(
  ROOT,
  rooms.map((room) => `src/${room}`),
);
const progress = new Progress("mutants", count);
const outcomes: { mutant: Mutant; files: string[] }[] = [];
let begun = 0;

const work = async (isFirst: boolean): Promise<void> => {
  const habitat = new Habitat();
  try {
    if (isFirst) await habitat.check();
    while (begun < count) {
      begun += 1;
      for (let files: string[] | undefined; files === undefined; ) {
        const mutant = all[Math.floor(random() * all.length)]!;
        files = await habitat.filesThatNotice(mutant);
        if (files === undefined) continue;
        outcomes.push({ mutant, files });
        if (files.length > 0 && !values.every) continue;
        const fate = files.length === 0 ? "survived" : `noticed by ${files.length}: ${files.join(", ")}`;
        const { file, line, was, becomes } = mutant;
        console.error(`${file}:${line} ${was.slice(0, 60)} -> ${becomes.slice(0, 60)}: ${fate}`);
      }
      progress.reach(outcomes.length, `${outcomes.filter(({ files }) => files.length === 0).length} survived`);
    }
  } finally {
    habitat.remove();
  }
};
await Promise.all(Array.from({ length: Math.min(availableParallelism(), count) }, (_, index) => work(index === 0)));
progress.end();

const killed = outcomes.filter(({ files }) => files.length > 0).length;
const figures = { mutants: outcomes.length, killed, survived: outcomes.length - killed };
console.log(
  values.json ? JSON.stringify({ name: "mutants", figures }) : `${killed} of ${outcomes.length} were noticed`,
);
