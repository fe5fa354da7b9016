import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { licensesOf } from "./licenses.ts";
import { bundlePage } from "./page.ts";
import { bundleBin, bundlePrograms } from "./programs.ts";
import { bundleTypes } from "./types.ts";

const DEMO = fileURLToPath(new URL("../demo/transcripts", import.meta.url));
const SOURCE = fileURLToPath(new URL("../../src", import.meta.url));

/** Every entry by the name that its files have in the package. Its types are published if users import it. */
function entries(): { programs: Record<string, string>; typed: string[] } {
  const filesIn = (room: string) => readdirSync(join(SOURCE, room)).filter((name) => name.endsWith(".ts"));
  const nameOf = (file: string) => file.slice(0, -".ts".length);
  const published = {
    index: "index.ts",
    hub: "hub/index.ts",
    import: "imports/index.ts",
    schema: "store/sql/schema.ts",
    tools: "session/aids/tools.ts",
    view: "view/index.ts",
    ...Object.fromEntries(filesIn("adapters").map((file) => [`adapters/${nameOf(file)}`, `adapters/${file}`])),
    ...Object.fromEntries(filesIn("frameworks").map((file) => [nameOf(file), `frameworks/${file}`])),
  };
  const programs = {
    ...published,
    cli: "cli/main.ts",
    hook: "hooks/run-hook.ts",
    "import-thread": "imports/import-thread.ts",
    "database-process": "importers/database-process.ts",
    "apart-process": "view/apart-process.ts",
    "demo-appender": "cli/demo-appender.ts",
  };
  return { programs, typed: Object.keys(published) };
}

/**
 * Builds everything in `dist`: one program for each entry with shared chunks, so that `StoreError` is one class in all of
 * them, one `.d.ts` for each entry that users import, the page of the view, and the transcripts of the demo.
 */
export async function buildPackage(out: string): Promise<void> {
  const folder = resolve(out);
  rmSync(folder, { recursive: true, force: true });
  const { programs, typed } = entries();
  const bundled = await bundlePrograms(SOURCE, programs, folder);
  await bundleBin(SOURCE, "cli/bin.ts", { "cli/main.ts": "cli.js", "hooks/run-hook.ts": "hook.js" }, folder);
  const inPage = await bundlePage(join(SOURCE, "view/page"), join(folder, "view"));
  writeFileSync(join(folder, "demo.json.br"), packedTexts(DEMO));
  writeFileSync(join(folder, "licenses.txt"), licensesOf([...bundled, ...inPage]));
  await bundleTypes(SOURCE, Object.fromEntries(typed.map((name) => [name, programs[name]!])), folder);
}

/** Packs the files of a folder as one text by their names: a third smaller than what a tarball makes of each. */
function packedTexts(folder: string): Buffer {
  const names = readdirSync(folder).sort();
  const text = JSON.stringify(
    Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")])),
  );
  const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = constants;
  return brotliCompressSync(text, { params: { [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_QUALITY]: 10 } });
}
