import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Each is a way to learn whether `npm test` or `npm run test:all` runs. */
const ASKS = /effort\.ts"|packageFolder/;
const IMPORTED = /(?:from|import\() ?"(\.[^"]+)"/g;

/** Returns the files whose tests are the same in `npm test` and in `npm run test:all`: nothing that they import asks which of them runs. */
export function filesOfBoth(folder: string): string[] {
  const asking = new Map<string, boolean>();
  const asks = (file: string): boolean => {
    const known = asking.get(file);
    if (known !== undefined) return known;
    asking.set(file, false); // until it is known; files may import each other
    const text = readFileSync(file, "utf8");
    const imported = Array.from(text.matchAll(IMPORTED), ([, path]) => join(dirname(file), path!));
    const found =
      ASKS.test(text) || imported.some((path) => path.startsWith(folder) && path.endsWith(".ts") && asks(path));
    asking.set(file, found);
    return found;
  };
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return files.filter((file) => file.endsWith(".test.ts") && !file.endsWith(".slow.test.ts") && !asks(file));
}
