import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as z from "zod/mini";
import { StoreError } from "../core/errors.ts";
import { printableJson } from "../core/markup.ts";
import { parseArguments, text } from "../core/schema.ts";
import type { Asset } from "./assets.ts";
import { Guard } from "./guard.ts";
import { partContent } from "./messages.ts";
import { RefusedRequest, refusalOf, reportFailure } from "./refusal.ts";
import { QUERIES, queryOf, wholeText } from "./requests.ts";
import type { Routes } from "./routes.ts";

const LOOPBACK = "127.0.0.1";
export const BODY_BYTES_MAX = 256 * 1024;
const CONNECTIONS_MAX = 128;
/** Browsers wait for an answer before they send the next request on a connection. All that are sent at once would be begun at once. */
const PIPELINED_MAX = 16;
/** How long a request may take to arrive, and a socket may be silent while nobody works for it. */
const REQUEST_MS_MAX = 10_000;
/** How often Node looks for requests that take longer. By default it looks twice a minute. */
const REQUEST_LOOK_MS = 5_000;
const SILENT_MS_MAX = 30_000;
/** How long a reader may take for an answer. Exports and events take as long as they need while they are read. */
const ANSWER_MS_MAX = 60_000;
/** Bytes of all answers that their readers have not taken yet. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024;

/** Sent with every answer. Scripts and styles come from this server alone, and nothing can frame or leak the page. */
const HEADERS: OutgoingHttpHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

const PART_FIELDS = {
  message: wholeText(1),
  path: z.string().check(z.regex(/^\d{1,6}(\.\d{1,6})?$/, { error: "a path such as 0 or 0.1" })),
};
const EXPORT_FIELDS = { session: text() };
const ENTER_FIELDS = z.strictObject({ token: text() });

/** Serves one view on the loopback interface. */
export class ViewServer {
  readonly #routes: Routes;
  readonly #assets: ReadonlyMap<string, Asset>;
  readonly #server: Server;
  #guard: Guard | undefined;
  #unreadBytes = 0;
  /** How many requests of a connection have no answer yet. */
  readonly #unanswered = new WeakMap<Socket, number>();

  constructor(routes: Routes, assets: ReadonlyMap<string, Asset>, silentMsMax: number = SILENT_MS_MAX) {
    this.#routes = routes;
    this.#assets = assets;
    this.#server = createServer(
      {
        headersTimeout: REQUEST_MS_MAX,
        requestTimeout: REQUEST_MS_MAX,
        connectionsCheckingInterval: REQUEST_LOOK_MS,
      },
      (request, response) => this.#serve(request, response),
    );
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#server.timeout = silentMsMax;
    this.#server.on("clientError", (_error, socket) => socket.destroy());
    this.#server.on("connect", (_request, socket) => socket.destroy());
    this.#server.on("upgrade", (_request, socket) => socket.destroy());
  }

  /** @returns the URL with the token. @throws {StoreError} `OPTION_INVALID` for a port that cannot be had. */
  async listen(port: number): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", ({ code }: NodeJS.ErrnoException) => {
        const expected = `a port that this user may use and no other program does (${code})`;
        reject(new StoreError("OPTION_INVALID", { option: "port", expected, actual: port }));
      });
      this.#server.listen({ port, host: LOOPBACK, exclusive: true }, () => {
        this.#server.removeAllListeners("error");
        resolve();
      });
    });
    const address = this.#server.address() as AddressInfo;
    this.#guard = new Guard(address.port);
    return `http://${LOOPBACK}:${address.port}/#t=${this.#guard.token}`;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await this.#routes.close();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    const unanswered = (this.#unanswered.get(socket) ?? 0) + 1;
    if (unanswered > PIPELINED_MAX) socket.destroy();
    if (socket.destroyed) return; // requests that came with that one are not begun
    this.#unanswered.set(socket, unanswered);
    response.once("close", () => this.#unanswered.set(socket, this.#unanswered.get(socket)! - 1));
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    response.on("error", () => {}); // the reader is gone
    try {
      for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value!);
      await this.#answer(request, response, gone.signal);
    } catch (error) {
      const { status, body } = refusalOf(error);
      if (status === 500 && !gone.signal.aborted) reportFailure(error);
      if (response.headersSent) response.destroy();
      else {
        // The rest of the body is not read.
        if (!request.complete) response.setHeader("connection", "close");
        this.#json(response, status, body);
      }
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const guard = this.#guard!;
    guard.assertOwnOrigin(request);
    // The base stands for any host. A path like `//evil` must not become a host.
    const { pathname, searchParams } = new URL(`http://view${request.url ?? "/"}`);
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead && request.method !== "POST") {
      throw new RefusedRequest(405, "METHOD_REFUSED", "Expected GET or POST.");
    }
    const asset = this.#assets.get(pathname);
    if (isRead && asset !== undefined) return this.#asset(request, response, asset);
    if (!isRead && pathname === "/api/enter") {
      const { token } = parseArguments(ENTER_FIELDS, await bodyOf(request));
      return this.#json(response, 200, { key: guard.enter(token) });
    }
    guard.assertEntered(request);
    if (!isRead) {
      const { post } = this.#routes;
      if (!Object.hasOwn(post, pathname)) throw notFound();
      const body = await bodyOf(request);
      return this.#answerWith(response, () => post[pathname as keyof typeof post](body, signal));
    }
    switch (pathname) {
      case "/api/events":
        return this.#routes.events.listen(response);
      case "/api/export":
        return this.#export(response, searchParams, signal);
      case "/api/part":
        return this.#part(response, searchParams);
    }
    const { get } = this.#routes;
    if (!Object.hasOwn(get, pathname)) throw notFound();
    const route = pathname as keyof typeof get;
    const answer = get[route] as (request: object, signal: AbortSignal) => unknown;
    return this.#answerWith(response, () => answer(queryOf(QUERIES[route], searchParams), signal));
  }

  /** The check of a large store takes minutes, and so may an agent. With the answer, the time begins again. */
  async #answerWith(response: ServerResponse, answer: () => unknown): Promise<void> {
    response.socket?.setTimeout(0);
    const value = await answer();
    response.socket?.setTimeout(this.#server.timeout);
    this.#json(response, 200, value);
  }

  #asset(request: IncomingMessage, response: ServerResponse, { type, bytes, etag }: Asset): void {
    const headers = { "content-type": type, "cache-control": "no-cache", etag };
    if (request.headers["if-none-match"] === etag) response.writeHead(304, headers).end();
    else this.#send(response, 200, headers, bytes);
  }

  #json(response: ServerResponse, status: number, value: unknown): void {
    const headers = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
    this.#send(response, status, headers, Buffer.from(JSON.stringify(value)));
  }

  async #part(response: ServerResponse, searchParams: URLSearchParams): Promise<void> {
    const { message, path } = queryOf(PART_FIELDS, searchParams);
    const { type, isDownload, bytes } = await this.#routes.view.read((store) => partContent(store, message, path));
    const headers = {
      "content-type": type,
      "cache-control": "no-store",
      // Even if a person opens it as a page of its own, nothing in it runs.
      "content-security-policy": "default-src 'none'; sandbox",
      ...(isDownload && { "content-disposition": "attachment" }),
    };
    this.#send(response, 200, headers, bytes);
  }

  async #export(response: ServerResponse, searchParams: URLSearchParams, signal: AbortSignal): Promise<void> {
    const { session } = queryOf(EXPORT_FIELDS, searchParams);
    const lines = await this.#routes.view.read((store) => {
      store.resume(session);
      return store.export({ sessions: [session], onUnreadable: () => {} });
    });
    response.writeHead(200, {
      "content-type": "application/x-ndjson",
      "cache-control": "no-store",
      "content-disposition": 'attachment; filename="session.jsonl"',
    });
    await pipeline(Readable.from(jsonLines(lines), { objectMode: false }), response, { signal });
  }

  #send(response: ServerResponse, status: number, headers: OutgoingHttpHeaders, bytes: Buffer): void {
    if (this.#unreadBytes > UNREAD_BYTES_MAX) {
      response.writeHead(503, { "retry-after": "1" }).end();
      return;
    }
    this.#unreadBytes += bytes.length;
    const timer = setTimeout(() => response.destroy(), ANSWER_MS_MAX);
    response.once("close", () => {
      clearTimeout(timer);
      this.#unreadBytes -= bytes.length;
    });
    response.writeHead(status, { ...headers, "content-length": bytes.length }).end(bytes);
  }
}

function notFound(): RefusedRequest {
  return new RefusedRequest(404, "NOT_FOUND", "There is nothing here.");
}

function* jsonLines(lines: Iterable<unknown>): Generator<string> {
  for (const line of lines) yield `${printableJson(line)}\n`;
}

/** @throws {RefusedRequest} for a body that is not JSON, or too large. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new RefusedRequest(415, "TYPE_REFUSED", "Expected JSON.");
  const chunks: Buffer[] = [];
  let byteLength = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    byteLength += chunk.length;
    if (byteLength > BODY_BYTES_MAX)
      throw new RefusedRequest(413, "TOO_LARGE", `Expected at most ${BODY_BYTES_MAX} bytes.`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new RefusedRequest(400, "JSON_INVALID", "Expected JSON.");
  }
}
