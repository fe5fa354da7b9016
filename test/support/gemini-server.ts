import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { estimateTokens } from "../../src/core/token-estimate.ts";
import { answerTo, vectorOf } from "./gemini-model.ts";
import { type StreamPiece, sendPieces } from "./gemini-stream.ts";
import { type LoopbackServer, startServer } from "./loopback-server.ts";

/** What the server does with a request. */
export type Reply =
  /** As the service would. */
  | "good"
  /** A body that is no JSON. */
  | "malformed"
  /** The connection breaks before an answer. */
  | "reset"
  /** The connection breaks in the middle of the body. */
  | "broken"
  /** Nothing comes. */
  | "hang"
  /** Half a body, and then nothing. */
  | "stall"
  /** What the model says, or how it comes to say that. */
  | { says: string | ((request: RecordedRequest) => string) }
  /** A reply of `streamGenerateContent`, piece by piece. */
  | { pieces: readonly StreamPiece[] }
  /** Any status with any body, as JSON. */
  | { status: number; body: unknown; headers?: Record<string, string> }
  /** Later. */
  | { afterMs: number; reply: Reply };

export interface RecordedRequest {
  /** `generateContent`, `batchEmbedContents`, … */
  method: string;
  model: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: GeminiBody;
  /** The body as it came. */
  text: string;
}

export interface GeminiBody {
  contents?: { role?: string; parts: { text?: string; [field: string]: unknown }[] }[];
  systemInstruction?: { parts: { text?: string }[] };
  generationConfig?: Record<string, unknown>;
  requests?: { content: { parts: { text?: string }[] }; outputDimensionality?: number; taskType?: string }[];
}

/** Its URL is for `baseUrl`. */
export interface GeminiServer extends LoopbackServer {
  /** Every request so far. */
  readonly requests: RecordedRequest[];
  /** Answer the requests from now on so, one after another; the last one for ever. */
  script(...replies: Reply[]): void;
  /** Resolves when as many requests have arrived. */
  arrived(count: number): Promise<void>;
  /** How many connections are in the middle of a reply, once those that were given up have been noticed. */
  openCount(): Promise<number>;
}

/** An error as the service sends it. */
export function failure(code: number, status: string, message: string, ...details: object[]): Reply {
  return { status: code, body: { error: { code, message, status, ...(details.length > 0 && { details }) } } };
}

/** When to come again, as the service says it. */
export function retryIn(retryDelay: `${number}s`): object {
  return { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay };
}

/** A reply of the model that ends as `finishReason` says. */
export function finished(finishReason: string, text = ""): Reply {
  const content = { role: "model", parts: [{ text }] };
  return { status: 200, body: { candidates: [{ content, finishReason, index: 0 }] } };
}

/**
 * A server on the loopback address that speaks Gemini's REST API: `generateContent`, `streamGenerateContent`,
 * `batchEmbedContents` and `countTokens`. It is closed when the test is over.
 */
export async function geminiServer(...replies: Reply[]): Promise<GeminiServer> {
  const server = await startGeminiServer(...replies);
  onTestFinished(() => server.close());
  return server;
}

/** The same outside of a test; whoever starts it closes it. */
export async function startGeminiServer(...replies: Reply[]): Promise<GeminiServer> {
  let queue: Reply[] = replies;
  const requests: RecordedRequest[] = [];
  const open = new Set<ServerResponse>();
  let waiting: { count: number; arrive: () => void }[] = [];
  const server = await startServer(async (message, text, response) => {
    open.add(response);
    response.once("close", () => open.delete(response));
    const request = record(message, text);
    requests.push(request);
    for (const { count, arrive } of waiting) if (requests.length >= count) arrive();
    waiting = waiting.filter(({ count }) => requests.length < count);
    const reply = (queue.length > 1 ? queue.shift() : queue[0]) ?? "good";
    await answer(reply, request, response);
  });
  return {
    ...server,
    requests,
    script(...next) {
      queue = next;
    },
    arrived: (count) =>
      requests.length >= count ? Promise.resolve() : new Promise((arrive) => waiting.push({ count, arrive })),
    async openCount() {
      await sleep(50);
      return open.size;
    },
  };
}

function record({ url: path = "", headers }: IncomingMessage, text: string): RecordedRequest {
  const [, model = "", method = ""] = /\/models\/([^:?]+):(\w+)/.exec(path) ?? [];
  return { method, model, path, headers, text, body: JSON.parse(text || "{}") as GeminiBody };
}

async function answer(reply: Reply, request: RecordedRequest, response: ServerResponse): Promise<void> {
  if (reply === "hang") return;
  if (reply === "reset") return void response.socket?.resetAndDestroy();
  const isStream = request.method === "streamGenerateContent";
  if (reply === "malformed") return send(response, 200, '{"candidates": [{"content": ', isStream);
  if (reply === "stall" || reply === "broken") {
    response.writeHead(200, { "content-type": typeOf(isStream) }).write(`${isStream ? "data: " : ""}{"candidates": [`);
    if (reply === "broken") setTimeout(() => response.socket?.resetAndDestroy(), 20);
    return;
  }
  if (reply === "good") return send(response, 200, bodyOf(request), isStream);
  if ("says" in reply) {
    const text = typeof reply.says === "string" ? reply.says : reply.says(request);
    return send(response, 200, JSON.stringify(said(text)), isStream);
  }
  if ("pieces" in reply) return sendPieces(reply.pieces, response);
  if ("afterMs" in reply) {
    await sleep(reply.afterMs);
    return answer(reply.reply, request, response);
  }
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
  send(response, reply.status, JSON.stringify(reply.body), isStream && reply.status === 200);
}

function send(response: ServerResponse, status: number, body: string, isStream: boolean): void {
  response.writeHead(status, { "content-type": typeOf(isStream) });
  response.end(isStream ? `data: ${body}\n\n` : body);
}

function typeOf(isStream: boolean): string {
  return isStream ? "text/event-stream" : "application/json";
}

function bodyOf({ method, body }: RecordedRequest): string {
  switch (method) {
    case "batchEmbedContents":
      return JSON.stringify(embeddingsOf(body.requests ?? []));
    case "countTokens":
      return JSON.stringify({ totalTokens: Math.ceil(textOf(body).length / 4) });
    default:
      return JSON.stringify(said(answerTo(textOf(body))));
  }
}

function said(text: string): object {
  return {
    candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
    modelVersion: "loopback",
  };
}

function embeddingsOf(requests: NonNullable<GeminiBody["requests"]>): object {
  const texts = requests.map(({ content }) => textOf({ contents: [content] }));
  return {
    embeddings: requests.map(({ outputDimensionality }, index) => ({
      values: vectorOf(texts[index]!, outputDimensionality),
    })),
    usageMetadata: { promptTokenCount: texts.reduce((tokens, text) => tokens + estimateTokens(text), 0) },
  };
}

function textOf({ contents = [] }: GeminiBody): string {
  return contents.flatMap(({ parts }) => parts.map(({ text = "" }) => text)).join("\n");
}
