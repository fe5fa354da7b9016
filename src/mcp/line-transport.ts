import type { Readable, Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import type { LiveStore } from "./live-store.ts";
import { drained, type Turns } from "./turns.ts";

/** The most bytes of one protocol message: far more than any long paste. */
export const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;

const LINE_FEED = 10;

/** Calls wait for a client that takes no answers. What is answered at once makes the server read no further when so many bytes wait. */
const ANSWER_BYTES_MAX = 1024 * 1024;

/**
 * After so many messages of a chunk, the process looks whether the client has left. Each turn, one call runs. So a cancellation overtakes
 * calls that wait.
 */
const MESSAGES_AT_ONCE = 20;

/** A client that has closed its end gets answers until none has come for so many milliseconds. Clients kill a server after two seconds. */
const GRACE_MS = 1_000;

/**
 * Carries protocol messages over a pair of streams, one on each line. Unlike the SDK's own transport, it answers what was asked
 * before the input ended, a request that is not valid, and a message that is too long.
 */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  /** Resolves when the transport is closed, even if the client has not sent anything. */
  readonly closed: Promise<void>;
  #onClosed!: () => void;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #turns: Turns;
  readonly #live: LiveStore;
  /** The line so far. Of one that is too long, nothing is kept. */
  #pieces: Buffer[] = [];
  #byteLength = 0;
  #isClosed = false;
  #givingUp: NodeJS.Timeout | undefined;

  constructor(input: Readable, output: Writable, turns: Turns, live: LiveStore) {
    this.closed = new Promise((resolve) => {
      this.#onClosed = resolve;
    });
    this.#input = input;
    this.#output = output;
    this.#turns = turns;
    this.#live = live;
  }

  async start(): Promise<void> {
    this.#output.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && !this.#isClosed) this.onerror?.(error);
      void this.close(); // nobody reads any more
    });
    void this.#read();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    // The SDK answers parameters that its schemas refuse with an internal error, whose message is zod's list of issues.
    if (
      "error" in message &&
      message.error.code === ProtocolErrorCode.InternalError &&
      /^\[\s/.test(message.error.message)
    )
      message.error.code = ProtocolErrorCode.InvalidParams;
    this.#givingUp?.refresh();
    if (!this.#isClosed) this.#output.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#turns.end();
    this.onclose?.();
    this.#onClosed();
  }

  /** Delivers messages until the input ends. */
  async #read(): Promise<void> {
    try {
      for await (const chunk of this.#input) {
        let count = 0;
        for (const line of this.#linesOf(chunk)) {
          this.#take(line);
          if (++count % MESSAGES_AT_ONCE > 0) continue;
          await nextTurn();
          if (this.#isClosed) return;
        }
        if (this.#output.writableLength > ANSWER_BYTES_MAX) await drained(this.#output);
      }
      // The last line may end with the input.
      if (this.#byteLength > 0) for (const line of this.#linesOf(Buffer.of(LINE_FEED))) this.#take(line);
    } catch {
      // An input that fails has ended.
    }
    await this.#end();
  }

  /** Yields the lines that end in a chunk; undefined for one that is too long. */
  *#linesOf(chunk: Buffer): Generator<string | undefined> {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.#hold(chunk.subarray(start, end + 1));
      const line = this.#byteLength <= MESSAGE_BYTES_MAX ? Buffer.concat(this.#pieces).toString() : undefined;
      this.#pieces = [];
      this.#byteLength = 0;
      start = end + 1;
      yield line;
    }
    this.#hold(chunk.subarray(start));
  }

  #hold(piece: Buffer): void {
    this.#byteLength += piece.length;
    if (this.#byteLength <= MESSAGE_BYTES_MAX) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  /** @param line  Undefined if it is too long. */
  #take(line: string | undefined): void {
    if (line === undefined) this.#refuse(null, `A message has at most ${MESSAGE_BYTES_MAX} bytes.`);
    else this.#deliver(line);
  }

  /** Answers a line that would be a request if all of it were right, so that nobody waits for it. Others are ignored. */
  #deliver(line: string): void {
    let asked: unknown;
    let message: JSONRPCMessage;
    try {
      asked = JSON.parse(line);
      message = parseJSONRPCMessage(asked);
    } catch {
      if (typeof asked !== "object" || asked === null || !("method" in asked) || !("id" in asked)) return;
      const { id } = asked;
      if (typeof id !== "string" && !Number.isSafeInteger(id)) return;
      this.#refuse(id as string | number, "Expected a request of JSON-RPC 2.0.");
      return;
    }
    this.onmessage?.(message);
  }

  #refuse(id: string | number | null, message: string): void {
    const error = { code: ProtocolErrorCode.InvalidRequest, message };
    void this.send({ jsonrpc: "2.0", id, error } as JSONRPCMessage); // the SDK's type has no null
  }

  /** Closes the transport when the calls are done, or nobody waits for them any more. */
  async #end(): Promise<void> {
    await nextTurn(); // the last calls begin
    // Loading takes a while. Calls that were piped into the server are answered nevertheless.
    await this.#live.loaded();
    this.#givingUp = setTimeout(() => void this.close(), GRACE_MS).unref();
    await this.#turns.idle();
    await this.close();
  }
}
