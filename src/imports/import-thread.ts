import { parentPort } from "node:worker_threads";
import { type ErrorCode, type ErrorDetails, StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { chunksOf } from "../importers/files.ts";
import type { EarlierIds } from "../importers/importer.ts";
import { parsedOf } from "../importers/message-event.ts";
import { openImport } from "../importers/registry.ts";
import type { KnownPart } from "../session/moving/intake.ts";
import { type PostedMessage, posted, prepareApart } from "../session/prepared.ts";
import { type FileToRead, type KnownMessages, PartChanged, PartReading } from "./known-part.ts";
import { type RedactedEvent, Redactor, type Replaced } from "./redaction/redact.ts";

/** A file to read. The thread opens it, because a message between threads cannot hold the iterable `chunks`. */
export interface ReadRequest {
  file: Omit<FileToRead, "chunks" | "signal">;
  format: string;
  keepSecrets: boolean;
}

export type ThreadEvent =
  | Exclude<RedactedEvent, { kind: "message" }>
  | KnownMessages
  | ({ kind: "prepared"; session: string; prepared: PostedMessage; line: number; replaced?: Replaced } & EarlierIds);

/** An answer of the thread. `end`, `changed` and `failed` come last. */
export type ReadReply =
  | { kind: "opened"; format: string | undefined }
  | { kind: "events"; events: ThreadEvent[] }
  | { kind: "end"; fingerprints: FileToRead["fingerprints"]; part: KnownPart | undefined }
  | { kind: "changed" }
  | { kind: "failed"; code: ErrorCode; details: ErrorDetails[ErrorCode] };

/** The batches that are made while one is written. */
const BATCHES_AHEAD = 4;

/** A batch with this many characters is full, even if it has few messages. */
const BATCH_CHARS_MAX = 256 * 1024;

// The reading thread of an import. It turns files into events, and messages into rows for the store. The main thread may give it
// the next files ahead. It posts a batch only when the main thread has asked for one.

const requests: ReadRequest[] = [];
let wantedCount = BATCHES_AHEAD;
let wake = (): void => {};
parentPort!.on("message", (request: ReadRequest | "more") => {
  if (request === "more") wantedCount += 1;
  else requests.push(request);
  wake();
});
const news = (): Promise<void> =>
  new Promise((resolve) => {
    wake = resolve;
  });

for (;;) {
  const request = requests.shift();
  if (request === undefined) await news();
  else await read(request);
}

async function read({ file, format, keepSecrets }: ReadRequest): Promise<void> {
  try {
    const part = new PartReading(file.known);
    const opened = await openImport({ ...file, chunks: chunksOf(file.path) }, format, undefined, (chunks) =>
      part.through(chunks),
    );
    post({ kind: "opened", format: opened.format });
    const redactor = new Redactor({ keepSecrets });
    const postBatch = async (): Promise<void> => {
      while (wantedCount === 0) await news();
      wantedCount -= 1;
      post({ kind: "events", events });
    };
    let events: ThreadEvent[] = [];
    let chars = 0;
    for await (const event of part.withKnown(opened.events)) {
      const prepared = event.kind === "known" ? event : prepare(redactor.event(event));
      events.push(prepared);
      if (prepared.kind === "prepared") chars += prepared.prepared.partsJson.length;
      if (events.length < BATCH_MESSAGES_MAX && chars < BATCH_CHARS_MAX) continue;
      await postBatch();
      events = [];
      chars = 0;
    }
    if (events.length > 0) await postBatch();
    post({ kind: "end", fingerprints: file.fingerprints, part: part.part });
  } catch (error) {
    if (error instanceof PartChanged) return post({ kind: "changed" });
    if (!StoreError.is(error)) throw error; // ends the thread
    post({ kind: "failed", code: error.code, details: error.details });
  }
}

function prepare(event: RedactedEvent): ThreadEvent {
  if (event.kind !== "message") return event;
  const { message, ...others } = event;
  return { ...others, kind: "prepared", prepared: posted(prepareApart(parsedOf(message))) };
}

function post(reply: ReadReply): void {
  parentPort!.postMessage(reply);
}
