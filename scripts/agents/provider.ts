import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** The provider's answer to every request, unless it gets another one. */
export const REPLY = "Understood, that is noted.";

/** A prompt with these words makes the provider report a nearly full window, so that the agent compacts. */
export const FILL = "Fill the window.";

const USAGE = 12;
const FULL = 98_000;

interface Exchange {
  path: string;
  /** Every text in the request's body. */
  texts: string[];
}

/**
 * A provider on loopback that speaks the protocols of Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini,
 * as streams. It gives every request the same answer, and keeps the texts of the requests.
 */
export class FakeProvider {
  readonly exchanges: Exchange[] = [];
  reply = REPLY;
  /** Answers every request with an error of this status, or not at all. */
  fault: number | "silent" | undefined;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (piece: string) => {
        body += piece;
      });
      request.on("end", () => {
        const path = request.url ?? "";
        const asked = body.startsWith("{") ? JSON.parse(body) : {};
        this.exchanges.push({ path, texts: textsIn(asked) });
        if (this.fault === "silent") return;
        if (this.fault !== undefined) {
          const message = this.fault === 429 ? "You have hit your usage limit" : "The API key is invalid";
          const error = { type: "error", code: this.fault, status: "FAULT", message };
          response.writeHead(this.fault, { "content-type": "application/json", "x-should-retry": "false" });
          response.end(JSON.stringify({ type: "error", error }));
          return;
        }
        const tokens = body.includes(FILL) ? FULL : USAGE;
        const answer = answerTo(path, { reply: this.reply, tokens, isStream: asked.stream === true });
        response.writeHead(answer === undefined ? 404 : 200, {
          "content-type": Array.isArray(answer) ? "text/event-stream" : "application/json",
        });
        response.end(Array.isArray(answer) ? answer.map(eventText).join("") : JSON.stringify(answer ?? {}));
      });
    });
  }

  static async start(): Promise<FakeProvider> {
    const provider = new FakeProvider();
    await new Promise<void>((resolve) => provider.#server.listen(0, "127.0.0.1", resolve));
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Returns the requests since the last call. */
  take(): Exchange[] {
    return this.exchanges.splice(0);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

interface StreamEvent {
  name?: string;
  data: unknown;
}

function eventText({ name, data }: StreamEvent): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`;
}

/** Returns the events of a stream, or one value; undefined for a path that is not a model's. */
function answerTo(
  path: string,
  { reply, tokens, isStream }: { reply: string; tokens: number; isStream: boolean },
): StreamEvent[] | object | undefined {
  if (path.includes("count_tokens")) return { input_tokens: tokens };
  if (path.includes("countTokens")) return { totalTokens: tokens };
  if (path.includes("/v1/messages")) return isStream ? messageEvents(reply, tokens) : message(reply, tokens);
  if (path.includes("/responses")) return responseEvents(reply, tokens);
  if (path.includes("/chat/completions")) return completionEvents(reply, tokens);
  if (path.includes("GenerateContent") || path.includes("generateContent")) {
    const content = { role: "model", parts: [{ text: reply }] };
    const usageMetadata = { promptTokenCount: tokens, candidatesTokenCount: 3, totalTokenCount: tokens + 3 };
    const data = { candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata };
    return path.includes("stream") ? [{ data }] : data;
  }
  return undefined;
}

function message(reply: string, tokens: number): object {
  const usage = { input_tokens: tokens, output_tokens: 3 };
  const content = [{ type: "text", text: reply }];
  const about = { id: "msg_1", type: "message", role: "assistant", model: "fake-1" };
  return { ...about, content, stop_reason: "end_turn", stop_sequence: null, usage };
}

function messageEvents(reply: string, tokens: number): StreamEvent[] {
  const events = [
    { type: "message_start", message: { ...message(reply, tokens), content: [], stop_reason: null } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: reply } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 3 } },
    { type: "message_stop" },
  ];
  return events.map((data) => ({ name: data.type, data }));
}

function responseEvents(reply: string, tokens: number): StreamEvent[] {
  const content = [{ type: "output_text", text: reply, annotations: [] }];
  const item = { id: "m1", type: "message", role: "assistant", status: "completed", content };
  const details = { input_tokens_details: null, output_tokens_details: null };
  const usage = { input_tokens: tokens, output_tokens: 3, total_tokens: tokens + 3, ...details };
  const events = [
    { type: "response.created", response: { id: "r1" } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { id: "r1", output: [item], usage } },
  ];
  return events.map((data) => ({ name: data.type, data }));
}

function completionEvents(reply: string, tokens: number): StreamEvent[] {
  const chunk = (delta: object, finish_reason: string | null, more = {}): StreamEvent => ({
    data: {
      id: "c1",
      object: "chat.completion.chunk",
      created: 1,
      model: "fake-1",
      choices: [{ index: 0, delta, finish_reason }],
      ...more,
    },
  });
  const usage = { prompt_tokens: tokens, completion_tokens: 3, total_tokens: tokens + 3 };
  return [chunk({ role: "assistant", content: reply }, null), chunk({}, "stop", { usage }), { data: "[DONE]" }];
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
