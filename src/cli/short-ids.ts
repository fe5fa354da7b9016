const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Matches `fork-<hash>` and `agent-<hash>`, and captures the prefix. */
const HASH = /^([a-z]+-)[0-9a-f]{16,}$/;

/** The number of characters of a UUID or hash that people compare at a glance. */
const CHARS_MIN = 8;

/**
 * Shortens ids for a terminal. A UUID is cut to the shortest beginning that no other id shares, but at least eight
 * characters; both halves of `<UUID>/fork-<hash>` are cut. Names that people chose stay whole. `findSession` accepts the result.
 *
 * @param ids  All ids of the store, not only those that are shown.
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

/** Splits `a/b/c` into `a`, `a/b` and `a/b/c`. */
function pathsOf(id: string): string[] {
  const names = id.split("/");
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

/** @param before, after  The neighbors in alphabetical order, which share the longest beginning with the name. */
function shortName(name: string, before?: string, after?: string): string {
  const kind = HASH.exec(name)?.[1] ?? (UUID.test(name) ? "" : undefined);
  if (kind === undefined) return name;
  const shared = Math.max(sharedLength(name, before), sharedLength(name, after));
  // An id should not end in a dash.
  return name.slice(0, Math.max(kind.length + CHARS_MIN, shared + 1)).replace(/-$/, (dash, at) => dash + name[at + 1]);
}

function sharedLength(id: string, other = ""): number {
  let length = 0;
  while (length < id.length && id[length] === other[length]) length += 1;
  return length;
}
