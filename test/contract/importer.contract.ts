import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseMessage } from "../../src/core/message.ts";
import type { ImportEvent, Importer } from "../../src/importers/importer.ts";
import { eventsOf, messagesIn, warningsIn } from "../unit/importers/read.ts";

export interface ImporterContract {
  importer: Importer;
  /** A file in the format, without damage. Whatever must reach a message holds one of `keep00` to `keep99`. */
  sample: URL;
  /** Files in other formats. */
  foreign: readonly URL[];
  /** The sample is one document, with each message on a line of its own. Otherwise each line stands for itself. */
  isDocument?: boolean;
}

/** What every importer promises, whatever it reads. */
export function describeImporter({ importer, sample, foreign, isDocument = false }: ImporterContract): void {
  const bytes = readFileSync(sample);
  const text = bytes.toString("utf8");
  const lines = text.split("\n").slice(0, -1);

  const name = basename(fileURLToPath(sample));

  describe(`the importer of ${importer.format}, for ${name}`, () => {
    test("knows its own files, and no others, by how they begin", () => {
      expect(importer.detect(text)).toBe(true);
      for (const url of foreign) expect(importer.detect(readFileSync(url, "utf8"))).toBe(false);
      for (const head of ["", "\n", "# Notes\n", "[]\n", "{}\n", '{"type":"x"}\n', "\u0000\u0001"]) {
        expect(importer.detect(head)).toBe(false);
      }
    });

    test("brings each thing that was said into one message, without a warning", async () => {
      const events = await eventsOf(importer, bytes);
      expect(warningsIn(events)).toEqual([]);
      expect(markersIn(events)).toEqual(markersOf(lines));
    });

    test("gives messages that the store accepts, under ids that are unique in their session", async () => {
      const events = await eventsOf(importer, bytes);
      const ids = events.flatMap((event) => (event.kind === "message" ? [`${event.session} ${event.message.id}`] : []));
      for (const message of messagesIn(events)) expect(parseMessage(message).externalId).toBe(message.id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.length).toBeGreaterThan(5);
    });

    test("announces each session once, before its messages and after its parent", async () => {
      const announced: string[] = [];
      for (const event of await eventsOf(importer, bytes)) {
        if (event.kind === "message") expect(announced).toContain(event.session);
        if (event.kind !== "session") continue;
        const { externalId, parentExternalId, source } = event.session;
        expect(announced).not.toContain(externalId);
        if (parentExternalId !== undefined) expect(announced).toContain(parentExternalId);
        expect(source).toBe(importer.format);
        announced.push(externalId);
      }
    });

    test("gives the same events however the bytes are cut, each chunk of one byte included", async () => {
      const whole = await eventsOf(importer, bytes);
      for (const chunkBytes of [1, 2, 3, 7, 1_000]) {
        expect(await eventsOf(importer, bytes, chunkBytes)).toEqual(whole);
      }
    });

    test("does not mind a byte order mark, carriage returns or blank lines", async () => {
      const whole = await eventsOf(importer, bytes);
      expect(await eventsOf(importer, `\uFEFF${text}`)).toEqual(whole);
      expect(await eventsOf(importer, text.replaceAll("\n", "\r\n"), 1)).toEqual(whole);
      expect(await eventsOf(importer, text.trimEnd())).toEqual(whole);
      const spaced = await eventsOf(importer, `\n  \n${text}\n\n`);
      expect(messagesIn(spaced)).toEqual(messagesIn(whole));
    });

    test("gives nothing for a file that holds nothing", async () => {
      for (const empty of ["", "\n", " \r\n\n", "\uFEFF"]) expect(await eventsOf(importer, empty)).toEqual([]);
    });

    test("names a damaged line, and loses nothing that stands on another", async () => {
      for (const [index, line] of lines.entries()) {
        if (line.trim() === "" || (isDocument && markersOf([line]).length === 0)) continue;
        const damaged = lines.with(index, line.slice(0, line.length / 2));
        const events = await eventsOf(importer, `${damaged.join("\n")}\n`);
        expect(warningsIn(events).map(([number]) => number)).toEqual([index + 1]);
        expect(markersIn(events)).toEqual(markersOf(lines.toSpliced(index, 1)));
      }
    });

    test("names a line that is not UTF-8, is not an object, or holds NULs", async () => {
      for (const bad of [Buffer.from([0x7b, 0xff, 0x7d]), Buffer.from("[1]"), Buffer.from("7"), Buffer.alloc(64)]) {
        const events = await eventsOf(importer, Buffer.concat([bytes, bad]));
        expect(warningsIn(events).map(([number]) => number)).toEqual([lines.length + 1]);
        expect(markersIn(events)).toEqual(markersOf(lines));
      }
    });

    test("reads a file that is still being written: the messages of its whole lines, under their later ids", async () => {
      const idsAtLast = new Set(messagesIn(await eventsOf(importer, bytes)).map(({ id }) => id));
      for (let length = 0; length <= bytes.length; length += 997) {
        const part = bytes.subarray(0, length);
        const events = await eventsOf(importer, part);
        const wholeLines = part.toString("utf8").split("\n").slice(0, -1);
        expect(markersIn(events)).toEqual(markersOf(wholeLines));
        expect(messagesIn(events).filter(({ id }) => !idsAtLast.has(id))).toEqual([]);
      }
    });

    /**
     * Goal: nothing that JSON can say makes the importer fail or bring a message that the store refuses.
     * Method: put a random value in the place of a random one, anywhere in the sample, and read it.
     */
    test("makes a message or a warning of whatever a line holds", async () => {
      const parsed: readonly unknown[] = isDocument
        ? [JSON.parse(text)]
        : lines.map((line) => (line === "" ? {} : JSON.parse(line)));
      const values = parsed.flatMap((value, index) => placesIn(value, [index]));
      const swap = fc.record({
        place: fc.nat(),
        value: fc.oneof(fc.jsonValue(), fc.constantFrom("user", "", [{}], null)),
      });
      let readMax = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(swap, { minLength: 1, maxLength: 5 }), async (swaps) => {
          const objects: unknown[] = structuredClone([...parsed]);
          for (const { place, value } of swaps) replace(objects, values[place % values.length]!, value);
          const events = await eventsOf(importer, objects.map((object) => JSON.stringify(object)).join("\n"));
          for (const message of messagesIn(events)) parseMessage(message);
          readMax = Math.max(readMax, events.length);
        }),
        { numRuns: 200 },
      );
      expect(readMax).toBeGreaterThan(5);
    });

    test("refuses a binary file", async () => {
      const png = Buffer.from("\u0089PNG\r\n\u001a\n\u0000\u0000\u0000\rIHDR", "latin1");
      for (const binary of [png, Buffer.from("SQLite format 3\u0000"), Buffer.from("{}", "utf16le").swap16()]) {
        const refused = expect.objectContaining({ code: "IMPORT_UNREADABLE" });
        await expect(eventsOf(importer, binary)).rejects.toEqual(refused);
        await expect(eventsOf(importer, binary, 1)).rejects.toEqual(refused);
      }
    });
  });
}

type Path = readonly (string | number)[];

/** The path to each value inside `value`, which itself is at `path`. */
function placesIn(value: unknown, path: Path): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, item]) => placesIn(item, [...path, key]))];
}

/** Put `value` at `path`, unless an earlier replacement has taken the place away. */
function replace(root: unknown, path: Path, value: unknown): void {
  let parent = root;
  for (const key of path.slice(0, -1)) parent = (parent as Record<string | number, unknown> | null)?.[key];
  if (typeof parent === "object" && parent !== null) (parent as Record<string | number, unknown>)[path.at(-1)!] = value;
}

/** Every marker in the lines, in order: counted without knowing the format. */
function markersOf(lines: readonly string[]): string[] {
  return [...new Set(lines.join("\n").match(/keep\d\d/g))].sort();
}

/** Every marker in what the messages say, as often as it stands there. */
function markersIn(events: readonly ImportEvent[]): string[] {
  const said = messagesIn(events).map(({ content, parts }) => JSON.stringify([content, parts]));
  return (said.join("\n").match(/keep\d\d/g) ?? []).sort();
}
