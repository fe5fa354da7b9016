import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { describe, expect, inject, test } from "vitest";
import { installed } from "../../scripts/smoke/packed.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

// `npm run smoke` checks the types of the package, and installs it on several versions of Node.

const scratch = scratchFolder();
const project = join(scratch, "project");
const packed = pack();
const installation = installed(packed.path, project, ["better-sqlite3"]);

/** Packs the built package. Nothing is built again, and nothing comes from the network. */
function pack(): { path: string; byteLength: number; files: string[] } {
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", scratch];
  const output = execFileSync("npm", args, {
    cwd: inject("packageFolder"),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ filename, size, files }] = JSON.parse(output);
  return {
    path: join(scratch, filename),
    byteLength: size,
    files: files.map(({ path }: { path: string }) => path),
  };
}

const textOf = (file: string): string => readFileSync(join(installation, file), "utf8");

/** Runs a program in a folder. Returns what it printed. */
function run(program: string, folder = project): string {
  const args = ["--input-type=module", "-e", program];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  return stdout + stderr;
}

describe("the tarball", () => {
  test("is small", () => {
    // The transcripts of the demo are 250 kB of it, the page of the view 60 kB, and the hub 30 kB.
    expect(packed.byteLength).toBeLessThan(1_250_000);
    expect(packed.files.length).toBeLessThanOrEqual(170);
  });

  test("has programs, types, licenses and the README, and nothing else", () => {
    const kinds =
      /^(package\.json|LICENSE|bin\/coppice\.js|dist\/.*\.(c?js|d\.ts)|dist\/licenses\.txt|dist\/view\/[a-z.]+|dist\/demo\.json\.br|README\.md)$/;
    expect(packed.files.filter((file) => !kinds.test(file))).toEqual([]);
    expect(packed.files).toContain("dist/licenses.txt");
  });

  test("names no source map, and links only to files that it has", () => {
    const scripts = packed.files.filter((file) => /\.(js|ts)$/.test(file));
    expect(scripts.filter((file) => textOf(file).includes("sourceMappingURL="))).toEqual([]);
    const dead = packed.files
      .filter((file) => file.endsWith(".md"))
      .flatMap((file) =>
        Array.from(textOf(file).matchAll(/\]\((?!https?:|#)([^)#]+)/g), ([, to]) => [file, to!] as const),
      )
      .filter(([file, to]) => !existsSync(join(installation, dirname(file), to)));
    expect(dead).toEqual([]);
  });

  test("is few files to load for a program that imports the library, because each takes time", () => {
    const loaded = new Set(["index.js"]);
    for (const file of loaded) {
      for (const [, chunk] of textOf(join("dist", file)).matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g))
        loaded.add(chunk!);
    }
    expect(loaded.size).toBeLessThanOrEqual(7);
  });

  test("has no name of a bundled or native package in its types", () => {
    const types = packed.files.filter((file) => file.endsWith(".d.ts"));
    const named = types.flatMap((file) =>
      Array.from(textOf(file).matchAll(/from ['"]([^'"]+)['"]/g), ([, name]) => name!),
    );
    const allowed =
      /^(node:|\.\/index\.js$|ai$|openai\/|@anthropic-ai\/sdk\/|@google\/(genai|adk)$|@langchain\/|@openai\/agents-core$|drizzle-orm\/sqlite-core$)/;
    expect(named.filter((name) => !allowed.test(name))).toEqual([]);
  });
});

describe("where nothing is installed beside the package", () => {
  const plain = join(scratch, "plain");
  installed(packed.path, plain, []);
  const namesOf = (specifier: string): string =>
    run(`console.log(Object.keys(await import("${specifier}")).join())`, plain).trim();

  test.each([
    ["coppice/adapters/ai-sdk", "fromAiSdk,fromUiMessages,toAiSdk,toUiMessages"],
    ["coppice/adapters/anthropic", "fromAnthropic,toAnthropic"],
    ["coppice/adapters/gemini", "fromGemini,toGemini"],
    ["coppice/adapters/llxprt", "fromLlxprt,toLlxprt"],
    ["coppice/adapters/openai", "fromOpenai,toOpenai"],
  ])("%s loads", (specifier, names) => {
    expect(namesOf(specifier)).toBe(names);
  });

  test.each([
    ["coppice", "ERR_MODULE_NOT_FOUND"],
    ["coppice/adapters/shared/own", "ERR_PACKAGE_PATH_NOT_EXPORTED"],
    ["coppice/adapters/openai/to", "ERR_PACKAGE_PATH_NOT_EXPORTED"],
  ])("%s does not", (specifier, code) => {
    expect(namesOf(specifier)).toContain(code);
  });
});

test("whoever asks for Gemini without its package is told what to install", () => {
  const program = `import { geminiSummarizer, openStore } from "coppice";
const store = openStore("gemini.db", { summarizer: geminiSummarizer({ apiKey: "key" }) });
const session = store.session("s", { resolveTokensMin: 100 });
for (let index = 0; index < 120; index++) session.append({ role: "user", content: \`The lamp \${index} needs a new lens and the oven burns the bread \${index}.\` });
const events = [];
await session.resolveDirty({ onEvent: (event) => events.push(event) });
console.log(JSON.stringify(store.query("SELECT error FROM summaries WHERE error IS NOT NULL LIMIT 1")), JSON.stringify(events));
process.exit(0);`;
  expect(run(program)).toContain("npm install @google/genai");
});

test("whoever runs it on Bun is told to use Node", () => {
  const program = `Object.defineProperty(process, "versions", { value: { ...process.versions, bun: "1.3.0" } });
const { openStore } = await import("coppice");
try { openStore(":memory:"); } catch (error) { console.log(error.code, error.message, error.hint); }`;
  expect(run(program)).toMatch(/^PACKAGE_MISSING .*Bun.*Run your program with Node/s);
});

test("esbuild can bundle it, with native packages external", async () => {
  const app = join(project, "app.ts");
  const outfile = join(project, "bundle", "app.mjs");
  const program = `import { openStore } from "coppice";
const store = openStore(":memory:");
store.session("s").append({ role: "user", content: "Is the lamp lit?" });
console.log(store.resume("s").messages().length);`;
  writeFileSync(app, program);
  const external = ["better-sqlite3", "hnswlib-node", "@google/genai"];
  const options = { bundle: true, platform: "node", format: "esm", logLevel: "silent" } as const;
  await build({ entryPoints: [app], outfile, external, ...options });
  // The migrations are in the bundle. Nothing of the package is needed beside it.
  expect(execFileSync(process.execPath, [outfile], { cwd: project, encoding: "utf8" })).toBe("1\n");
  expect(readFileSync(outfile, "utf8")).toMatch(/CREATE TABLE \\?`messages\\?`/);
});
