import type { Repositories } from "../repositories.ts";

/** The name of the setting that holds them. */
const SETTING = "exclusions";

export interface StoredExclusions {
  /** Absolute. */
  paths: readonly string[];
  projects: readonly string[];
}

export function exclusionsOf({ settings }: Repositories): StoredExclusions {
  return { paths: [], projects: [], ...(settings.get(SETTING) as Partial<StoredExclusions> | undefined) };
}

/** Adds to what imports leave out, or removes from it. Returns everything that they leave out now. */
export function changeExclusions(
  repositories: Repositories,
  given: StoredExclusions,
  isRemoved: boolean,
): StoredExclusions {
  const { database, settings } = repositories;
  return database.write("exclude", () => {
    const known = exclusionsOf(repositories);
    const changed = (field: keyof StoredExclusions): string[] =>
      isRemoved
        ? known[field].filter((one) => !given[field].includes(one))
        : [...new Set([...known[field], ...given[field]])].sort();
    const exclusions = { paths: changed("paths"), projects: changed("projects") };
    settings.set(SETTING, exclusions);
    return exclusions;
  });
}
