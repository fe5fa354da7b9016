import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "../..");

let bundles;

export function initialize(folder) {
  bundles = folder;
}

/** Finds the bundle of a program that is TypeScript. */
export async function resolve(specifier, context, next) {
  if (!specifier.endsWith(".ts")) return next(specifier, context);
  const program = fileURLToPath(new URL(specifier, context.parentURL));
  return { url: pathToFileURL(await bundleOf(program)).href, format: "module", shortCircuit: true };
}

/** Returns the path of a program's bundle, which needs no hooks. */
export async function bundleOf(program) {
  const folder = join(bundles, relative(ROOT, program).replaceAll(/\W/g, "-"));
  const bundle = join(folder, basename(program).replace(/\.ts$/, ".js"));
  if (existsSync(bundle)) return bundle;
  const { build } = await import("esbuild");
  const draft = mkdtempSync(join(bundles, "draft-"));
  const plugins = [{ name: "places", setup: keepPlaces }];
  // Split, so that what is imported later is loaded later.
  const form = {
    bundle: true,
    packages: "external",
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
  };
  await build({ ...form, plugins, entryPoints: [program], outdir: draft, logLevel: "error" });
  try {
    renameSync(draft, folder);
  } catch (error) {
    if (!existsSync(bundle)) throw error;
    rmSync(draft, { recursive: true }); // another process was first
  }
  return bundle;
}

/** Each file knows where its source is. */
function keepPlaces({ onLoad }) {
  onLoad({ filter: /\.ts$/ }, ({ path }) => ({
    loader: "ts",
    contents: readFileSync(path, "utf8").replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href)),
  }));
}
