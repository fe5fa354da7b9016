import { Decompress, type ZstdError } from "fzstd";
import { StoreError } from "../core/errors.ts";
import { peek } from "./head.ts";
import type { ImportFile } from "./importer.ts";

/** How a file begins that Codex has put away. */
const MARK = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Unpacked at once: a block of 128 KiB may come out of twenty bytes. */
const PIECE_BYTES = 1_024;

/**
 * The file as it was before it was compressed with zstd; any other as it is. Memory is that of the window and a few blocks,
 * whatever comes out of them.
 *
 * Where it is cut off, or so damaged that it cannot be unpacked, its chunks end with `IMPORT_UNREADABLE`, behind what could
 * be. Checksums are not compared.
 */
export async function unpacked(file: ImportFile): Promise<ImportFile> {
  const { head, chunks } = await peek(file.chunks, MARK.length);
  if (!head.equals(MARK)) return { ...file, chunks };
  return { ...file, chunks: unpack(file.path, chunks) };
}

async function* unpack(path: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let ready: Buffer[] = [];
  // What it gives is overwritten later.
  const stream = new Decompress((data) => void (data.length > 0 && ready.push(Buffer.from(data))));
  function* push(bytes: Uint8Array, isLast: boolean): Generator<Uint8Array> {
    let failure: unknown;
    try {
      stream.push(bytes, isLast);
    } catch (error) {
      failure = error;
    }
    yield* ready;
    ready = [];
    if (failure === undefined) return;
    const reason = `it is compressed, and damaged: ${(failure as ZstdError).message}`;
    throw new StoreError("IMPORT_UNREADABLE", { path, reason }, { cause: failure });
  }
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      yield* push(chunk.subarray(start, start + PIECE_BYTES), false);
    }
  }
  yield* push(new Uint8Array(0), true);
}
