import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { CAPACITY_MIN, LINKS } from "./graph.ts";

/** Bytes of the header that hnswlib 0.8 writes on 64-bit machines (`saveIndex` in hnswalg.h). */
const HEADER_BYTES = 96;

/** The highest level that is accepted. Each level has a sixteenth of the points below, so no real graph is higher. */
const LEVEL_MAX = 32;

/**
 * Returns what is wrong with the layout of an index file; undefined if nothing is.
 *
 * The library trusts the numbers in the file, so a file that was cut off, or has another dimension, crashes it. This function
 * checks every number that the library relies on, and walks the lists of links to the last byte. A checksum cannot replace
 * these checks, because on a full disk the library writes a wrong file without an error.
 *
 * @param count  The number of points that the file must hold.
 * @throws what the file system throws.
 */
export function layoutFault(path: string, dimension: number, count: number): string | undefined {
  const descriptor = openSync(path, "r");
  try {
    const { size } = fstatSync(descriptor);
    if (size < HEADER_BYTES) return "it is shorter than its header";
    const header = readAt(descriptor, 0, HEADER_BYTES);
    const linksBytes = 4 * (2 * LINKS) + 4; // a count, then the links; the lowest level has twice as many
    const dataBytes = 4 * dimension;
    const pointBytes = linksBytes + dataBytes + 8; // 8 for the label
    const numbers: [name: string, at: number, expected: number][] = [
      ["the offset of the lowest level", 0, 0],
      ["the number of points", 16, count],
      ["the bytes of a point", 24, pointBytes],
      ["the offset of labels", 32, linksBytes + dataBytes],
      ["the offset of vectors", 40, linksBytes],
      ["the most links of a point", 56, LINKS],
      ["the most links on the lowest level", 64, 2 * LINKS],
      ["the links of a new point", 72, LINKS],
    ];
    for (const [name, at, expected] of numbers) {
      const found = header.readBigUInt64LE(at);
      if (found !== BigInt(expected)) return `${name} is ${found}, not ${expected}`;
    }
    const capacity = header.readBigUInt64LE(8);
    if (capacity < count || capacity > Math.max(CAPACITY_MIN, 2 * count)) return `it has room for ${capacity} points`;
    const level = header.readInt32LE(48);
    if (level < 0 || level > LEVEL_MAX) return `its highest level is ${level}`;
    if (header.readUInt32LE(52) >= count) return "its entry point does not exist";

    const listsAt = HEADER_BYTES + count * pointBytes;
    if (size < listsAt + 4 * count) return "it was cut off";
    const lists = readAt(descriptor, listsAt, size - listsAt);
    return listsFault(lists, count, level);
  } finally {
    closeSync(descriptor);
  }
}

/** Checks each point's links on the levels above the lowest: a byte count, then that many bytes. */
function listsFault(lists: Buffer, count: number, levelMax: number): string | undefined {
  const levelBytes = 4 * LINKS + 4;
  let at = 0;
  for (let point = 0; point < count; point++) {
    if (at + 4 > lists.byteLength) return "it was cut off";
    const bytes = lists.readUInt32LE(at);
    if (bytes % levelBytes !== 0 || bytes > levelMax * levelBytes) return `point ${point} has links of ${bytes} bytes`;
    at += 4 + bytes;
  }
  return at === lists.byteLength ? undefined : "it has bytes after its last list";
}

function readAt(descriptor: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const read = readSync(descriptor, bytes, done, length - done, position + done);
    if (read === 0) throw new Error("the file became shorter while it was read");
    done += read;
  }
  return bytes;
}
