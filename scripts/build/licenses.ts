import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the name, version and license text of each package that any of these files belongs to. */
export function licensesOf(files: readonly string[]): string {
  const folders = new Set(files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const notices = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text = file === undefined ? "" : `\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
    return `${name} ${version} (${license})${text}\n`;
  });
  return ["Coppice contains parts of these packages.\n", ...notices].join(`\n${"-".repeat(80)}\n\n`);
}
