import type { Readable, Writable } from "node:stream";
import {
  deserializeMessage,
  type JSONRPCMessage,
  ProtocolErrorCode,
  type Transport,
} from "@modelcontextprotocol/server";
import { LineSplitter } from "./line-splitter.ts";
import type { LiveStore } from "./live-store.ts";
import type { Turns } from "./turns.ts";

/** The most bytes of one protocol message: far more than any long paste. */
export const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;

/** Bytes of messages that are read ahead, so that the end of the input is noticed while calls wait. */
const AHEAD_BYTES_MAX = 1024 * 1024;

const CANCELLED = "notifications/cancelled";

/** Milliseconds in which a client that has closed its end still gets answers. Clients kill a server after two seconds. */
const GRACE_MS = 1_000;

/**
 * Carries protocol messages over a pair of streams, one on each line. Unlike the SDK's own transport, it takes no further messages
 * while too many wait for an answer, and it answers a message that is too long with an error.
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
  readonly #splitter = new LineSplitter(MESSAGE_BYTES_MAX);
  #lines: Buffer[] = [];
  /** Cancellations that came while lines waited, by the id of their request, which may be among these lines. */
  readonly #cancellations = new Map<unknown, JSONRPCMessage>();
  #aheadBytes = 0;
  #isEnded = false;
  #isClosed = false;
  #wake = (): void => {};
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
    this.#input.on("data", (chunk: Buffer) => this.#take(chunk));
    for (const event of ["end", "close", "error"]) this.#input.on(event, () => void this.#end());
    void this.#deliver();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    // The SDK answers parameters that its schemas refuse with an internal error, whose message is zod's list of issues.
    if (
      "error" in message &&
      message.error.code === ProtocolErrorCode.InternalError &&
      /^\[\s/.test(message.error.message)
    )
      message.error.code = ProtocolErrorCode.InvalidParams;
    if (!this.#isClosed) this.#output.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#givingUp);
    this.#lines = [];
    this.#turns.end();
    this.#wake();
    this.onclose?.();
    this.#onClosed();
  }

  #take(chunk: Buffer): void {
    for (const line of this.#splitter.linesOf(chunk)) {
      if (Buffer.isBuffer(line)) {
        if (this.#cancels(line)) continue;
        this.#lines.push(line);
        this.#aheadBytes += line.length;
      } else {
        const message = `A message has at most ${MESSAGE_BYTES_MAX} bytes.`;
        const error = { code: ProtocolErrorCode.InvalidRequest, message };
        void this.send({ jsonrpc: "2.0", id: line.id, error } as JSONRPCMessage); // the SDK's type has no null
      }
    }
    if (this.#aheadBytes > AHEAD_BYTES_MAX) this.#input.pause();
    this.#wake();
  }

  /** Delivers a cancellation at once, because its call may be among those that wait. @returns false for any other line. */
  #cancels(line: Buffer): boolean {
    const message = line.includes(CANCELLED) ? this.#parsed(line) : undefined;
    if (message === undefined || !("method" in message) || message.method !== CANCELLED) return false;
    if (this.#lines.length > 0) {
      this.#cancellations.set(message.params?.requestId, message);
      this.#aheadBytes += line.length;
    }
    this.onmessage?.(message);
    return true;
  }

  async #end(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#wake();
    // Loading takes a while. Calls that were piped into the server are answered nevertheless.
    await (this.#lines.length > 0 ? this.#live.load().catch(() => {}) : this.#live.loaded());
    if (!this.#isClosed) this.#givingUp = setTimeout(() => void this.close(), GRACE_MS);
  }

  /** Delivers messages until the input has ended and the calls are done, or nobody waits for them any more. */
  async #deliver(): Promise<void> {
    while (!this.#isClosed) {
      const line = this.#lines.shift();
      if (line === undefined) {
        if (this.#isEnded) break;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      const isLast = this.#lines.length === 0;
      this.#aheadBytes = isLast ? 0 : this.#aheadBytes - line.length;
      if (this.#aheadBytes <= AHEAD_BYTES_MAX && this.#input.isPaused()) this.#input.resume();
      const message = this.#parsed(line);
      if (message !== undefined) this.onmessage?.(message);
      else this.#refuse(line);
      const cancellation = message !== undefined && "id" in message && this.#cancellations.get(message.id);
      if (cancellation) this.onmessage?.(cancellation);
      if (isLast) this.#cancellations.clear();
      await this.#turns.room();
    }
    await this.#turns.idle();
    await this.close();
  }

  /** Returns undefined for a line that is no message. */
  #parsed(line: Buffer): JSONRPCMessage | undefined {
    try {
      return deserializeMessage(line.toString());
    } catch {
      return undefined;
    }
  }

  /** Answers a line that would be a request if all of it were right, so that nobody waits for it. Others are ignored. */
  #refuse(line: Buffer): void {
    let asked: unknown;
    try {
      asked = JSON.parse(line.toString());
    } catch {
      return;
    }
    if (typeof asked !== "object" || asked === null || !("method" in asked) || !("id" in asked)) return;
    const { id } = asked;
    if (typeof id !== "string" && !Number.isSafeInteger(id)) return;
    const error = { code: ProtocolErrorCode.InvalidRequest, message: "Expected a request of JSON-RPC 2.0." };
    void this.send({ jsonrpc: "2.0", id: id as string | number, error });
  }
}
