import fc from "fast-check";

/** What happens to bytes on a bad disk, each place as a part of the whole, from 0 to 1. */
export type Damage = { kind: "cut"; at: number } | { kind: "flip"; bits: { at: number; bit: number }[] };

const place = fc.nat(999_999).map((millionths) => millionths / 1_000_000);

export const damage: fc.Arbitrary<Damage> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("cut" as const), at: place }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("flip" as const),
      bits: fc.array(fc.record({ at: place, bit: fc.nat(7) }), { minLength: 1, maxLength: 12, size: "max" }),
    }),
  },
);

/** A damaged copy. */
export function damaged(bytes: Buffer, what: Damage): Buffer {
  if (what.kind === "cut") return Buffer.from(bytes.subarray(0, Math.floor(what.at * bytes.byteLength)));
  const copy = Buffer.from(bytes);
  for (const { at, bit } of what.bits) copy[Math.floor(at * copy.byteLength)]! ^= 1 << bit;
  return copy;
}
