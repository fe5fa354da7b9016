import { copyFileSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";

/**
 * Bundles the page of the view: `index.html`, `page.js` and `page.css`, which load nothing else.
 *
 * @returns the files that were bundled.
 */
export async function bundlePage(source: string, out: string): Promise<string[]> {
  mkdirSync(out, { recursive: true });
  const { metafile } = await build({
    entryPoints: ["main.tsx", "styles/page.css"].map((file) => ({ in: join(source, file), out: "page" })),
    outdir: out,
    bundle: true,
    format: "esm",
    target: ["es2022", "chrome111", "firefox113", "safari16.4"],
    tsconfig: join(source, "tsconfig.json"),
    minify: true,
    legalComments: "none",
    metafile: true,
  });
  copyFileSync(join(source, "index.html"), join(out, "index.html"));
  return Object.keys(metafile.inputs).map((file) => resolve(file));
}
