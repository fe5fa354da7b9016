/** An index file and its sidecar; undefined if there is none. */
export interface IndexFiles {
  index: Buffer | undefined;
  sidecar: string | undefined;
}

export interface Originals {
  own: IndexFiles;
  /** The files of a similar store with other clusters. */
  foreign: IndexFiles;
  /** The files of a store with vectors of another dimension. */
  otherDimension: IndexFiles;
}

const HEADER_BYTES = 96;

/** The kinds of damage to the two files. Each draws its offset at random. */
export const DAMAGES: Record<string, (originals: Originals, random: () => number) => IndexFiles> = {
  "bits flipped in the header": ({ own }, random) => ({ ...own, index: flipped(own.index!, random, HEADER_BYTES) }),
  "bits flipped anywhere": ({ own }, random) => ({ ...own, index: flipped(own.index!, random, own.index!.length) }),
  "cut off": ({ own }, random) => ({ ...own, index: cut(own.index!, random) }),
  longer: ({ own }, random) => ({ ...own, index: Buffer.concat([own.index!, noise(random, 1 + at(random, 500))]) }),
  empty: ({ own }) => ({ ...own, index: Buffer.alloc(0) }),
  noise: ({ own }, random) => ({ ...own, index: noise(random, own.index!.length) }),
  "a block of zeros": ({ own }, random) => ({ ...own, index: zeroed(own.index!, random) }),
  "a huge number in the header": ({ own }, random) => ({ ...own, index: huge(own.index!, random) }),
  "of another dimension": ({ otherDimension }) => otherDimension,
  "of another dimension, beside its own sidecar": ({ own, otherDimension }) => ({
    ...own,
    index: otherDimension.index,
  }),
  "another store's": ({ foreign }) => foreign,
  "another store's, beside its own sidecar": ({ own, foreign }) => ({ ...own, index: foreign.index }),
  "beside another store's sidecar": ({ own, foreign }) => ({ ...own, sidecar: foreign.sidecar }),
  "without a sidecar": ({ own }) => ({ ...own, sidecar: undefined }),
  "a sidecar alone": ({ own }) => ({ ...own, index: undefined }),
  "a sidecar cut off": ({ own }, random) => ({ ...own, sidecar: cut(Buffer.from(own.sidecar!), random).toString() }),
  "a sidecar with flipped bits": ({ own }, random) => {
    const bytes = Buffer.from(own.sidecar!);
    return { ...own, sidecar: flipped(bytes, random, bytes.length).toString("latin1") };
  },
  "a sidecar of other JSON": ({ own }, random) => ({
    ...own,
    sidecar: ["null", "[]", "{}", '{"index":null}', '{"sha256":"","index":{}}', "7"][at(random, 6)]!,
  }),
};

function at(random: () => number, length: number): number {
  return Math.floor(random() * length);
}

function flipped(bytes: Buffer, random: () => number, within: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let count = 1 + at(random, 12); count > 0; count--) copy[at(random, within)]! ^= 1 << at(random, 8);
  return copy;
}

function cut(bytes: Buffer, random: () => number): Buffer {
  return bytes.subarray(0, at(random, bytes.length));
}

function noise(random: () => number, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => at(random, 256)));
}

function zeroed(bytes: Buffer, random: () => number): Buffer {
  const from = at(random, bytes.length - 4_096);
  return Buffer.from(bytes).fill(0, from, from + 4_096);
}

/** Overwrites one of the 8-byte numbers that the library trusts: counts, sizes, offsets. */
function huge(bytes: Buffer, random: () => number): Buffer {
  const copy = Buffer.from(bytes);
  const offsets = [0, 8, 16, 24, 32, 40, 48, 56, 64, 72];
  const values = [2n ** 64n - 1n, 2n ** 63n, 2n ** 40n, 2n ** 31n, 1_000_000n];
  copy.writeBigUInt64LE(values[at(random, values.length)]!, offsets[at(random, offsets.length)]!);
  return copy;
}
