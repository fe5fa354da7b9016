import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { vectorOf } from "./gemini-model.ts";
import { type LoopbackServer, startServer } from "./loopback-server.ts";

/** What the server does with a request. */
export type OpenaiReply =
  /** As a server would. */
  | "good"
  /** Nothing comes. */
  | "hang"
  /** The connection breaks before an answer. */
  | "reset"
  /** The connection breaks in the middle of the body. */
  | "broken"
  /** Half a body, and then nothing. */
  | "stall"
  /** Any status, with any body as it is. */
  | { status: number; body: string; headers?: Record<string, string> }
  /** A good answer whose vectors are changed. */
  | { vectors: (vectors: number[][]) => unknown[] };

/** Its URL is for `baseUrl`. */
export interface OpenaiServer extends LoopbackServer {
  readonly requests: { path: string; authorization: string | undefined; body: OpenaiBody }[];
  /** Answer the requests from now on so, one after another; the last one for ever. */
  script(...replies: OpenaiReply[]): void;
}

interface OpenaiBody {
  model: string;
  input: string[];
  dimensions?: number;
  encoding_format?: string;
}

export const OPENAI_DIMENSION = 256;

/** A server on the loopback address that speaks OpenAI's API for embeddings. It is closed when the test is over. */
export async function openaiServer(...replies: OpenaiReply[]): Promise<OpenaiServer> {
  const server = await startOpenaiServer(...replies);
  onTestFinished(() => server.close());
  return server;
}

/** The same outside of a test; whoever starts it closes it. */
export async function startOpenaiServer(...replies: OpenaiReply[]): Promise<OpenaiServer> {
  let queue = replies;
  const requests: OpenaiServer["requests"] = [];
  const { url, close } = await startServer(async (message, text, response) => {
    const body = JSON.parse(text) as OpenaiBody;
    requests.push({ path: message.url!, authorization: message.headers.authorization, body });
    const reply = (queue.length > 1 ? queue.shift() : queue[0]) ?? "good";
    if (reply === "hang") return;
    if (reply === "reset") return void response.socket?.resetAndDestroy();
    if (reply === "stall" || reply === "broken") {
      response.writeHead(200, { "content-type": "application/json" }).write('{"data": [');
      await sleep(20);
      if (reply === "broken") response.socket?.resetAndDestroy();
      return;
    }
    if (reply !== "good" && "status" in reply) {
      response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
      return void response.end(reply.body);
    }
    const good = body.input.map((text) => vectorOf(text, body.dimensions ?? OPENAI_DIMENSION));
    const vectors = reply === "good" ? good : reply.vectors(good);
    const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }));
    const tokens = body.input.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
    response.writeHead(200, { "content-type": "application/json" });
    // Some servers answer in another order.
    response.end(JSON.stringify({ object: "list", data: data.reverse(), usage: { prompt_tokens: tokens } }));
  });
  return {
    url: `${url}/v1`,
    requests,
    script(...next) {
      queue = next;
    },
    close,
  };
}
