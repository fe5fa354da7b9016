const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** `fork-<hash>` or `agent-<hash>`. */
const HASH = /^([a-z]+-)[0-9a-f]{16,}$/;

/** UUIDs and hashes are cut to one of these lengths, where the groups of a UUID end. */
const LENGTHS = [8, 13, 18, 23];

/**
 * Shortens UUIDs and hashes in ids for a terminal, to the first length that keeps all ids of the store apart. Other names stay
 * whole. `findSession` accepts the result.
 */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const counts = new Map<string, number>();
  for (const short of ids.flatMap((id) => [...new Set(LENGTHS.map((length) => cutId(id, length)))])) {
    counts.set(short, (counts.get(short) ?? 0) + 1);
  }
  return (id) => LENGTHS.map((length) => cutId(id, length)).find((short) => counts.get(short) === 1) ?? id;
}

/** Cuts each name of an id such as `<UUID>/fork-<hash>`. */
function cutId(id: string, length: number): string {
  const cutName = (name: string): string => {
    const prefix = UUID.test(name) ? "" : HASH.exec(name)?.[1];
    return prefix === undefined ? name : name.slice(0, prefix.length + length);
  };
  return id.split("/").map(cutName).join("/");
}
