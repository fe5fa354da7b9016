import { PAUSE, QUIET } from "./importer.ts";

export function isPause(chunk: Uint8Array): boolean {
  return chunk === PAUSE || chunk === QUIET;
}

interface Peeked {
  /** `byteCount` bytes, or fewer if the stream ends or pauses before. */
  head: Buffer;
  chunks: AsyncIterable<Uint8Array>;
  /** Closes the source. Call it instead of reading `chunks`. */
  close(): Promise<void>;
}

/** Reads the first bytes of a stream without using them up. If the stream fails after its first chunk, `chunks` ends with the error. */
export async function peek(source: AsyncIterable<Uint8Array>, byteCount: number): Promise<Peeked> {
  const iterator = source[Symbol.asyncIterator]();
  const close = async () => void (await iterator.return?.());
  const taken: Uint8Array[] = [];
  let takenLength = 0;
  let failure: { error: unknown } | undefined;
  while (takenLength < byteCount) {
    const { value, done } = await iterator.next().catch((error) => {
      if (taken.length === 0) throw error;
      failure = { error };
      return { value: undefined, done: true as const };
    });
    if (done) break;
    taken.push(value);
    takenLength += value.length;
    if (isPause(value)) break;
  }

  async function* replay(): AsyncGenerator<Uint8Array> {
    try {
      // `shift` releases the memory of each chunk that was read.
      for (let first = taken.shift(); first !== undefined; first = taken.shift()) yield first;
      if (failure !== undefined) throw failure.error;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await close();
    }
  }
  return { head: Buffer.concat(taken, Math.min(takenLength, byteCount)), chunks: replay(), close };
}

const DATABASE_MARK = Buffer.from("SQLite format 3\u0000");

export function isDatabase(head: Buffer): boolean {
  return head.subarray(0, DATABASE_MARK.length).equals(DATABASE_MARK);
}

/** The head that was looked at last, and what was made of it. Each importer asks for the same. */
let latest = "";
const made = new Map<(head: string) => unknown, unknown>();

export function madeOfHead<T>(head: string, make: (head: string) => T): T {
  if (head !== latest) {
    dropHead();
    latest = head;
  }
  if (made.has(make)) return made.get(make) as T;
  const value = make(head);
  if (head === latest) made.set(make, value);
  return value;
}

export function dropHead(): void {
  latest = "";
  made.clear();
}
