import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A file that has one of these words asks whether `npm test` or `npm run test:all` runs. */
const ASKS = /COPPICE_TESTS|packageFolder/;
const IMPORTED = /(?:from|import\(?)\s*"(\.[^"]+)"/g;

/** Returns the files whose tests are the same in `npm test` and in `npm run test:all`: nothing that they import asks which one runs. */
export function filesOfBoth(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));
  const asking = new Set<string>();
  const importers = new Map<string, string[]>();
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    if (ASKS.test(text)) asking.add(file);
    for (const [, path] of text.matchAll(IMPORTED)) {
      const imported = join(dirname(file), path!);
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
  }
  for (const file of asking) for (const importer of importers.get(file) ?? []) asking.add(importer);
  return files.filter((file) => file.endsWith(".test.ts") && !file.endsWith(".slow.test.ts") && !asking.has(file));
}
