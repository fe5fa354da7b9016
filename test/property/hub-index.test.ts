import fc from "fast-check";
import { expect, test } from "vitest";
import { DamageError } from "../../src/core/damage.ts";
import { decodeSegment, segmentOf, wordsIn } from "../../src/hub/segment.ts";
import { runs, seenInRuns } from "../support/effort.ts";

test("the word index of a hub refuses bytes that it did not write", () => {
  const { head } = segmentOf({
    added: ["lock", "region", "deploy"].map((stem, index) => ({
      ...{ sessionNo: 1 + (index % 2), messageId: 10 + index, seq: index, role: 1, isCall: false, name: "Ann" },
      ...{ tokenCount: 3, createdAtMs: 1_700_000_000_000, stems: [stem, "shared", "shared"] },
    })),
    removed: [{ sessionNo: 3, messageId: 4 }],
    forgottenSessions: [9],
  });
  let [refused, read] = [0, 0];
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(head.length - 1), fc.nat(255)), { maxLength: 4 }),
      fc.nat(head.length),
      (changes, length) => {
        const bytes = Buffer.from(head.subarray(0, changes.length % 2 === 0 ? head.length : length));
        for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
        try {
          const segment = decodeSegment(bytes);
          for (const bucket of segment.buckets ?? []) {
            for (const { list } of wordsIn(bucket, segment.messages.length)) {
              expect(list.messages.every((index) => segment.messages[index] !== undefined)).toBe(true);
            }
          }
          read += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(DamageError);
          refused += 1;
        }
      },
    ),
    { numRuns: runs(1_500) },
  );
  expect(refused).toBeGreaterThan(seenInRuns(250));
  expect(read).toBeGreaterThan(seenInRuns(25));
});
