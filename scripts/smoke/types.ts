import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { installed } from "./packed.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const require = createRequire(import.meta.url);
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
  "@types/node",
];
const PROGRAM = `${SPECIFIERS.map((specifier, index) => `import * as entry${index} from "${specifier}";`).join("\n")}
import { openStore, StoreError, type Session, type Store } from "coppice";
export const entries = [${SPECIFIERS.map((_, index) => `entry${index}`).join(", ")}];
const store: Store = openStore("agent.db");
const session: Session = store.session("s", { project: "web" });
session.append({ role: "user", content: "Hello" });
try {
  session.render({ tokensMax: 1_000 });
} catch (error) {
  if (error instanceof StoreError) console.log(error.code);
}
`;

/**
 * Checks the types of a tarball: publint, @arethetypeswrong/cli, and a program that imports every entry, compiled as Node and as
 * bundlers resolve it.
 *
 * @throws {Error} with what is wrong.
 */
export async function checkTypes(tarball: string, project: string): Promise<void> {
  const pkgDir = installed(tarball, project, TYPED);
  const { messages, pkg } = await publint({ pkgDir, pack: false, strict: true });
  const problems = messages.map((message) => formatMessage(message, pkg) ?? message.code);
  const { attw } = require("@arethetypeswrong/cli/package.json").bin;
  const cli = join(dirname(require.resolve("@arethetypeswrong/cli/package.json")), attw);
  // Node 20.19 can require ES modules, so an entry without a CommonJS version resolves.
  const resolved = spawnSync(process.execPath, [cli, tarball, "--profile", "esm-only"], { encoding: "utf8" });
  if (resolved.status !== 0) problems.push(resolved.stdout + resolved.stderr);
  writeFileSync(join(project, "main.ts"), PROGRAM);
  const settings = {
    target: "es2023",
    lib: ["es2023"],
    types: ["node"],
    strict: true,
    skipLibCheck: false,
    noEmit: true,
  };
  for (const [module, moduleResolution] of [
    ["nodenext", "nodenext"],
    ["preserve", "bundler"],
  ]) {
    const config = join(project, `tsconfig.${module}.json`);
    writeFileSync(
      config,
      JSON.stringify({ compilerOptions: { ...settings, module, moduleResolution }, files: ["main.ts"] }),
    );
    const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", config], { cwd: project, encoding: "utf8" });
    problems.push(...stdout.split("\n").filter((line) => /\berror\b/.test(line) && !isForeign(line)));
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** True for a line of the compiler about another package's types, which this package cannot fix. */
function isForeign(line: string): boolean {
  return /node_modules\/(?!coppice\/)/.test(line.split("(")[0]!);
}
