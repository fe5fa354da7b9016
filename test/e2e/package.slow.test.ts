import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { installed, pack, scratchFolder } from "../support/packed.ts";

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

const scratch = scratchFolder();
const project = join(scratch, "project");
const packed = pack(inject("packageFolder"), scratch);
let installation: string;

beforeAll(() => {
  installation = installed(packed.path, project, ["better-sqlite3"]);
});

function node(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, args, { cwd: project, encoding: "utf8" });
}

describe("the tarball", () => {
  test("is small", () => {
    // The page of the view is 60 kB of it, and the hub 30 kB.
    expect(packed.byteLength).toBeLessThan(705_000);
    expect(packed.files.length).toBeLessThanOrEqual(150);
  });

  test("has programs, types, licenses and the README, and nothing else", () => {
    const kinds =
      /^(package\.json|LICENSE|bin\/coppice\.js|dist\/.*\.(c?js|d\.ts)|dist\/licenses\.txt|dist\/view\/[a-z.]+|README\.md)$/;
    expect(packed.files.filter((file) => !kinds.test(file))).toEqual([]);
    expect(packed.files).toContain("dist/licenses.txt");
  });

  test("names no source map", () => {
    const scripts = packed.files.filter((file) => /\.(js|ts)$/.test(file));
    const mapped = scripts.filter((file) => /sourceMappingURL=/.test(readFileSync(join(installation, file), "utf8")));
    expect(mapped).toEqual([]);
  });

  test("is few files to load for a program that imports the library, because each takes time", () => {
    const loaded = new Set(["index.js"]);
    for (const file of loaded) {
      const code = readFileSync(join(installation, "dist", file), "utf8");
      for (const [, chunk] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) loaded.add(chunk!);
    }
    expect(loaded.size).toBeLessThanOrEqual(5);
  });

  test("links only to files that it has", () => {
    const dead = packed.files
      .filter((file) => file.endsWith(".md"))
      .flatMap((file) =>
        [...readFileSync(join(installation, file), "utf8").matchAll(/\]\((?!https?:|#)([^)#]+)/g)].flatMap(([, to]) =>
          existsSync(join(installation, dirname(file), to!)) ? [] : [`${file} → ${to}`],
        ),
      );
    expect(dead).toEqual([]);
  });

  test("satisfies publint", async () => {
    const { messages, pkg } = await publint({ pkgDir: installation, pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test("satisfies @arethetypeswrong/cli for ESM, bundlers and require of an ES module", () => {
    const { attw } = require("@arethetypeswrong/cli/package.json").bin;
    const cli = join(dirname(require.resolve("@arethetypeswrong/cli/package.json")), attw);
    // Node 20.19 can require ES modules, so an entry without a CommonJS version resolves.
    const args = [cli, packed.path, "--profile", "esm-only", "--format", "json"];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(status, `${stdout}\n${stderr}`).toBe(0);
  });
});

describe("a project that installs the package", () => {
  test("compiles with its types checked, as Node and as bundlers resolve them", () => {
    const consumer = join(scratch, "consumer");
    installed(packed.path, consumer, TYPED);
    const lines = SPECIFIERS.map((specifier, index) => `import * as entry${index} from "${specifier}";`);
    writeFileSync(
      join(consumer, "main.ts"),
      `${lines.join("\n")}
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
`,
    );
    for (const module of ["nodenext", "preserve"]) {
      const options = { module, moduleResolution: module === "preserve" ? "bundler" : module };
      const config = join(consumer, `tsconfig.${module}.json`);
      const compilerOptions = {
        ...options,
        target: "es2023",
        lib: ["es2023"],
        types: ["node"],
        strict: true,
        skipLibCheck: false,
        noEmit: true,
      };
      writeFileSync(config, JSON.stringify({ compilerOptions, files: ["main.ts"] }));
      const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
      const { stdout } = spawnSync(process.execPath, [compiler, "-p", config], { cwd: consumer, encoding: "utf8" });
      expect(stdout.split("\n").filter((line) => /\berror\b/.test(line) && !isForeign(line))).toEqual([]);
    }
  });

  test("gets no name of a bundled or native package in the types", () => {
    const types = packed.files.filter((file) => file.endsWith(".d.ts"));
    const named = types.flatMap((file) =>
      [...readFileSync(join(installation, file), "utf8").matchAll(/from ['"]([^'"]+)['"]/g)].map(([, name]) => name!),
    );
    const allowed =
      /^(node:|\.\/index\.js$|ai$|openai\/|@anthropic-ai\/sdk\/|@google\/(genai|adk)$|@langchain\/|@openai\/agents-core$)/;
    expect(named.filter((name) => !allowed.test(name))).toEqual([]);
  });

  test("gets the same classes from every entry, imported or required", () => {
    writeFileSync(
      join(project, "main.cjs"),
      `const required = require("coppice");
import("coppice").then((imported) => {
  try { required.openStore("/nowhere/agent.db"); } catch (error) {
    console.log(error instanceof imported.StoreError, error.code);
  }
});`,
    );
    expect(node("main.cjs")).toMatchObject({ stdout: "true FILE_NOT_FOUND\n", status: 0 });
  });

  test("imports an adapter without loading SQLite", () => {
    // Without better-sqlite3, loading it would fail.
    const plain = join(scratch, "plain");
    installed(packed.path, plain, []);
    const code = SPECIFIERS.filter((name) => name.includes("/adapters/")).map((name) => `await import("${name}");`);
    const alone = spawnSync(process.execPath, ["--input-type=module", "-e", code.join("\n")], { cwd: plain });
    expect(alone.status, String(alone.stderr)).toBe(0);
  });

  test("is told what to install when Gemini is asked for without its package", () => {
    const program = `import { geminiSummarizer, openStore } from "coppice";
const store = openStore("gemini.db", { summarizer: geminiSummarizer({ apiKey: "key" }) });
const session = store.session("s", { resolveTokensMin: 100 });
for (let index = 0; index < 120; index++) session.append({ role: "user", content: \`The lamp \${index} needs a new lens and the oven burns the bread \${index}.\` });
const events = [];
await session.resolveDirty({ onEvent: (event) => events.push(event) });
console.log(JSON.stringify(store.query("SELECT error FROM summaries WHERE error IS NOT NULL LIMIT 1")), JSON.stringify(events));
process.exit(0);`;
    writeFileSync(join(project, "gemini.mjs"), program);
    const { stdout, stderr } = node("gemini.mjs");
    expect(stdout + stderr).toContain("npm install @google/genai");
  });

  test("is told to use Node when it runs on Bun", () => {
    writeFileSync(
      join(project, "bun.mjs"),
      `Object.defineProperty(process, "versions", { value: { ...process.versions, bun: "1.3.0" } });
const { openStore } = await import("coppice");
try { openStore(":memory:"); } catch (error) { console.log(error.code, error.message, error.hint); }`,
    );
    expect(node("bun.mjs").stdout).toMatch(/^DRIVER_NOT_BUILT .*Bun.*Run your program with Node/s);
  });

  test("can bundle it with esbuild, with native packages external", async () => {
    const app = join(project, "app.ts");
    const bundle = join(project, "bundle", "app.mjs");
    mkdirSync(dirname(bundle), { recursive: true });
    writeFileSync(
      app,
      `import { openStore } from "coppice";
const store = openStore(":memory:");
store.session("s").append({ role: "user", content: "Is the lamp lit?" });
console.log(store.resume("s").messages().length);`,
    );
    await build({
      entryPoints: [app],
      outfile: bundle,
      bundle: true,
      platform: "node",
      format: "esm",
      external: ["better-sqlite3", "hnswlib-node", "@google/genai"],
      logLevel: "silent",
    });
    // The migrations are in the bundle. Nothing of the package is needed beside it.
    const output = execFileSync(process.execPath, [bundle], { cwd: project, encoding: "utf8" });
    expect(output).toBe("1\n");
    expect(readFileSync(bundle, "utf8")).toContain("CREATE TABLE `messages`");
  });

  test("has the command", () => {
    const { stdout } = node(join("node_modules", "coppice", "dist", "coppice.cjs"), "--version");
    expect(stdout.trim()).toBe(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version);
  });
});

/** True for a line of the compiler about another package's types, which this package cannot fix. */
function isForeign(line: string): boolean {
  return /node_modules\/(?!coppice\/)/.test(line.split("(")[0]!);
}
