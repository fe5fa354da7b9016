const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** As much of a UUID as people compare at a glance. */
const CHARS_MIN = 8;

/**
 * How each id is shown where room is short: of a UUID, as much as no other id begins with, at least eight characters, and of
 * `<UUID>/agent-…` the UUID so. Names that people gave stay whole. `findSession` takes all of them.
 *
 * @param ids  All that could be meant, not only those that are shown.
 */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const heads = [...new Set(ids.map(headOf))].sort();
  const shortened = new Map<string, string>();
  heads.forEach((head, index) => {
    if (!UUID.test(head)) return;
    const shared = Math.max(sharedLength(head, heads[index - 1]), sharedLength(head, heads[index + 1]));
    // A UUID that ends in a dash looks torn.
    shortened.set(
      head,
      head.slice(0, Math.max(CHARS_MIN, shared + 1)).replace(/-$/, (dash, at) => dash + head[at + 1]),
    );
  });
  return (id) => (shortened.get(headOf(id)) ?? headOf(id)) + id.slice(headOf(id).length);
}

function headOf(id: string): string {
  return id.split("/", 1)[0]!;
}

function sharedLength(id: string, other = ""): number {
  let length = 0;
  while (length < id.length && id[length] === other[length]) length += 1;
  return length;
}
