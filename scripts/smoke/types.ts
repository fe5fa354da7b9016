import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installPackages } from "../install.ts";
import { installed } from "./packed.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What checks the types. Nothing else needs it, so it is installed when it is used, into the folder of caches. */
const CHECKERS = { "@arethetypeswrong/cli": "0.18.5", publint: "0.3.25" };
const CHECKERS_FOLDER = join(ROOT, "node_modules", ".cache", "coppice-type-checkers");
const { exports: entries } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
/** What users import: `coppice`, `coppice/import`, `coppice/adapters/openai` and so on. */
const SPECIFIERS = Object.keys(entries).flatMap((path) => (path === "./package.json" ? [] : [join("coppice", path)]));
/** Types that the adapters and a consumer's own code need. */
const TYPED = [
  "ai",
  "openai",
  "@anthropic-ai/sdk",
  "@google/adk",
  "@google/genai",
  "@langchain/core",
  "@openai/agents-core",
  "@langchain/langgraph-checkpoint",
  "drizzle-orm",
  "@types/node",
];
/** Entries that need no other package. */
const ALONE = SPECIFIERS.filter((specifier) => /^coppice(?:\/adapters\/.*|\/import|\/tools|\/view)?$/.test(specifier));
const importsOf = (specifiers: readonly string[]) =>
  specifiers.map((specifier, index) => `import * as entry${index} from "${specifier}";`).join("\n");

const PROGRAM_ALONE = `${importsOf(ALONE)}
export const entries = [${ALONE.map((_, index) => `entry${index}`).join(", ")}];
`;

const PROGRAM = `${importsOf(SPECIFIERS)}
import { openStore, StoreError, type Session, type Store } from "coppice";
export const entries = [${SPECIFIERS.map((_, index) => `entry${index}`).join(", ")}];
const store: Store = openStore("agent.db");
const session: Session = store.session("s", { project: "web" });
session.append({ role: "user", content: "Hello" });
// @ts-expect-error: a wrong name does not compile
session.append({ role: "user", content: "Hello", pined: true });
for (const theme of session.roots()) console.log(theme.clusters.length);
for (const cluster of session.roots({ level: "cluster" })) console.log(cluster.stepCount.toFixed());
try {
  session.render({ tokensMax: 1_000 });
} catch (error) {
  if (error instanceof StoreError) console.log(error.code);
}
`;

/**
 * Checks the types of a tarball: publint, @arethetypeswrong/cli, a program that imports every entry, and one that imports those
 * that need no other package, where there is none.
 *
 * @throws {Error} with what is wrong.
 */
export function checkTypes(tarball: string, project: string): void {
  installed(tarball, project, ["@types/node"]);
  const alone = compilerProblems(project, "alone.ts", PROGRAM_ALONE);
  const pkgDir = installed(tarball, project, TYPED);
  installPackages(CHECKERS_FOLDER, CHECKERS);
  const problems = [
    ["publint", "run", pkgDir, "--pack", "false", "--strict"],
    // Node 20.19 can require ES modules, so an entry without a CommonJS version resolves.
    ["attw", tarball, "--profile", "esm-only"],
  ].flatMap(([checker, ...args]) => {
    const program = join(CHECKERS_FOLDER, "node_modules", ".bin", checker!);
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
    return status === 0 ? [] : [stdout + stderr];
  });
  problems.push(...alone, ...compilerProblems(project, "main.ts", PROGRAM));
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Compiles a program as Node and as bundlers resolve it, and returns the errors of the compiler. */
function compilerProblems(project: string, file: string, program: string): string[] {
  writeFileSync(join(project, file), program);
  const settings = {
    target: "es2023",
    lib: ["es2023"],
    types: ["node"],
    strict: true,
    skipLibCheck: false,
    noEmit: true,
  };
  return [
    ["nodenext", "nodenext"],
    ["preserve", "bundler"],
  ].flatMap(([module, moduleResolution]) => {
    const config = join(project, `tsconfig.${module}.json`);
    writeFileSync(
      config,
      JSON.stringify({ compilerOptions: { ...settings, module, moduleResolution }, files: [file] }),
    );
    const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", config], { cwd: project, encoding: "utf8" });
    return stdout.split("\n").filter((line) => /\berror\b/.test(line) && !isForeign(line));
  });
}

/** True for a line of the compiler about another package's types, which this package cannot fix. */
function isForeign(line: string): boolean {
  return /node_modules\/(?!coppice\/)/.test(line.split("(")[0]!);
}
