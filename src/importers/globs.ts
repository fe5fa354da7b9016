import { readdir } from "node:fs/promises";
import { join } from "node:path";

const MAGIC = /[*?[\]{}]/;

/** Returns true for a pattern that no shell has expanded, such as `logs/*.jsonl`. */
export function isPattern(path: string): boolean {
  return MAGIC.test(path);
}

/**
 * Returns the paths that a pattern matches, in code unit order: `*` and `?` within a name, `[a-c]`, `{one,two}`, and `**` for any
 * folders in between. `**` follows no links to folders, which may form loops; the other parts of a pattern follow them.
 * (tinyglobby follows all links or none.)
 *
 * A name that begins with a dot matches only a pattern that begins with a dot. A folder that cannot be read matches nothing.
 */
export async function pathsOf(pattern: string): Promise<string[]> {
  const found = new Set<string>();
  for (const alternative of alternativesOf(pattern)) {
    const folder = alternative.startsWith("/") ? "/" : "";
    for (const path of await expand(folder, alternative.split("/"))) found.add(path);
  }
  return [...found].sort();
}

/** Returns `abd` and `acd` for `a{b,c}d`. */
function alternativesOf(pattern: string): string[] {
  const braces = /\{([^{}]*,[^{}]*)\}/.exec(pattern);
  if (braces === null) return [pattern];
  const [before, after] = [pattern.slice(0, braces.index), pattern.slice(braces.index + braces[0].length)];
  return braces[1]!.split(",").flatMap((one) => alternativesOf(before + one + after));
}

async function expand(folder: string, names: readonly string[]): Promise<string[]> {
  const [name, ...rest] = names;
  if (name === undefined) return [folder];
  if (name === "") return expand(folder, rest);
  if (name !== "**" && !isPattern(name)) {
    // Only the last name is looked up. If a folder before it is missing, its list is empty.
    if (rest.length > 0) return expand(join(folder, name), rest);
    return (await entriesOf(folder)).some((entry) => entry.name === name) ? [join(folder, name)] : [];
  }
  const paths: string[] = [];
  if (name === "**") paths.push(...(await expand(folder, rest.length > 0 ? rest : ["*"])));
  const matcher = name === "**" ? undefined : matcherOf(name);
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (matcher === undefined) {
      if (entry.isDirectory() && !entry.name.startsWith(".")) paths.push(...(await expand(path, names)));
    } else if (matcher.test(entry.name) && (name.startsWith(".") || !entry.name.startsWith("."))) {
      if (rest.length === 0) paths.push(path);
      else if (entry.isDirectory() || entry.isSymbolicLink()) paths.push(...(await expand(path, rest)));
    }
  }
  return paths;
}

function entriesOf(folder: string) {
  return readdir(folder || ".", { withFileTypes: true }).catch(() => []);
}

function matcherOf(name: string): RegExp {
  const source = name.replace(/\[!?[^\]]+\]|[*?]|[\\^$.|+()[\]{}]/g, (magic) => {
    if (magic === "*") return ".*";
    if (magic === "?") return ".";
    return magic.length > 1 ? magic.replace("[!", "[^").replaceAll("\\", "\\\\") : `\\${magic}`;
  });
  try {
    return new RegExp(`^${source}$`, "su");
  } catch {
    // `[z-a]` matches nothing.
    return /(?!)/;
  }
}
