import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Writes one self-contained `.d.ts` for each entry: only names of other packages are imported. */
export async function bundleTypes(source: string, entries: Record<string, string>, out: string): Promise<void> {
  const declarations = mkdtempSync(join(tmpdir(), "coppice-types-"));
  try {
    const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const args = [compiler, "-p", "tsconfig.build.json", "--rootDir", source, "--outDir", declarations];
    execFileSync(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
    for (const [name, file] of Object.entries(entries)) {
      const bundle = await rollup({
        input: join(declarations, file.replace(/\.ts$/, ".d.ts")),
        external: (id) => !/^[./]/.test(id),
        plugins: [dts()],
        onwarn: (warning) => {
          throw new Error(warning.message);
        },
      });
      await bundle.write({ file: join(out, `${name}.d.ts`) });
    }
  } finally {
    rmSync(declarations, { recursive: true, force: true });
  }
}
