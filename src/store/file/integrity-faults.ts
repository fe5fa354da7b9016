import type Database from "better-sqlite3";

/** `FullTextRepository.clear` leaves such pages behind. They take space, and do no harm. */
const UNUSED = /^Page \d+: never used$/;

/** Returns what SQLite finds wrong in a file, at most `max` faults. Those of pages are lines of one text, with a heading. */
export function integrityFaults(
  client: Database.Database,
  check: "integrity_check" | "quick_check",
  max: number,
): string[] {
  const checked = (limit: number): string[] => client.prepare<[], string>(`PRAGMA ${check}(${limit})`).pluck().all();
  const isUnused = (text: string): boolean => text.split("\n").some((line) => UNUSED.test(line));
  const first = checked(max);
  // Unused pages count, so they would hide faults.
  const texts = first.some(isUnused) ? checked(max + (client.pragma("page_count", { simple: true }) as number)) : first;
  const faults = texts
    .filter((text) => text !== "ok")
    .map((text) => {
      const lines = text.split("\n").filter((line) => !UNUSED.test(line));
      return lines.slice(0, max + 1).join("\n");
    });
  return faults.filter((fault) => !isOfPages(fault) || fault.includes("\n")).slice(0, max);
}

/** True for a fault of `integrityFaults` that is of pages. */
export function isOfPages(fault: string): boolean {
  return fault.startsWith("***");
}
