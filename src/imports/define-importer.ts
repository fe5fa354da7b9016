import { StoreError } from "../core/errors.ts";
import type { Importer } from "../importers/importer.ts";
import { IMPORTERS } from "../importers/registry.ts";

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/**
 * Checks an importer of your own, for `importFiles` and `watchFiles`. It must follow the rules of `Importer`.
 *
 * @throws {StoreError} `OPTION_INVALID` if a name or a method is missing, or a built-in importer has the name.
 */
export function defineImporter(importer: Importer): Importer {
  const { name } = importer;
  const isTaken = name === "auto" || IMPORTERS.some((importer) => importer.name === name);
  if (typeof name !== "string" || !NAME.test(name) || isTaken) {
    const expected = "lower-case letters, digits and dashes, other than `auto` and the built-in formats";
    throw new StoreError("OPTION_INVALID", { option: "name", expected, actual: name });
  }
  for (const method of ["detect", "read"] as const) {
    if (typeof importer[method] === "function") continue;
    throw new StoreError("OPTION_INVALID", { option: method, expected: "a function", actual: importer[method] });
  }
  return importer;
}

/** Returns the given importers followed by the built-in ones. Without any, it returns `IMPORTERS` itself. */
export function importersWith(own: readonly Importer[]): readonly Importer[] {
  return own.length === 0 ? IMPORTERS : [...own.map(defineImporter), ...IMPORTERS];
}
