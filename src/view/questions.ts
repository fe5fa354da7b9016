/** The rows of a long page: outlines and logs are asked for by so many. Reading a thousand takes about 6 ms. */
export const PAGE_MAX = 20_000;

/** Returns the address of a question. Values that are null, undefined or empty are left out. */
export function urlOf(route: string, request: object = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  return query.size === 0 ? route : `${route}?${query}`;
}

/**
 * Returns the name of an answer in a file. An answer there has all rows, the days of who made the file, and the subject as it was then.
 */
export function fileKeyOf(url: string): string {
  const { pathname, searchParams } = new URL(url, "http://view");
  for (const name of ["limit", "offsetMinutes"]) searchParams.delete(name);
  const handle = searchParams.get("handle");
  if (handle !== null) searchParams.set("handle", handle.replace(/@\d+$/, ""));
  searchParams.sort();
  return searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`;
}

/**
 * The header of the key. Browsers add it to nothing by themselves, and send it to no other port or name, as they do with cookies. A page
 * of another origin cannot send it.
 */
export const KEY_HEADER = "coppice-key";
