import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { Framer } from "./cutting-proxy.ts";

/** A connection to the server. What it said after its login is what each client is told. */
interface Backend {
  socket: Socket;
  greeting: Buffer;
  /** Who is in a transaction on it. */
  client: Socket | undefined;
}

/**
 * Listens until the test is over, and lends its few connections to a server as PgBouncer does with `pool_mode = transaction`: a client has
 * one until its transaction ends, and the next transaction gets the one that has been free for longest.
 *
 * @param url  Of a role that needs no password.
 * @returns the URL of the same role by way of the pooler.
 */
export async function transactionPooler(url: string, connectionCount: number): Promise<string> {
  const target = new URL(url);
  const user = `user\0${target.username}\0database\0${target.pathname.slice(1)}\0\0`;
  const backends = await Promise.all(Array.from({ length: connectionCount }, () => loggedIn(target, user)));
  const free = [...backends];
  /** What clients sent that wait for a connection. */
  const waiting = new Map<Socket, Buffer[]>();

  const lend = (): void => {
    for (const [client, sent] of waiting) {
      const backend = free.shift();
      if (backend === undefined) return;
      waiting.delete(client);
      backend.client = client;
      for (const bytes of sent) backend.socket.write(bytes);
    }
  };
  for (const backend of backends) {
    const answered = new Framer(false);
    backend.socket.on("data", (chunk) => {
      for (const { type, bytes } of answered.push(chunk)) {
        backend.client?.write(bytes);
        if (type !== "Z" || bytes.at(-1) !== "I".charCodeAt(0)) continue;
        backend.client = undefined;
        free.push(backend);
      }
      lend();
    });
  }

  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    const sent = new Framer(true);
    client.on("error", () => {});
    client.on("data", (chunk) => {
      for (const { type, bytes } of sent.push(chunk)) {
        const held = backends.find((one) => one.client === client);
        if (type === "") client.write(backends[0]!.greeting);
        else if (type === "X") client.end();
        else if (held !== undefined) held.socket.write(bytes);
        else waiting.set(client, [...(waiting.get(client) ?? []), bytes]);
      }
      lend();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of [...clients, ...backends.map((one) => one.socket)]) socket.destroy();
    server.close();
  });
  target.port = String((server.address() as AddressInfo).port);
  return target.href;
}

async function loggedIn(target: URL, user: string): Promise<Backend> {
  const socket = connect(Number(target.port), target.hostname);
  const startup = Buffer.alloc(8 + user.length);
  startup.writeUInt32BE(startup.length, 0);
  startup.writeUInt32BE(3 << 16, 4); // the version of the protocol
  startup.write(user, 8);
  socket.write(startup);
  const answered = new Framer(false);
  const frames: Buffer[] = [];
  for (let isReady = false; !isReady; ) {
    const [chunk] = (await once(socket, "data")) as [Buffer];
    for (const { type, bytes } of answered.push(chunk)) {
      frames.push(bytes);
      isReady ||= type === "Z";
    }
  }
  return { socket, greeting: Buffer.concat(frames), client: undefined };
}
