import { PassThrough, type Readable, type Writable } from "node:stream";
import { onTestFinished } from "vitest";
import { type Embedder, type OpenOptions, openStore, type Store } from "../../src/index.ts";
import type { StoreAccess } from "../../src/mcp/live-store.ts";
import { serve } from "../../src/mcp/server.ts";

/** What stands in a line of the protocol. */
export interface Answer {
  id?: number | string | null;
  // biome-ignore lint/suspicious/noExplicitAny: what it is, is what the tests look at.
  result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  error?: { code: number; message: string; data?: any };
}

/** A client of nobody's making: lines in, lines out, and nothing that is right by itself. */
export class RawClient {
  readonly #input: Writable;
  readonly #waiting = new Map<number | string | null, (answer: Answer) => void>();
  /** What came that is not JSON: a server may write none of it. */
  readonly strays: string[] = [];
  #lastId = 0;

  constructor(input: Writable, output: Readable) {
    this.#input = input;
    let rest = "";
    output.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.#take(line);
    });
  }

  /** Bytes as they are. */
  send(bytes: string | Buffer): void {
    this.#input.write(bytes);
  }

  end(): void {
    this.#input.end();
  }

  /** Say hello, as every client does first. */
  async initialize(protocolVersion = "2025-11-25"): Promise<Answer> {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    const answer = await this.request("initialize", params);
    this.notify("notifications/initialized");
    return answer;
  }

  notify(method: string, params: object = {}): void {
    this.send(`${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`);
  }

  request(method: string, params: object = {}): Promise<Answer> {
    this.#lastId += 1;
    return this.requestAs(this.#lastId, method, params);
  }

  answerTo(id: number | string | null): Promise<Answer> {
    return new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
  }

  requestAs(id: number | string, method: string, params: object = {}): Promise<Answer> {
    const answered = this.answerTo(id);
    this.send(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return answered;
  }

  // biome-ignore lint/suspicious/noExplicitAny: what it is, is what the tests look at.
  async call(name: string, args: object = {}): Promise<any> {
    const { result, error } = await this.request("tools/call", { name, arguments: args });
    if (error !== undefined) throw new Error(`${name}: ${error.message}`);
    return result;
  }

  #take(line: string): void {
    let answer: Answer;
    try {
      answer = JSON.parse(line);
    } catch {
      this.strays.push(line);
      return;
    }
    if (answer.id === undefined || ("method" in answer && answer.result === undefined)) return;
    this.#waiting.get(answer.id)?.(answer);
    this.#waiting.delete(answer.id);
  }
}

export interface ServedOptions {
  project?: string;
  allowAppend?: boolean;
  /** How long its writes wait for those of others, in milliseconds. */
  busyTimeoutMs?: number;
  embedder?: Embedder;
}

/** A server within this process, over the store at a path, and somebody who talks to it. Ends with the test. */
export async function served(path: string, options: ServedOptions = {}): Promise<RawClient> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const client = new RawClient(input, output);
  const { project, allowAppend = false, ...storeOptions } = options;
  const ended = serve({
    loadAccess: async () => accessTo(path, { busyTimeoutMs: 5_000, ...storeOptions }),
    project,
    allowAppend,
    redact: async (text) => text.replaceAll("hunter2", "[secret]"),
    input,
    output,
  });
  onTestFinished(async () => {
    client.end();
    await ended;
  });
  await client.initialize();
  return client;
}

/** As the command line opens a store, but for its embedders and hints. */
export function accessTo(path: string, options: OpenOptions = {}): StoreAccess {
  const opened: Store[] = [];
  const open = (readonly: boolean): Store => {
    const store = openStore(path, { ...options, readonly });
    opened.push(store);
    return store;
  };
  return {
    openToRead: () => open(true),
    openToWrite: () => open(false),
    close: () => {
      for (const store of opened.splice(0)) store.close();
    },
  };
}
