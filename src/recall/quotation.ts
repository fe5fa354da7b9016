export const QUOTED = /"([^"]*)"/g;

/** Returns true if a query has words only in double quotes. */
export function isQuotation(text: string): boolean {
  const isQuoting = Array.from(text.matchAll(QUOTED)).some(([, quoted]) => /\S/.test(quoted!));
  return isQuoting && !/[\p{L}\p{N}]/u.test(text.replace(QUOTED, " "));
}
