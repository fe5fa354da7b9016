import { on } from "node:events";
import { parentPort } from "node:worker_threads";
import { type ErrorCode, type ErrorDetails, StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { chunksOf } from "../importers/files.ts";
import type { ImportFile } from "../importers/importer.ts";
import { openImport } from "../importers/registry.ts";
import { type PostedMessage, posted, prepareApart } from "../session/prepared.ts";
import { type RedactedEvent, Redactor, type Replaced } from "./redaction/redact.ts";

/** A file to read. The thread opens it, because a message between threads cannot hold the iterable `chunks`. */
export interface ReadRequest {
  file: Omit<ImportFile, "chunks" | "signal">;
  format: string;
  keepSecrets: boolean;
}

export type ThreadEvent =
  | Exclude<RedactedEvent, { kind: "message" }>
  | { kind: "prepared"; session: string; prepared: PostedMessage; line: number; replaced?: Replaced };

/** An answer of the thread. `end` and `failed` come last. */
export type ReadReply =
  | { kind: "opened"; format: string | undefined }
  | { kind: "events"; events: ThreadEvent[] }
  | { kind: "end"; fingerprints: ImportFile["fingerprints"] }
  | { kind: "failed"; code: ErrorCode; details: ErrorDetails[ErrorCode] };

/** One batch is written while the next is made. */
const BATCHES_AHEAD = 2;

/** A batch with this many characters is full, even if it has few messages. */
const BATCH_CHARS_MAX = 256 * 1024;

// The reading thread of an import. It turns files into events, and messages into rows for the store. It posts a batch only when
// the main thread has asked for the next.

const requests = on(parentPort!, "message") as AsyncIterableIterator<[ReadRequest | "more"]>;
for await (const [request] of requests) {
  if (request !== "more") await read(request); // a "more" may arrive after the file has ended
}

async function read({ file, format, keepSecrets }: ReadRequest): Promise<void> {
  try {
    const opened = await openImport({ ...file, chunks: chunksOf(file.path) }, format);
    post({ kind: "opened", format: opened.format });
    const redactor = new Redactor({ keepSecrets });
    let wantedCount = BATCHES_AHEAD;
    const postBatch = async (): Promise<void> => {
      if (wantedCount === 0)
        await requests.next(); // can only be "more"
      else wantedCount -= 1;
      post({ kind: "events", events });
    };
    let events: ThreadEvent[] = [];
    let chars = 0;
    for await (const event of opened.events) {
      const prepared = prepare(redactor.event(event));
      events.push(prepared);
      if (prepared.kind === "prepared") chars += prepared.prepared.partsJson.length;
      if (events.length < BATCH_MESSAGES_MAX && chars < BATCH_CHARS_MAX) continue;
      await postBatch();
      events = [];
      chars = 0;
    }
    if (events.length > 0) await postBatch();
    post({ kind: "end", fingerprints: file.fingerprints });
  } catch (error) {
    if (!StoreError.is(error)) throw error; // ends the thread
    post({ kind: "failed", code: error.code, details: error.details });
  }
}

function prepare(event: RedactedEvent): ThreadEvent {
  if (event.kind !== "message") return event;
  const { session, message, line, replaced } = event;
  const prepared = posted(prepareApart(message));
  return { kind: "prepared", session, prepared, line, ...(replaced !== undefined && { replaced }) };
}

function post(reply: ReadReply): void {
  parentPort!.postMessage(reply);
}
