import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface LoopbackServer {
  readonly url: string;
  /** Breaks what is under way. */
  close(): Promise<void>;
}

/** A server on the loopback address, which gets each request with its body. Whoever starts it closes it. */
export async function startServer(
  answer: (request: IncomingMessage, body: string, response: ServerResponse) => unknown,
): Promise<LoopbackServer> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    await answer(request, Buffer.concat(chunks).toString("utf8"), response);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
