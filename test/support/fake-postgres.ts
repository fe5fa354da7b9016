import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** How a server asks for a password: the number of the protocol. */
const METHODS = { clear: 3, md5: 5 } as const;

const SSL_REQUEST = 80_877_103;

/** Stands where a hub is expected, asks whoever comes for the password, and keeps all that they send. */
export class FakePostgres {
  readonly #server: Server;
  #received = "";
  #wasAsked = false;

  /** @param tls  Without it, the server does not encrypt. */
  constructor(method: keyof typeof METHODS, tls?: { cert: string; key: string }) {
    this.#server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (first) => {
        if (first.length < 8 || first.readInt32BE(4) !== SSL_REQUEST) return this.#ask(socket, method, first);
        socket.write(tls ? "S" : "N");
        const stream = tls ? new TLSSocket(socket, { isServer: true, ...tls }) : socket;
        stream.on("error", () => {});
        stream.once("data", (startup: Buffer) => this.#ask(stream, method, startup));
      });
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, "0.0.0.0");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  /** What was sent after the connection was encrypted, if it was. */
  get received(): string {
    return this.#received;
  }

  /** True once a client has begun a session and was asked for its password. */
  get hasAsked(): boolean {
    return this.#wasAsked;
  }

  async close(): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }

  #ask(stream: Socket, method: keyof typeof METHODS, startup: Buffer): void {
    this.#received += startup.toString("latin1");
    this.#wasAsked = true;
    stream.on("data", (chunk: Buffer) => {
      this.#received += chunk.toString("latin1");
      stream.destroy();
    });
    const salt = method === "md5" ? 4 : 0;
    const question = Buffer.alloc(9 + salt, 1);
    question.write("R");
    question.writeInt32BE(8 + salt, 1);
    question.writeInt32BE(METHODS[method], 5);
    stream.write(question);
  }
}
