import fc from "fast-check";
import { expect, test } from "vitest";
import { groundName, groundStatement, sourcePieces } from "../../src/models/gemini/grounding.ts";
import { Pace } from "../../src/models/pace.ts";
import { runs, seenInRuns } from "../support/effort.ts";

const pace = new Pace(new AbortController().signal);

const WORDS = ["deploy", "failed", "host", "pipeline", "keeps", "spam"];
const NAMES = [
  "loadUser",
  "src/a.ts",
  "src/b.ts",
  "LOGIN_DB_URL",
  "1200",
  "12",
  "v2.1",
  "eu-west-1",
  "--dry-run",
  "ECONNREFUSED",
];
const SEQS_MAX = 8;

const token = fc.constantFrom(...WORDS, ...NAMES);
const text = fc.array(token, { minLength: 1, maxLength: 8 }).map((tokens) => tokens.join(" "));
const seqs = fc.array(fc.integer({ min: -1, max: SEQS_MAX + 2 }), { maxLength: 4 });

test("what is verified stands in what was given, and every citation is of a message that was", async () => {
  // Goal: no invented name and no invented citation gets through unmarked, and no true statement is marked.
  // Method: statements and messages of the same few names with spaces between, so that a set of tokens is the whole truth.
  let verified = 0;
  let marked = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: SEQS_MAX }),
      text,
      seqs,
      async (messages, said, cited) => {
        const sources = messages.map((message, seq) => ({
          seq: seq * 2,
          role: "user",
          name: undefined,
          text: message,
        }));
        const pieces = sourcePieces({ previous: [], sources });
        const given = new Set(messages.flatMap((message) => message.split(" ")));
        const tokens = said.split(" ");
        const grounded = (await groundStatement({ text: said, seqs: cited }, pieces, pace))!;

        expect(grounded.text).toBe(said);
        for (const seq of grounded.seqs) expect(sources.map((source) => source.seq)).toContain(seq);
        for (const seq of cited) if (sources.some((source) => source.seq === seq)) expect(grounded.seqs).toContain(seq);
        const invented = tokens.filter((name) => NAMES.includes(name) && !given.has(name));
        if (grounded.isVerified) {
          verified++;
          expect(invented).toEqual([]);
          expect(grounded.seqs).not.toEqual([]);
          const behind = grounded.seqs.flatMap((seq) => messages[seq / 2]!.split(" "));
          for (const name of tokens) if (NAMES.includes(name)) expect(behind).toContain(name);
        } else {
          marked++;
          const hasName = tokens.some((name) => NAMES.includes(name) && name !== "12");
          const missesShortFigure = tokens.includes("12");
          expect(invented.length > 0 || missesShortFigure || !hasName).toBe(true);
        }
        for (const name of tokens) {
          expect((await groundName({ text: name, seqs: cited }, pieces, pace)) !== undefined).toBe(given.has(name));
        }
      },
    ),
    { numRuns: runs(1_000) },
  );
  expect(verified).toBeGreaterThan(seenInRuns(100));
  expect(marked).toBeGreaterThan(seenInRuns(100));
});
