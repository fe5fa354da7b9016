import { addTo } from "./groups.ts";

/** A file's name has no spaces, quotes, commas or braces, so that a list of files can be parsed. */
const IN_NAME = /[\p{L}\p{N}_@~.$+%/\\:*-]/u;
const ASCII_IN_NAME = Array.from({ length: 128 }, (_, code) => IN_NAME.test(String.fromCharCode(code)));
/** Every name of a file contains one of these, and most words contain none. */
const HINT = /\.[A-Za-z]|file/g;
const PATH_CHARS_MIN = 3;
const PATH_CHARS_MAX = 200;
const EXTENSION = /[^.]\.(?:[a-z][a-z0-9]{0,7}|[CHRS])$/;
/** Without a folder, a name is a file only with one of these extensions. For example, `fmt.Errorf` is not a file. */
const KNOWN_EXTENSION =
  /[^.]\.(?:[cm]?[jt]sx?|astro|bash|c|cc|cfg|clj|cpp|cs|css|csv|dart|db|exs?|go|gradle|h|hpp|hs|html?|ini|ipynb|java|json[cl5]?|kts?|less|lock|lua|mdx?|mk|ml|patch|php|pl|proto|ps1|pyi?|rb|rs|rst|scala|scss|sh|snap|sql|sqlite3?|svelte|svg|swift|tf|toml|txt|vue|xml|ya?ml|zig)$/i;
const KNOWN_NAME = /^(?:Makefile|Dockerfile|Gemfile|Rakefile|Procfile|Jenkinsfile|go\.mod|\.env|\.gitignore)$/;
/** These names of products look like files. */
const NOT_A_FILE = /^(?:node|next|nuxt|vue|react|three|d3|express|ember|backbone|chart|socket)\.js$/i;
const BOLD = /^\*{1,3}([^*]+)\*{1,3}:?$/;
const DRIVE = /^[A-Za-z]:\\/;
/** Signs before a path that are not part of it. `${dir}/a.ts` leaves `/a.ts`, which becomes `a.ts`. */
const LEADING = /^[+%-]*(?:\.{3,}|\.\/|\/(?=[^/]*$))?/;
const TRAILING = /(?::\d+)*[.:,/-]*$/;
/** A diff writes `a/` and `b/` before the name of a file. */
const DIFF_PREFIX = /^(?:diff --git a\/\S+ b\/|--- a\/|\+\+\+ b\/)/gm;

/**
 * Returns the files that a text names, each once, in order of first mention, without line numbers. A Windows path must start
 * with a drive. The time is linear in the text's length.
 */
export function filesIn(text: string): string[] {
  const found = new Set<string>();
  for (const candidate of candidatesIn(text)) {
    // In a text that contains JSON, a line break is written as a backslash and `n`.
    const pieces = candidate.includes("\\") && !DRIVE.test(candidate) ? candidate.split(/\\+[nrt]?/) : [candidate];
    for (const piece of pieces) {
      if (!piece.includes(".") && !piece.includes("file")) continue;
      if (piece.length > PATH_CHARS_MAX || piece.includes("://")) continue;
      const bare = piece.replace(BOLD, "$1").replace(TRAILING, "");
      const named = DRIVE.test(bare) ? bare : bare.slice(bare.lastIndexOf(":") + 1); // `HEAD:src/a.ts`
      const path = named.replace(LEADING, "");
      if (isFile(path)) found.add(path);
    }
  }
  return [...found];
}

/** Yields the words of a text that may name files: each run of `IN_NAME` around a hint. */
function* candidatesIn(text: string): Generator<string> {
  if (text.search(HINT) === -1) return;
  const words = text.replace(DIFF_PREFIX, " ");
  let end = 0;
  for (const { index } of words.matchAll(HINT)) {
    if (index < end) continue;
    let start = index;
    while (start > end && isInName(words, start - 1)) start--;
    end = index + 1;
    while (end < words.length && isInName(words, end)) end++;
    if (end - start >= PATH_CHARS_MIN) yield words.slice(start, end);
  }
}

/** Tests the character that contains the code unit at an index. */
function isInName(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 128) return ASCII_IN_NAME[code]!;
  const pair = at > 0 ? text.codePointAt(at - 1)! : 0;
  return IN_NAME.test(String.fromCodePoint(pair > 0xffff ? pair : text.codePointAt(at)!));
}

function isFile(path: string): boolean {
  const base = baseName(path);
  if (path.includes("*") || /^\$|\/\$[^/]*\//.test(path) || NOT_A_FILE.test(path)) return false;
  if (base === path && path.includes("@")) return false; // an email address
  if (KNOWN_NAME.test(base)) return true;
  return (base === path ? KNOWN_EXTENSION : EXTENSION).test(base);
}

export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), DRIVE.test(path) ? path.lastIndexOf("\\") : -1) + 1);
}

/** The files of a conversation, each with a weight that grows with what was done with the file. */
export class WorkingSet {
  /** In order of last mention. */
  #weights = new Map<string, number>();

  /** @param weight  Above 0. The weights of one file add up. */
  add(path: string, weight: number): void {
    const before = this.#weights.get(path) ?? 0;
    this.#weights.delete(path);
    this.#weights.set(path, before + weight);
  }

  /**
   * Returns the files, heaviest first, then last mentioned first. `cli/a.ts` and `/srv/cli/a.ts` are the same file: the weight of
   * the shorter path goes to the longer path, or to the heaviest of several.
   */
  ranked(): string[] {
    const weights = new Map([...this.#weights].reverse());
    const longerBySuffix = new Map<string, string[]>();
    for (const path of weights.keys()) {
      for (let at = path.indexOf("/", 1); at >= 0; at = path.indexOf("/", at + 1)) {
        const suffix = path.slice(at + 1);
        if (weights.has(suffix)) addTo(longerBySuffix, suffix, path);
      }
    }
    const shortestFirst = [...longerBySuffix].sort(([a], [b]) => a.length - b.length);
    for (const [path, longer] of shortestFirst) {
      const target = longer.reduce((best, other) => (weights.get(other)! > weights.get(best)! ? other : best));
      weights.set(target, weights.get(target)! + weights.get(path)!);
      weights.delete(path);
    }
    return [...weights].sort(([, a], [, b]) => b - a).map(([path]) => path);
  }
}

const LABEL = "files: ";

export function filesLine(paths: readonly string[]): string {
  return LABEL + fileList(paths);
}

/** Lists files in the syntax of a shell: `/srv/{cli/{a.ts, b.ts}, c.ts}, README.md`. Each folder is written once. */
export function fileList(paths: readonly string[]): string {
  const absolute = paths.filter((path) => path.startsWith("/"));
  const root = commonFolder(absolute);
  if (absolute.length < 2 || root.length < 2) return byFolder(paths).join(", ");
  const others = paths.filter((path) => !path.startsWith("/"));
  const inRoot = byFolder(absolute.map((path) => path.slice(root.length)));
  const shared = inRoot.length === 1 ? `${root}${inRoot[0]}` : `${root}{${inRoot.join(", ")}}`;
  return [shared, ...byFolder(others)].join(", ");
}

/** Matches the seqs that a model's summary writes after a path: `src/a.ts [3,7-9]`. */
const CITATION = / \[[\d,-]+\]/g;

/** Returns the files of a `filesLine`, with or without citations; undefined for any other line. */
export function parseFilesLine(line: string): string[] | undefined {
  if (!line.startsWith(LABEL)) return undefined;
  const prefixes = [""];
  const found: string[] = [];
  let current = "";
  const close = () => {
    if (current !== "") found.push(prefixes.at(-1) + current);
    current = "";
  };
  for (const character of line.slice(LABEL.length).replace(CITATION, "")) {
    if (character === "{") {
      prefixes.push(prefixes.at(-1) + current);
      current = "";
    } else if (character === "}") {
      close();
      if (prefixes.length > 1) prefixes.pop();
    } else if (character === ",") close();
    else if (character !== " ") current += character;
  }
  close();
  return found;
}

function byFolder(paths: readonly string[]): string[] {
  const folders = new Map<string, string[]>();
  for (const path of paths) addTo(folders, path.slice(0, path.length - baseName(path).length), path);
  return [...folders].flatMap(([folder, members]) => {
    const bases = members.map((path) => path.slice(folder.length));
    return folder === "" || bases.length === 1 ? bases.map((base) => folder + base) : `${folder}{${bases.join(", ")}}`;
  });
}

/** Returns the innermost folder that contains all paths, with its last slash; "" if there is none. */
function commonFolder(paths: readonly string[]): string {
  let common = paths[0] ?? "";
  for (const path of paths) {
    let length = 0;
    while (length < common.length && common[length] === path[length]) length++;
    common = common.slice(0, length);
  }
  return common.slice(0, common.lastIndexOf("/") + 1);
}
