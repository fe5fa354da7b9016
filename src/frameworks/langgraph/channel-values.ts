import type { Store } from "../../session/store.ts";
import { applyDifference, type Difference, differenceOf } from "./difference.ts";
import { sessionIdOf } from "./thread.ts";

export interface Channel {
  threadId: string;
  ns: string;
  channel: string;
}

export interface SerializedBytes {
  type: string;
  bytes: Uint8Array;
}

/** The first line of a stored value. After it come the bytes: all of the value, or what is inserted into the base's. */
interface Header {
  type: string;
  /** How many versions came before, since one was stored as a whole. */
  depth: number;
  base?: { ref: string } & Difference;
}

interface StoredValue {
  header: Header;
  bytes: Uint8Array;
}

interface Version extends SerializedBytes {
  ref: string;
  depth: number;
}

/** Every version is a difference to the one before, every 32nd to the one 32 before, and every 1,024th to that 1,024 before. */
const STRIDE = 32;

/** A difference has a longer first line. */
const HEADER_BYTES = 120;

const LINE_FEED = 0x0a;

const CACHED_BYTES_MAX = 32 * 1024 * 1024;

/**
 * The values of channels. Most versions differ little from the one before: a list of messages gets a few more. A value is
 * stored as its difference to an older version, so that a thread takes about as much room as its messages, and at most 31
 * differences for each power of 32 are put together to read it.
 */
export class ChannelValues {
  readonly #store: Store;
  /** The newest version of each channel that was read or written. */
  readonly #newest = new Map<string, Version>();
  #cachedBytes = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Stores a version.
   *
   * @param olderRef  The version that it follows, if there is one.
   * @returns the difference to that version, and its bytes.
   */
  put(
    channel: Channel,
    ref: string,
    { type, bytes }: SerializedBytes,
    olderRef: string | undefined,
  ): Difference & { older?: Uint8Array } {
    const older = olderRef === undefined ? undefined : this.#version(channel, olderRef);
    const depth = older === undefined ? 0 : older.depth + 1;
    const base = older && this.#ancestor(channel, older, depth - strideAt(depth));
    const difference = base && differenceOf(base.bytes, bytes);
    const length = difference === undefined ? 0 : bytes.length - difference.start - difference.end;
    const isWorthwhile = base?.type === type && length + HEADER_BYTES < bytes.length;
    const header: Header = isWorthwhile ? { type, depth, base: { ref: base.ref, ...difference! } } : { type, depth: 0 };
    const stored = isWorthwhile ? bytes.subarray(difference!.start, bytes.length - difference!.end) : bytes;
    const value = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), stored]);
    this.#store.items.put(namespaceOf(channel), keyOf(channel, ref), value, { session: sessionIdOf(channel.threadId) });
    this.#remember(channel, { ref, type, bytes, depth: header.depth });
    if (older === undefined) return { start: 0, end: 0 };
    return { ...(older === base ? difference! : differenceOf(older.bytes, bytes)), older: older.bytes };
  }

  get(channel: Channel, ref: string): SerializedBytes | undefined {
    const version = this.#version(channel, ref);
    if (version === undefined) return undefined;
    this.#remember(channel, version);
    return { type: version.type, bytes: new Uint8Array(version.bytes) }; // `slice` of a Buffer is no copy
  }

  /** Puts a version together. @returns undefined if it was deleted. */
  #version(channel: Channel, ref: string): Version | undefined {
    const newest = this.#newest.get(cacheKeyOf(channel));
    const differences: StoredValue[] = [];
    let from: Version | undefined;
    for (let next = ref; from === undefined; ) {
      if (newest?.ref === next) from = newest;
      else {
        const stored = this.#stored(channel, next);
        if (stored === undefined) return undefined;
        const { header, bytes } = stored;
        if (header.base === undefined) from = { ref: next, type: header.type, bytes, depth: header.depth };
        else {
          differences.push(stored);
          next = header.base.ref;
        }
      }
    }
    let { type, bytes, depth } = from;
    for (const { header, bytes: inserted } of differences.reverse()) {
      bytes = applyDifference(bytes, header.base!, inserted);
      ({ type, depth } = header);
    }
    return { ref, type, bytes, depth };
  }

  /** Returns the version at this depth on the way from `version` to the one that is stored as a whole. */
  #ancestor(channel: Channel, version: Version, depth: number): Version | undefined {
    let { ref } = version;
    for (let at = version.depth; at > depth; ) {
      const base = this.#stored(channel, ref)?.header.base;
      if (base === undefined) return undefined;
      ref = base.ref;
      at -= strideAt(at);
    }
    return ref === version.ref ? version : this.#version(channel, ref);
  }

  #stored(channel: Channel, ref: string): StoredValue | undefined {
    const value = this.#store.items.get(namespaceOf(channel), keyOf(channel, ref))?.value;
    if (!(value instanceof Uint8Array)) return undefined;
    const lineEnd = value.indexOf(LINE_FEED);
    const header = JSON.parse(Buffer.from(value.subarray(0, lineEnd)).toString()) as Header;
    return { header, bytes: value.subarray(lineEnd + 1) };
  }

  #remember(channel: Channel, version: Version): void {
    const key = cacheKeyOf(channel);
    this.#cachedBytes += version.bytes.length - (this.#newest.get(key)?.bytes.length ?? 0);
    this.#newest.delete(key);
    this.#newest.set(key, version);
    for (const [oldest, { bytes }] of this.#newest) {
      if (this.#cachedBytes <= CACHED_BYTES_MAX) break;
      this.#newest.delete(oldest);
      this.#cachedBytes -= bytes.length;
    }
  }
}

/** The largest power of the stride that divides the depth. */
function strideAt(depth: number): number {
  let stride = 1;
  while (depth > 0 && depth % (stride * STRIDE) === 0) stride *= STRIDE;
  return stride;
}

function namespaceOf({ threadId, ns }: Channel): string[] {
  return ["langgraph", "values", threadId, ns];
}

function keyOf({ channel }: Channel, ref: string): string {
  return JSON.stringify([channel, ref]);
}

function cacheKeyOf({ threadId, ns, channel }: Channel): string {
  return JSON.stringify([threadId, ns, channel]);
}
