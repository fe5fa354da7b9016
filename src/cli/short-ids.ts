const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Of `fork-<hash>` and `agent-<hash>`, what stands before the hash. */
const HASH = /^([a-z]+-)[0-9a-f]{16,}$/;

/** As much of a UUID or a hash as people compare at a glance. */
const CHARS_MIN = 8;

/**
 * How each id is shown where room is short: of a UUID, as much as no other id begins with, at least eight characters, and of
 * `<UUID>/fork-<hash>` each half so. Names that people gave stay whole. `findSession` takes all of them.
 *
 * @param ids  All that could be meant, not only those that are shown.
 */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const siblings = new Map<string, Set<string>>();
  for (const path of ids.flatMap(pathsOf)) {
    const parent = path.slice(0, path.lastIndexOf("/") + 1);
    siblings.set(parent, (siblings.get(parent) ?? new Set()).add(path));
  }
  const shortened = new Map<string, string>();
  for (const [parent, paths] of siblings) {
    const names = Array.from(paths, (path) => path.slice(parent.length)).sort();
    names.forEach((name, index) => {
      shortened.set(parent + name, shortName(name, names[index - 1], names[index + 1]));
    });
  }
  return (id) =>
    pathsOf(id)
      .map((path) => shortened.get(path) ?? path.slice(path.lastIndexOf("/") + 1))
      .join("/");
}

/** `a/b/c` as `a`, `a/b` and `a/b/c`. */
function pathsOf(id: string): string[] {
  const names = id.split("/");
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

/** @param before, after  Its neighbors in alphabetical order, with which it has most in common. */
function shortName(name: string, before?: string, after?: string): string {
  const kind = HASH.exec(name)?.[1] ?? (UUID.test(name) ? "" : undefined);
  if (kind === undefined) return name;
  const shared = Math.max(sharedLength(name, before), sharedLength(name, after));
  // A UUID that ends in a dash looks torn.
  return name.slice(0, Math.max(kind.length + CHARS_MIN, shared + 1)).replace(/-$/, (dash, at) => dash + name[at + 1]);
}

function sharedLength(id: string, other = ""): number {
  let length = 0;
  while (length < id.length && id[length] === other[length]) length += 1;
  return length;
}
