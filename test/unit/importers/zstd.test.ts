import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { ImportEvent } from "../../../src/importers/importer.ts";
import { openImport } from "../../../src/importers/registry.ts";
import { unpacked } from "../../../src/importers/zstd.ts";
import { sampleOf } from "../../contract/importer-samples.ts";
import { slow } from "../../support/effort.ts";
import { collect, fileOf } from "./read.ts";

const NAME = "codex/rollout-2026-03-05T09-00-00-0199c3a0-7b1e-7c55-9d0f-2f6a1b3c4d5e.jsonl";
const plain = readFileSync(sampleOf(NAME));
/** The same, put away: `zstd -19`. */
const packed = readFileSync(sampleOf("../rollout.jsonl.zst"));

/** The header of a frame of blocks that are not compressed, with an empty block: its window, or its size, is of the given bytes. */
function frameWith(flags: number, ...sizes: number[]): Buffer {
  return Buffer.from([0x28, 0xb5, 0x2f, 0xfd, flags, ...sizes, 1, 0, 0]);
}

/** A frame whose blocks are each one byte, 128 KiB times: what a few bytes can be made to say. */
function frameOfRuns(blockCount: number): Buffer {
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]);
  const block = (index: number) => {
    const size = 128 * 1024;
    const head = (size << 3) | (1 << 1) | (index === blockCount - 1 ? 1 : 0);
    return Buffer.from([head & 0xff, (head >> 8) & 0xff, (head >> 16) & 0xff, 0x20]);
  };
  return Buffer.concat([header, ...Array.from({ length: blockCount }, (_, index) => block(index))]);
}

test("a rollout that was put away is read as it was, however its bytes are cut", async () => {
  const { format, events } = await openImport(fileOf(plain));
  const whole = await collect(events);
  for (const chunkBytes of [1, 7, 100_000]) {
    const put = await openImport(fileOf(packed, chunkBytes));
    expect(put.format).toBe(format);
    expect(await collect(put.events)).toEqual(whole);
  }
  const twice = await unpacked(fileOf(Buffer.concat([packed, packed])));
  expect(Buffer.concat(await collect(twice.chunks))).toEqual(Buffer.concat([plain, plain]));
});

test("a file that is not packed is read as it is", async () => {
  for (const bytes of [plain, Buffer.alloc(0), packed.subarray(0, 3)]) {
    expect(Buffer.concat(await collect((await unpacked(fileOf(bytes))).chunks))).toEqual(bytes);
  }
});

test("one that was cut off brings what comes before the cut, and says so", async () => {
  const frames = Buffer.concat([packed, packed]);
  const { events } = await openImport(fileOf(frames.subarray(0, packed.length + 100), 100));
  const read: ImportEvent[] = [];
  const reading = (async () => {
    for await (const event of events) read.push(event);
  })();
  await expect(reading).rejects.toMatchObject({
    code: "IMPORT_UNREADABLE",
    message: expect.stringContaining("damaged"),
  });
  expect(read.filter(({ kind }) => kind === "message").length).toBeGreaterThan(5);
  await expect(openImport(fileOf(Buffer.concat([packed.subarray(0, 4), plain])))).rejects.toMatchObject({
    code: "IMPORT_UNREADABLE",
  });
});

test("a few bytes that come to far more than any transcript are refused", async () => {
  const { chunks } = await unpacked(fileOf(frameOfRuns(1_024)));
  await expect(collect(chunks)).rejects.toThrow("unpacks to more than 1000 times its size");
});

test("a frame that needs a window of more than 8 MiB is refused before memory is taken for it", async () => {
  const large: [number, ...number[]][] = [
    [0x00, 0x69], // 9 MiB
    [0x00, 0xff], // 3.75 TiB
    [0xa0, 0x01, 0x00, 0x80, 0x00], // one segment of 8 MiB and a byte
    [0xe0, 0, 0, 0, 0, 1, 0, 0, 0], // one of 4 GiB
    [0xa3, 7, 7, 7, 7, 0x00, 0x00, 0x00, 0x20], // one of 512 MiB, behind the name of a dictionary
  ];
  for (const [flags, ...sizes] of large) {
    const frames = Buffer.concat([packed, frameWith(flags, ...sizes)]);
    for (const chunkBytes of [1, frames.length]) {
      const before = process.memoryUsage().arrayBuffers;
      const pieces: Uint8Array[] = [];
      const reading = (async () => {
        for await (const piece of (await unpacked(fileOf(frames, chunkBytes))).chunks) pieces.push(piece);
      })();
      await expect(reading).rejects.toThrow(/needs a window of \d+ bytes; it may have 8388608/);
      expect(Buffer.concat(pieces)).toEqual(plain);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
    }
    // fzstd takes what is missing of a header for zeros.
    const cut = frames.subarray(0, packed.length + 4 + sizes.length);
    await expect(collect((await unpacked(fileOf(cut))).chunks)).rejects.toThrow("damaged: unexpected EOF");
  }
});

test("frames with windows of up to 8 MiB are read", async () => {
  for (const header of [
    [0x00, 0x68],
    [0xa0, 0x00, 0x00, 0x80, 0x00],
    [0x60, 0xff, 0xff],
    [0x20, 0xff],
  ]) {
    const [flags = 0, ...sizes] = header;
    const frames = Buffer.concat([frameWith(flags, ...sizes), packed]);
    for (const chunkBytes of [1, frames.length]) {
      const read = Buffer.concat(await collect((await unpacked(fileOf(frames, chunkBytes))).chunks));
      expect(read).toEqual(plain);
    }
  }
});

slow(test)("a few bytes that come to 128 MiB are unpacked in little memory", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void; // what nobody holds any more is not counted
  // A frame that is skipped makes the file large enough for what it unpacks to.
  const skipped = Buffer.alloc(200_000);
  skipped.writeUInt32LE(0x184d2a50, 0);
  skipped.writeUInt32LE(skipped.length - 8, 4);
  const { chunks } = await unpacked(fileOf(Buffer.concat([packed, skipped, frameOfRuns(1_024)])));
  let byteCount = 0;
  let heldMax = 0;
  let lookCount = 0;
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for await (const chunk of chunks) {
    byteCount += chunk.length;
    if (byteCount % (8 * 1024 * 1024) > chunk.length) continue;
    collectGarbage();
    lookCount += 1;
    heldMax = Math.max(heldMax, process.memoryUsage().arrayBuffers - before);
  }
  expect(byteCount).toBe(plain.length + 128 * 1024 * 1024);
  expect(lookCount).toBeGreaterThan(8);
  expect(heldMax).toBeLessThan(96 * 1024 * 1024);
});
