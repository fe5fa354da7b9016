import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseMessage } from "../../src/core/message.ts";
import type { ImportEvent, Importer } from "../../src/importers/importer.ts";
import { PAUSE, QUIET } from "../../src/importers/importer.ts";
import { runs, someOf } from "../support/effort.ts";
import { eventsOf, eventsSoFar, messagesIn, warningsIn } from "../unit/importers/read.ts";

export interface ImporterContract {
  importer: Importer;
  /** A file in the format, without damage. Whatever must reach a message holds one of `keep00` to `keep99`. */
  sample: URL;
  /** Files in other formats. */
  foreign: readonly URL[];
  /** The sample is one document, with each message on a line of its own. Otherwise each line stands for itself. */
  isDocument: boolean;
  /** The sample is plain text: no line can be damaged but by bytes that are no text. */
  isText: boolean;
}

const CLOSING_BRACE = 0x7d;

/** Where a file has its id from if nothing in it tells one. */
const PATH = "/nowhere/file.jsonl";

/** What every importer promises, whatever it reads. */
export function describeImporter({ importer, sample, foreign, isDocument, isText }: ImporterContract): void {
  const bytes = readFileSync(sample);
  const text = bytes.toString("utf8");
  const lines = text.split("\n").slice(0, -1);

  const name = basename(fileURLToPath(sample));

  describe(`the importer of ${importer.name}, for ${name}`, () => {
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
        expect(source).toBe(importer.name);
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

    /**
     * Goal: a file that was imported while it grew comes to the messages that it comes to when it is imported once.
     * Method: cut the sample behind each of its lines and within it. Each session must begin with the very messages that it
     * has in the end, and hold everything from whole lines, unless a warning names the line.
     */
    test("reads a file that is still being written: the first of its later messages, as they will be", async () => {
      const said = (events: readonly ImportEvent[]) => {
        const sessions: Record<string, unknown[]> = {};
        for (const event of events) {
          if (event.kind !== "message") continue;
          const { id, role, content, parts } = event.message;
          sessions[event.session] = [...(sessions[event.session] ?? []), { id, role, content, parts }];
        }
        return sessions;
      };
      const whole = said(await eventsOf(importer, bytes));
      const lineEnds = [...bytes.entries()].flatMap(([index, byte]) => (byte === 10 ? [index + 1] : []));
      const cuts = lineEnds.flatMap((end, index) => [end, Math.floor((end + (lineEnds[index - 1] ?? 0)) / 2)]);
      for (const cut of cuts) {
        const part = bytes.subarray(0, cut);
        const events = await eventsSoFar(importer, part);
        for (const [session, messages] of Object.entries(said(events))) {
          expect(messages).toEqual(whole[session]?.slice(0, messages.length));
        }
        const wholeLines = part.toString("utf8").split("\n").slice(0, -1);
        // In plain text, a message goes on until the next one begins.
        const waiting = warningsIn(events).flatMap(([number]) =>
          wholeLines.slice(number - 1, isText ? undefined : number),
        );
        expect([...markersIn(events), ...markersOf(waiting)]).toEqual(expect.arrayContaining(markersOf(wholeLines)));
      }
    });

    test("refuses a binary file", async () => {
      const png = Buffer.from("\u0089PNG\r\n\u001a\n\u0000\u0000\u0000\rIHDR", "latin1");
      for (const binary of [png, Buffer.from("SQLite format 3\u0000"), Buffer.from("{}", "utf16le").swap16()]) {
        const refused = expect.objectContaining({ code: "IMPORT_UNREADABLE" });
        await expect(eventsOf(importer, binary)).rejects.toEqual(refused);
        await expect(eventsOf(importer, binary, 1)).rejects.toEqual(refused);
      }
    });

    if (importer.isFollowable === true && !isDocument) {
      test("tells at each pause of a file that is followed what a file says that may go on there", async () => {
        const cuts = cutsOf(bytes);
        const told = new Map<string, unknown>();
        const paused: (typeof told)[] = [];
        for await (const event of importer.read({ path: PATH, chunks: withPauses(bytes, cuts) })) {
          if (event.kind === "message") told.set(`${event.session} ${event.message.id}`, event.message);
          if (event.kind === "paused") paused.push(structuredClone(told));
        }
        expect(paused.length).toBe(cuts.length);
        for (const [index, cut] of cuts.entries()) {
          const upTo = bytes.subarray(0, cut);
          const ended = await eventsSoFar(
            importer,
            upTo.at(-1) === CLOSING_BRACE ? upTo : upTo.subarray(0, upTo.lastIndexOf("\n") + 1),
          );
          const said = ended.flatMap((event) =>
            event.kind === "message" ? [[`${event.session} ${event.message.id}`, event.message] as const] : [],
          );
          expect(paused[index]).toEqual(new Map(said));
        }
        expect(told).toEqual(paused.at(-1));
      });

      test("tells all that a file that is followed says where it rests, and goes on from there", async () => {
        const ends = cutsOf(bytes).filter((cut) => bytes[cut - 1] === 0x0a);
        for (const cut of ends) {
          const upTo = bytes.subarray(0, cut);
          const told: ImportEvent[] = [];
          let atRest: ImportEvent[] = [];
          async function* restingAt(): AsyncGenerator<Uint8Array> {
            yield upTo;
            yield PAUSE;
            yield QUIET;
            atRest = structuredClone(told);
            yield bytes.subarray(cut);
          }
          for await (const event of importer.read({ path: PATH, chunks: restingAt(), isFinished: true }))
            told.push(event);
          expect(contentOf(atRest)).toEqual(contentOf(await eventsOf(importer, upTo)));
          expect(contentOf(told)).toEqual(contentOf(await eventsOf(importer, bytes)));
        }
      });
    }

    if (isText) return;

    test("names a damaged line, and loses nothing that stands on another", async () => {
      const said = [...lines.entries()].filter(([, line]) =>
        isDocument ? markersOf([line]).length > 0 : line.trim() !== "",
      );
      for (const [index, line] of someOf(said, 6)) {
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

    test.each(DAMAGE)("brings in or names what a line says that has %s, and costs no other line", async (_, damage) => {
      const said = [...lines.entries()].filter(([, line]) => markersOf([line]).length > 0);
      for (const [index, line] of someOf(said, 4)) {
        const damaged = damage(line);
        if (damaged === undefined || damaged === line) continue;
        const events = await eventsOf(importer, `${lines.with(index, damaged).join("\n")}\n`);
        const found = new Set(markersIn(events));
        const warned = new Set(warningsIn(events).map(([number]) => number));
        const missing = markersOf(lines).filter((marker) => !found.has(marker));
        if (missing.length > 0) expect(warned).toContain(index + 1);
        for (const marker of missing) expect(markersOf([line])).toContain(marker);
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
          for (const { place, value } of swaps)
            replace(objects, values[place % values.length]!, structuredClone(value));
          const events = await eventsOf(importer, objects.map((object) => JSON.stringify(object)).join("\n"));
          for (const message of messagesIn(events)) parseMessage(message);
          readMax = Math.max(readMax, events.length);
        }),
        { numRuns: runs(100) },
      );
      expect(readMax).toBeGreaterThan(5);
    });
  });
}

/** What has been found in files, or may be: each as what it makes of a line; undefined where it is none of it. */
const DAMAGE: readonly [name: string, damage: (line: string) => string | undefined][] = [
  ["half of a character", (line) => line.replace(/keep\d\d/, "$&\\ud800")],
  ["a NUL in a text", (line) => line.replace(/keep\d\d/, "$&\\u0000")],
  ["a NUL byte", (line) => line.replace(/keep\d\d/, "$&\u0000")],
  ["a key that comes twice", (line) => opened(line, '"odd":1,"odd":2')],
  ["names that objects have", (line) => opened(line, '"__proto__":{"a":1},"constructor":{"b":2},"toString":3')],
  ["a tower of lists", (line) => opened(line, `"odd":${"[".repeat(10_000)}${"]".repeat(10_000)}`)],
  ["a number without end", (line) => opened(line, `"odd":${"9".repeat(400)},"far":1e400`)],
  ["a time out of range", (line) => timed(line, '"+275761-01-01T00:00:00Z"')],
  ["a time that is too large", (line) => timed(line, "1e300")],
  ["a time before all", (line) => timed(line, "-9007199254740991")],
  ["a time that is none", (line) => timed(line, '{"seconds":"1"}')],
  ["numbers as texts", (line) => line.replace(/:(\d+)([,}])/g, ':"$1"$2')],
  ["texts as numbers", (line) => line.replace(/"(id|uuid|call_id|callId|toolCallId)":"[^"]*"/g, '"$1":7')],
];

/** A line that begins with an object, with more fields in front. */
function opened(line: string, fields: string): string | undefined {
  const at = line.indexOf("{");
  return at === -1 ? undefined : `${line.slice(0, at + 1)}${fields},${line.slice(at + 1)}`;
}

function timed(line: string, time: string): string {
  return line.replace(/"(timestamp|ts|createdAt|created|time_created)":("[^"]*"|\d+)/g, `"$1":${time}`);
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

/** What each message is in the end, under its name. */
function contentOf(events: readonly ImportEvent[]): Map<string, unknown> {
  return new Map(
    events.flatMap((event) =>
      event.kind === "message" ? [[`${event.session} ${event.message.id}`, event.message]] : [],
    ),
  );
}

/** Where a writer may fall quiet once there is a line: after each, before its line feed, and in the middle of it. */
function cutsOf(bytes: Buffer): number[] {
  const cuts: number[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf("\n", start);
    cuts.push(start + Math.floor((end - start) / 2), end, end + 1);
    start = end + 1;
  }
  return [...new Set(cuts)].slice(1);
}

async function* withPauses(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const cut of cuts) {
    yield bytes.subarray(from, cut);
    yield PAUSE;
    from = cut;
  }
}
