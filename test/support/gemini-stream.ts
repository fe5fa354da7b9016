import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** What a stream does next. */
export type StreamPiece =
  /** An event, as the service sends it. */
  | { data: object }
  /** Bytes as they are. */
  | { raw: string }
  | { waitMs: number }
  /** Nothing comes until then. */
  | { until: Promise<unknown> }
  /** The connection breaks. */
  | "reset"
  /** Nothing more comes, and the connection stays. */
  | "hang";

type Part = Record<string, unknown>;

const USAGE = { promptTokenCount: 11, candidatesTokenCount: 5, thoughtsTokenCount: 2, totalTokenCount: 18 };

/** Parts of a reply that goes on. */
export function piece(...parts: Part[]): StreamPiece {
  return { data: { candidates: [{ content: { role: "model", parts }, index: 0 }], usageMetadata: USAGE } };
}

/** A piece of text. */
export function words(text: string): StreamPiece {
  return piece({ text });
}

/** The last piece of a reply. */
export function ending(finishReason: string, ...parts: Part[]): StreamPiece {
  const content = { role: "model", parts: parts.length === 0 ? [{ text: "" }] : parts };
  return { data: { candidates: [{ content, finishReason, index: 0 }], usageMetadata: USAGE } };
}

/** A whole reply in several pieces. */
export function streamed(...texts: string[]): { pieces: StreamPiece[] } {
  return { pieces: [...texts.map(words), ending("STOP")] };
}

/** A reply that calls a tool, signed as Gemini 3 does. */
export function calling(name: string, args: object, thoughtSignature = "c2lnbmVk"): { pieces: StreamPiece[] } {
  return { pieces: [piece({ functionCall: { name, args }, thoughtSignature }), ending("STOP")] };
}

export async function sendPieces(pieces: readonly StreamPiece[], response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const next of pieces) {
    if (next === "hang") return;
    // What was written before it is to arrive.
    if (next === "reset") return void setTimeout(() => response.socket?.resetAndDestroy(), 20);
    if ("waitMs" in next) await sleep(next.waitMs);
    else if ("until" in next) await next.until;
    else response.write("raw" in next ? next.raw : `data: ${JSON.stringify(next.data)}\n\n`);
  }
  response.end();
}
