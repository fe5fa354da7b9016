import { createHash } from "node:crypto";
import { OPENING_MESSAGES, OPENING_ROLES } from "../core/remembered.ts";
import { textOf } from "../core/text.ts";
import { isPause } from "../importers/head.ts";
import type { EarlierIds, ImportFile, ReadableEvent } from "../importers/importer.ts";
import { parsedOf } from "../importers/message-event.ts";
import type { KnownPart } from "../session/moving/intake.ts";

export type FileToRead = ImportFile & { known?: KnownPart | undefined };

/** Messages of one session that an earlier import has read, one after the other in the file. */
export interface KnownMessages {
  kind: "known";
  session: string;
  /** The folder of the first one that tells its folder. No other tells another one. */
  folder: string | undefined;
  messages: KnownMessage[];
}

export interface KnownMessage {
  id: string;
  earlierIds: EarlierIds["earlierIds"] | undefined;
}

/** The file does not begin with the part that an earlier import has read. It must be read whole. */
export class PartChanged extends Error {}

/**
 * Compares a file, while it is read, with the part of it that an earlier import has read. Equal bytes give equal events. So the messages
 * that the importer makes of this part are the same, and only their ids are needed again.
 *
 * It counts the messages that the importer yields before it comes to the end of the part. It leaves out those that it yields because the
 * part ends there, or because the file pauses: they may come again with more content.
 */
export class PartReading {
  readonly #known: KnownPart | undefined;
  readonly #bytes = createHash("sha256");
  readonly #names = createHash("sha256");
  #byteLength = 0;
  #messageCount = 0;
  #isInKnown: boolean;
  #isPausing = false;
  #isEnded = false;
  /** How many messages of each session tell how it begins. These are read again, because they tell if it is a copy of another one. */
  readonly #openings = new Map<string, number>();

  constructor(known: KnownPart | undefined) {
    this.#known = known;
    this.#isInKnown = known !== undefined;
  }

  /** What was read so far. Undefined if there is nothing in it that a later import could pass over. */
  get part(): KnownPart | undefined {
    if (this.#messageCount === 0) return undefined;
    return {
      byteLength: this.#byteLength,
      digest: this.#bytes.copy().digest("base64"),
      messageCount: this.#messageCount,
      names: this.#names.copy().digest("base64"),
    };
  }

  /** Passes the bytes of the file on. @throws {PartChanged} at the end of the known part. */
  async *through(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#isPausing = isPause(chunk);
      if (this.#isPausing) {
        // A file that is shorter now has other messages.
        if (this.#isInKnown) throw new PartChanged();
        yield chunk;
        continue;
      }
      const knownBytes = this.#isInKnown ? chunk.subarray(0, this.#known!.byteLength - this.#byteLength) : chunk;
      yield* this.#seen(knownBytes);
      if (this.#isInKnown && this.#byteLength === this.#known!.byteLength) this.#endKnown();
      yield* this.#seen(chunk.subarray(knownBytes.length));
    }
    if (this.#isInKnown) throw new PartChanged();
    this.#isEnded = true;
  }

  *#seen(bytes: Uint8Array): Generator<Uint8Array> {
    if (bytes.length === 0) return;
    this.#bytes.update(bytes);
    this.#byteLength += bytes.length;
    yield bytes;
  }

  #endKnown(): void {
    const { digest, messageCount, names } = this.part ?? {};
    const known = this.#known!;
    if (digest !== known.digest || messageCount !== known.messageCount || names !== known.names)
      throw new PartChanged();
    this.#isInKnown = false;
  }

  /** Yields the events of the file, with one event for known messages that follow each other. */
  async *withKnown(events: AsyncIterable<ReadableEvent>): AsyncGenerator<ReadableEvent | KnownMessages> {
    let known: KnownMessages | undefined;
    for await (const event of events) {
      if (event.kind === "message" && this.#isKnown(event)) {
        const { session, earlierIds } = event;
        const folder = folderOf(event);
        if (known?.session !== session || (folder !== undefined && folder !== known.folder)) {
          if (known !== undefined) yield known;
          known = { kind: "known", session, folder, messages: [] };
        }
        known.messages.push({ id: event.message.id, earlierIds });
        continue;
      }
      if (known !== undefined) yield known;
      known = undefined;
      yield event;
    }
    if (known !== undefined) yield known;
  }

  #isKnown({ session, message, line }: Extract<ReadableEvent, { kind: "message" }>): boolean {
    if (this.#isPausing || this.#isEnded) return false;
    this.#messageCount += 1;
    this.#names.update(`${line} ${JSON.stringify([session, message.id])}`);
    if (!this.#isInKnown) return false;
    const count = this.#openings.get(session) ?? 0;
    if (count >= OPENING_MESSAGES) return true;
    const isOpening = OPENING_ROLES.includes(message.role) && textOf(parsedOf(message).parts) !== "";
    if (isOpening) this.#openings.set(session, count + 1);
    return false;
  }
}

/** Returns the folder in which a message was said, if it tells it. A result belongs to where its call does. */
export function folderOf({
  message,
}: Pick<Extract<ReadableEvent, { kind: "message" }>, "message">): string | undefined {
  const cwd = message.role === "tool" ? undefined : message.metadata?.cwd;
  return typeof cwd === "string" ? cwd : undefined;
}
