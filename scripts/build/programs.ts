import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { type InputOptions, type Plugin, type RolldownOutput, rolldown } from "rolldown";
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
  const options: InputOptions = {
    platform: "node",
    external: [/^node:/, ...dependencies.map((name) => new RegExp(`^${name}(/|$)`))],
    plugins: [inlineValues(INLINED.map((file) => join(source, file))), withoutAjv()],
    onLog: (_level, log) => {
      throw new Error(log.message);
    },
  };
  const input = Object.fromEntries(Object.entries(programs).map(([name, file]) => [name, join(source, file)]));
  const bundle = await rolldown({ ...options, input });
  const output = await bundle.write({
    dir: out,
    entryFileNames: "[name].js",
    chunkFileNames: "chunk-[name]-[hash].js",
    codeSplitting: { groups: [{ name: await chunkOf(source, options), debugName: "library" }] },
    minify: MINIFY,
    comments: false,
  });
  for (const { fileName } of output.output) {
    const file = join(out, fileName);
    writeFileSync(file, breakLines(withoutFacades(readFileSync(file, "utf8"))));
  }
  return modulesOf(output);
}

/**
 * Takes Node's modules without `import`. For an `import`, Node reads every property of a module, and loads what is behind the lazy ones:
 * streams for `node:fs`.
 */
function withoutFacades(code: string): string {
  return code.replace(IMPORTS, (imports) =>
    imports.replace(/import\s*\{([^}]*)\}\s*from\s*"(node:[^"]+)";?/g, (_, names: string, module: string) => {
      return `const {${names.replace(/\s+as\s+/g, ":")}}=process.getBuiltinModule("${module}");`;
    }),
  );
}

/** Matches the imports at the start of a chunk. Further on, such words are in texts. */
const IMPORTS = /^(?:import\b[^;"]*"[^"]*";?\s*)+/;

/**
 * Bundles the file that users run. It is CommonJS, because Node starts this faster.
 *
 * @param others  The programs that this one loads when it needs them: the file of each in the package, by its source.
 */
export async function bundleBin(source: string, entry: string, others: Readonly<Record<string, string>>, out: string) {
  const bundle = await rolldown({
    input: join(source, entry),
    platform: "node",
    external: [/^node:/],
    plugins: [
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
  const file = join(out, "coppice.cjs");
  await bundle.write({ file, format: "cjs", dynamicImportInCjs: false, minify: MINIFY, comments: false });
  writeFileSync(file, breakLines(readFileSync(file, "utf8")));
  chmodSync(file, 0o755);
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
