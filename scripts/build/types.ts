import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Lets an adapter's types compile where the provider's SDK is not installed, because its code does not need the SDK. The
 * provider's messages are then of type `any`.
 */
const WITHOUT_SDK = {
  name: "without-sdk",
  renderChunk: (code: string) => code.replace(/^import /gm, "// @ts-ignore: the SDK is optional\nimport "),
};

/**
 * Writes one `.d.ts` for each entry. It imports the types of other packages. Every entry except the adapters also imports the types
 * that it shares with the main entry.
 */
export async function bundleTypes(source: string, entries: Record<string, string>, out: string): Promise<void> {
  const declarations = mkdtempSync(join(tmpdir(), "coppice-types-"));
  try {
    const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const args = [compiler, "-p", "tsconfig.build.json", "--rootDir", source, "--outDir", declarations];
    execFileSync(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
    // Other entries import what these declare from the main one.
    const shared = ["session/store", "session/session", "core/message"].map((file) =>
      join(declarations, `${file}.d.ts`),
    );
    const paths = Object.fromEntries(shared.map((file) => [file, "./index.js"]));
    for (const [name, file] of Object.entries(entries)) {
      const isShared = name !== "index" && !name.startsWith("adapters/");
      const bundle = await rollup({
        input: join(declarations, file.replace(/\.ts$/, ".d.ts")),
        external: (id) => !/^[./]/.test(id) || (isShared && shared.includes(id)),
        plugins: [dts(), ...(name.startsWith("adapters/") ? [WITHOUT_SDK] : [])],
        onwarn: (warning) => {
          throw new Error(warning.message);
        },
      });
      await bundle.write({ file: join(out, `${name}.d.ts`), ...(isShared && { paths }) });
    }
  } finally {
    rmSync(declarations, { recursive: true, force: true });
  }
}
