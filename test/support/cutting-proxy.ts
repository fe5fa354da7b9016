import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Where a connection breaks: before a statement reaches the server, or after the server has run it and before its answer. */
export interface Cut {
  side: "before" | "after";
  /** The number of the statement since the cut was set, from 1. */
  statement: number;
}

/** Passes connections on to a Postgres server, and breaks one where it is told to. */
export class CuttingProxy {
  readonly #server = createServer((client) => this.#pass(client));
  readonly #sockets = new Set<Socket>();
  readonly #target: URL;
  #cut: Cut | undefined;
  #statementCount = 0;

  constructor(url: string) {
    this.#target = new URL(url);
  }

  /** Returns the URL of the same database by way of the proxy. */
  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** Counts statements from now on, and breaks a connection once. */
  cutAt(cut: Cut | undefined): void {
    this.#statementCount = 0;
    this.#cut = cut;
  }

  get statementCount(): number {
    return this.#statementCount;
  }

  /** True until the connection has been cut. */
  get isArmed(): boolean {
    return this.#cut !== undefined;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #pass(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    const breakOff = (): void => {
      this.#cut = undefined;
      client.destroy();
      server.destroy();
    };
    let isHolding = false; // the answer of the server must not arrive
    const sent = new Framer(true);
    client.on("data", (chunk) => {
      for (const { type, bytes } of sent.push(chunk)) {
        // A simple query, or the end of an extended one.
        const isStatement = type === "Q" || type === "S";
        if (isStatement) this.#statementCount += 1;
        const isCut = isStatement && this.#cut?.statement === this.#statementCount;
        if (isCut && this.#cut!.side === "before") return breakOff();
        if (isCut) isHolding = true;
        server.write(bytes);
      }
    });
    const answered = new Framer(false);
    server.on("data", (chunk) => {
      const frames = answered.push(chunk);
      if (!isHolding) client.write(chunk);
      else if (frames.some(({ type }) => type === "Z")) breakOff();
    });
  }
}

/** Divides a stream of the protocol into messages: a type and a length, but the client's first has no type. */
export class Framer {
  #rest = Buffer.alloc(0);
  #isFirst: boolean;

  constructor(isClient: boolean) {
    this.#isFirst = isClient;
  }

  push(chunk: Buffer): { type: string; bytes: Buffer }[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const frames: { type: string; bytes: Buffer }[] = [];
    for (;;) {
      const head = this.#isFirst ? 0 : 1;
      if (this.#rest.length < head + 4) return frames;
      const length = head + this.#rest.readUInt32BE(head);
      if (this.#rest.length < length) return frames;
      const type = this.#isFirst ? "" : String.fromCharCode(this.#rest[0]!);
      frames.push({ type, bytes: this.#rest.subarray(0, length) });
      this.#rest = this.#rest.subarray(length);
      this.#isFirst = false;
    }
  }
}
