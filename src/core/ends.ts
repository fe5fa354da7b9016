/** The most characters of a title. A longer one ends at a clause, or with a whole word. */
export const TITLE_CHARS_MAX = 80;

/** The title of a cluster is made of so many of its first and of its last messages, because an append waits for it. */
export const TITLED_ENDS = 64;

/** Returns the first and the last of a cluster's messages, or steps, that its title is made of. */
export function titledEnds<Item>(items: readonly Item[]): readonly Item[] {
  return items.length <= 2 * TITLED_ENDS ? items : [...items.slice(0, TITLED_ENDS), ...items.slice(-TITLED_ENDS)];
}
