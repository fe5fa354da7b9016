import { readFileSync } from "node:fs";

/** The package's own, which stands beside `src` and beside `dist`. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return version;
}
