import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { type Plugin, type RolldownOutput, rolldown } from "rolldown";
import { chunkOf } from "./chunks.ts";
import { breakLines } from "./lines.ts";

const PACKAGE = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

/** Modules that read files of the repository, or compute what is always the same. The bundle holds their values instead. */
export const INLINED = ["core/version.ts", "store/file/migrations.ts", "store/sql/tables.ts"];

/**
 * Replaces Ajv, an eighth of the package, with which the MCP SDK checks answers to forms. The server shows no forms, but the SDK
 * makes a validator anyway.
 */
const NO_AJV = `export { default as process } from "node:process";
export class DefaultJsonSchemaValidator {
  getValidator() { throw new Error("The MCP server of Coppice has no validator of JSON schemas."); }
}`;

/**
 * Bundles the source with every package that is not a dependency of users.
 *
 * All chunks are in one folder with `import-thread.js`, `database-process.js`, `apart-process.js` and `demo-appender.js`, which the
 * chunks that start them expect beside themselves.
 *
 * @param programs  The source of each entry, by the name of its program.
 * @returns the files that were bundled.
 */
export async function bundlePrograms(source: string, programs: Record<string, string>, out: string): Promise<string[]> {
  const dependencies = Object.keys({
    ...PACKAGE.dependencies,
    ...PACKAGE.optionalDependencies,
    ...PACKAGE.peerDependencies,
  }).filter((name) => name !== "drizzle-orm"); // the store has its own copy, and the types of `coppice/schema` need the user's
  const bundle = await rolldown({
    input: Object.fromEntries(Object.entries(programs).map(([name, file]) => [name, join(source, file)])),
    platform: "node",
    external: [/^node:/, ...dependencies.map((name) => new RegExp(`^${name}(/|$)`))],
    plugins: [inlineValues(INLINED.map((file) => join(source, file))), withoutAjv()],
    onLog: (_level, log) => {
      throw new Error(log.message);
    },
  });
  const output = await bundle.write({
    dir: out,
    entryFileNames: "[name].js",
    chunkFileNames: "chunk-[name]-[hash].js",
    codeSplitting: { groups: [{ name: chunkOf(source), debugName: "library" }] },
    minify: MINIFY,
    comments: false,
  });
  for (const { fileName } of output.output) {
    const file = join(out, fileName);
    writeFileSync(file, breakLines(readFileSync(file, "utf8")));
  }
  return modulesOf(output);
}

/**
 * Bundles the file that users run. It is CommonJS, because Node loads this in half the time. What is imported with `import()` is in files
 * of its own, which only hooks load.
 *
 * @param others  The programs that this one loads when it needs them: the file of each in the package, by its source.
 */
export async function bundleBin(source: string, entry: string, others: Readonly<Record<string, string>>, out: string) {
  const bundle = await rolldown({
    input: join(source, entry),
    platform: "node",
    external: [/^node:/],
    plugins: [
      inlineValues(INLINED.map((name) => join(source, name))),
      driverWhenNeeded(),
      {
        name: "other-program",
        resolveId: (id, importer) => {
          const file = importer && others[relative(source, join(importer, "..", id))];
          return file === undefined ? null : { id: `./${file}`, external: true };
        },
      },
    ],
    onLog: (_level, log) => {
      throw new Error(log.message);
    },
  });
  const { output } = await bundle.write({
    dir: out,
    entryFileNames: "coppice.cjs",
    chunkFileNames: "chunk-[name].cjs",
    format: "cjs",
    minify: MINIFY,
    comments: false,
  });
  for (const { fileName } of output) {
    const file = join(out, fileName);
    writeFileSync(file, breakLines(readFileSync(file, "utf8")));
  }
  chmodSync(join(out, "coppice.cjs"), 0o755);
}

/**
 * Loads the driver of SQLite with the code that uses it. Otherwise the first line of the program loads it, and a missing driver ends a
 * hook before it can say so in its log.
 */
function driverWhenNeeded(): Plugin {
  const driver = "better-sqlite3";
  const loader = `${driver}-loader.cjs`;
  return {
    name: "driver-when-needed",
    resolveId: (id, importer) => (id !== driver ? null : importer === loader ? { id, external: true } : loader),
    load: (id) => (id === loader ? `module.exports = require("${driver}");` : null),
  };
}

/** Names are kept, so that stack traces name the source of an error. */
const MINIFY = { compress: true, mangle: { keepNames: true }, codegen: true };

function inlineValues(files: readonly string[]): Plugin {
  return {
    name: "inline-values",
    async load(id) {
      if (!files.includes(id)) return null;
      const values = Object.entries(await import(pathToFileURL(id).href));
      return values.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`).join("\n");
    },
  };
}

function withoutAjv(): Plugin {
  const shims = "@modelcontextprotocol/server/_shims";
  return {
    name: "without-ajv",
    resolveId: (id) => (id === shims ? shims : null),
    load: (id) => (id === shims ? NO_AJV : null),
  };
}

/** Returns the files that were bundled. */
function modulesOf({ output }: RolldownOutput): string[] {
  return output.flatMap((chunk) =>
    chunk.type !== "chunk"
      ? []
      : Object.entries(chunk.modules).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : [])),
  );
}
