import { Decompress, type ZstdError } from "fzstd";
import { StoreError } from "../core/errors.ts";
import { Breather } from "./breather.ts";
import { peek } from "./head.ts";
import type { ImportFile } from "./importer.ts";
import { ZstdFrames } from "./zstd-frames.ts";

/** The magic number of zstd. Codex compresses the files that it archives. */
const MARK = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Compressed bytes per step, to bound the memory: 20 bytes can unpack to a block of 128 KiB. */
const PIECE_BYTES = 1_024;

/**
 * A file may unpack to this many bytes, or to this many times its compressed size if that is more. Transcripts unpack to at most 50
 * times their size.
 */
export const UNPACKED_BYTES_MAX = 16 * 1024 * 1024;
export const RATIO_MAX = 1_000;

/**
 * Returns the file with its bytes decompressed, or unchanged if it is not compressed with zstd.
 *
 * If the file is cut off or damaged, needs a large window, or unpacks to far more than a transcript does, its chunks end with `IMPORT_UNREADABLE` after
 * everything that can be decompressed. Checksums are not compared.
 */
export async function unpacked(file: ImportFile): Promise<ImportFile> {
  const { head, chunks } = await peek(file.chunks, MARK.length);
  if (!head.equals(MARK)) return { ...file, chunks };
  return { ...file, chunks: unpack({ ...file, chunks }) };
}

async function* unpack({ path, chunks, signal }: ImportFile): AsyncGenerator<Uint8Array> {
  const breather = new Breather(signal);
  let packedLength = 0;
  let unpackedLength = 0;
  let ready: Buffer[] = [];
  const frames = new ZstdFrames();
  // The data is copied, because fzstd reuses its buffer.
  const stream = new Decompress((data) => void (data.length > 0 && ready.push(Buffer.from(data))));
  function* push(bytes: Uint8Array, isLast: boolean): Generator<Uint8Array> {
    let reason: string | undefined;
    let cause: unknown;
    try {
      const fault = isLast ? frames.end() : frames.take(bytes);
      stream.push(bytes.subarray(0, fault?.at), isLast && fault === undefined);
      reason = fault?.reason;
    } catch (error) {
      cause = error;
      reason = `damaged: ${(error as ZstdError).message}`;
    }
    packedLength += bytes.length;
    for (const piece of ready) unpackedLength += piece.length;
    if (unpackedLength > Math.max(UNPACKED_BYTES_MAX, packedLength * RATIO_MAX)) {
      throw new StoreError("IMPORT_UNREADABLE", {
        path,
        reason: `it is compressed, and unpacks to more than ${RATIO_MAX} times its size`,
      });
    }
    yield* ready;
    ready = [];
    if (reason === undefined) return;
    throw new StoreError("IMPORT_UNREADABLE", { path, reason: `it is compressed, and ${reason}` }, { cause });
  }
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      yield* push(chunk.subarray(start, start + PIECE_BYTES), false);
      await breather.breathe();
    }
  }
  yield* push(new Uint8Array(0), true);
}
