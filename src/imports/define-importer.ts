import { StoreError } from "../core/errors.ts";
import { listOf, port } from "../core/schema.ts";
import type { Importer } from "../importers/importer.ts";
import { IMPORTERS } from "../importers/registry.ts";

/** Names that can be typed after `--format`. */
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/**
 * Checks an importer of your own, for `importFiles` and `watchFiles`.
 *
 * An importer turns the bytes of a file into events: a `session` before its first message, then a `message` for each
 * message, and a `warning` for anything that it cannot read. It writes nothing, and it does not decide what is new. The
 * rules of the built-in importers hold for yours too:
 *
 * - Equal bytes give equal events, however the bytes are cut into chunks.
 * - Messages of one session come in conversation order.
 * - A message's id is unique in its session, and the same each time the file is read. A message whose id the session
 *   already has was imported before. So an id never depends on the time, on chance, or on later lines.
 * - A file that has grown gives the same messages first, with the same ids and content, and then new ones. At the end of
 *   a file that is not finished (`file.isFinished`), a message that a later line may still change is a warning.
 * - A damaged line is a warning with its number, and every other line is read. `read` throws only if the file is not text.
 * - Everything in a line becomes a message or a warning, unless it says nothing about the conversation.
 * - `detect` looks at content alone, and recognizes no other format's files. The last line of `head` may be cut short.
 * - With `isFollowable: true`, `read` answers the chunks `PAUSE` and `QUIET` with the event `paused`. Without it, a watch
 *   reads the file again from its beginning whenever it has changed.
 *
 * @throws {StoreError} `OPTION_INVALID` if a name or a method is missing, or a built-in importer has the name.
 */
export function defineImporter(importer: Importer): Importer {
  const { name } = importer;
  if (typeof name !== "string" || !NAME.test(name) || isTaken(name)) {
    const expected = "lower-case letters, digits and dashes, other than `auto` and the built-in formats";
    throw new StoreError("OPTION_INVALID", { option: "name", expected, actual: name });
  }
  for (const method of ["detect", "read"] as const) {
    if (typeof importer[method] === "function") continue;
    throw new StoreError("OPTION_INVALID", { option: method, expected: "a function", actual: importer[method] });
  }
  return importer;
}

function isTaken(name: string): boolean {
  return name === "auto" || IMPORTERS.some((importer) => importer.name === name);
}

/** The schema of the option `importers`. */
export function importerList() {
  return listOf(port<Importer>("an importer, as defineImporter returns it", "detect", "read"));
}

/** Returns the importers to ask, own ones first. Without own ones, returns `IMPORTERS` itself. */
export function importersWith(own: readonly Importer[]): readonly Importer[] {
  return own.length === 0 ? IMPORTERS : [...own.map(defineImporter), ...IMPORTERS];
}
