import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A suite of another project. */
export interface Suite {
  /** The option that gives the checkout. */
  option: string;
  /** The versions of the project whose layout is known, such as `0.17 to 0.20`. */
  versions: string;
  /** The folder of the checkout that is copied. The copy is deleted at the end. */
  folder: string;
  /** Files that are written into the copy, by path. `SOURCE` in their text is our folder of sources. */
  files: Readonly<Record<string, string>>;
  /** The test files to run, in the copy. */
  tests: readonly string[];
  /** What imports are resolved to, in the copy. */
  aliases?: Readonly<Record<string, string>>;
  /** Cases that may fail, by name, with the reason. */
  excused?: Readonly<Record<string, string>>;
}

export interface SuiteResult {
  passed: string[];
  failed: { name: string; message: string }[];
  excused: string[];
  /** Excused cases that pass or are not there. */
  idle: string[];
}

interface Report {
  testResults: {
    name: string;
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
  }[];
}

/** @throws {Error} if the checkout lacks what the suite runs. */
export async function runSuite(suite: Suite, checkout: string): Promise<SuiteResult> {
  const { folder, files, tests, aliases = {}, excused = {} } = suite;
  const theirs = tests.filter((test) => !Object.hasOwn(files, test)).map((test) => join(folder, test));
  const missing = [folder, ...theirs].filter((path) => !existsSync(join(checkout, path)));
  if (missing.length > 0) {
    throw new Error(
      `${checkout} has no ${missing.join(", no ")}. --${suite.option} wants a checkout of the project, version ${suite.versions}.`,
    );
  }
  const copy = realpathSync(mkdtempSync(join(tmpdir(), "coppice-suite-")));
  try {
    cpSync(join(checkout, folder), copy, { recursive: true });
    writeFileSync(join(copy, "tsconfig.json"), "{}"); // theirs may extend a file outside the folder
    for (const [path, text] of Object.entries(files)) {
      writeFileSync(join(copy, path), text.replaceAll("SOURCE", join(ROOT, "src")));
    }
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
    return resultOf(reportOf(copy, tests, aliases), excused);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function reportOf(copy: string, tests: readonly string[], aliases: Readonly<Record<string, string>>): Report {
  const alias = Object.entries(aliases).map(([find, path]) => ({ find, replacement: path.replace(/^\./, copy) }));
  const output = join(copy, "report.json");
  const config = {
    root: copy,
    resolve: { alias },
    server: { fs: { strict: false } },
    test: { include: tests, pool: "forks", testTimeout: 60_000, reporters: ["json"], outputFile: output },
  };
  writeFileSync(join(copy, "vitest.config.mjs"), `export default ${JSON.stringify(config)};\n`);
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  try {
    execFileSync(process.execPath, [vitest, "run", "--root", copy, "--config", "vitest.config.mjs"], {
      cwd: copy,
      stdio: ["ignore", "ignore", "pipe"],
    });
  } catch {
    // A failed case ends vitest with an error. The report has it.
  }
  return JSON.parse(readFileSync(output, "utf8")) as Report;
}

function resultOf({ testResults }: Report, excusable: Readonly<Record<string, string>>): SuiteResult {
  const result: SuiteResult = { passed: [], failed: [], excused: [], idle: [] };
  for (const { name: file, message, assertionResults } of testResults) {
    if (assertionResults.length === 0) result.failed.push({ name: dirname(file), message });
    for (const { fullName: name, status, failureMessages } of assertionResults) {
      if (status === "passed") result.passed.push(name);
      else if (Object.hasOwn(excusable, name)) result.excused.push(name);
      else result.failed.push({ name, message: failureMessages.join("\n") });
    }
  }
  result.idle = Object.keys(excusable).filter((name) => !result.excused.includes(name));
  return result;
}
