import { type LoopbackServer, startServer } from "./loopback-server.ts";

/** A service, and the bodies of the requests that it got. */
export interface ProviderServer extends LoopbackServer {
  readonly requests: Record<string, unknown>[];
}

interface Refusal {
  refused: string;
}

/**
 * A server that speaks OpenAI's Chat Completions, with a model that asks for the weather once and then tells it. It refuses
 * what the service refuses of calls: one without an answer right after it, an answer without a call.
 */
export function startOpenaiServer(): Promise<ProviderServer> {
  return start("/chat/completions", ({ messages }) => {
    let waiting: string[] = [];
    for (const message of messages as OpenaiMessage[]) {
      if (message.role === "tool") {
        if (!waiting.includes(message.tool_call_id!)) return { refused: "a tool message answers no call" };
        waiting = waiting.filter((id) => id !== message.tool_call_id);
      } else {
        if (waiting.length > 0) return { refused: "a call has no answer" };
        waiting = (message.tool_calls ?? []).map(({ id }) => id);
      }
    }
    if (waiting.length > 0) return { refused: "a call has no answer" };
    const isAsked = (messages as OpenaiMessage[]).at(-1)?.role === "user";
    const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city": "Oslo"}' } };
    const said = isAsked ? { content: null, tool_calls: [call] } : { content: "Rain in Oslo." };
    return {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "loopback",
      choices: [
        {
          index: 0,
          finish_reason: isAsked ? "tool_calls" : "stop",
          message: { role: "assistant", refusal: null, annotations: [], ...said },
        },
      ],
    };
  });
}

interface OpenaiMessage {
  role: string;
  tool_call_id?: string;
  tool_calls?: { id: string }[];
}

/** The same for Anthropic's Messages, where the model thinks before it asks, and wants its signature back. */
export function startAnthropicServer(): Promise<ProviderServer> {
  return start("/v1/messages", ({ messages }) => {
    let waiting: string[] = [];
    for (const { role, content } of messages as AnthropicMessage[]) {
      const blocks = typeof content === "string" ? [] : content;
      const answered = blocks.flatMap(({ type, tool_use_id }) => (type === "tool_result" ? [tool_use_id!] : []));
      if (answered.sort().join() !== waiting.sort().join()) return { refused: "calls and results do not match" };
      waiting = blocks.flatMap(({ type, id }) => (type === "tool_use" ? [id!] : []));
      const isSigned = blocks.every(({ type, signature }) => type !== "thinking" || signature === "c2ln");
      if (role === "assistant" && !isSigned) return { refused: "a thinking block is not signed" };
    }
    const last = (messages as AnthropicMessage[]).at(-1);
    const isAsked = typeof last?.content === "string" || last?.content.every(({ type }) => type === "text") === true;
    const content = isAsked
      ? [
          { type: "thinking", thinking: "Which city?", signature: "c2ln" },
          { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } },
        ]
      : [{ type: "text", text: "Rain in Oslo.", citations: null }];
    return {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "loopback",
      content,
      stop_reason: isAsked ? "tool_use" : "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 7, output_tokens: 3 },
    };
  });
}

interface AnthropicMessage {
  role: string;
  content: string | { type: string; id?: string; tool_use_id?: string; signature?: string }[];
}

async function start(
  path: string,
  answer: (body: Record<string, unknown>) => object | Refusal,
): Promise<ProviderServer> {
  const requests: Record<string, unknown>[] = [];
  const server = await startServer(({ url }, text, response) => {
    const body = JSON.parse(text);
    requests.push(body);
    const reply = url?.endsWith(path) === true ? answer(body) : { refused: `there is nothing at ${url}` };
    const isRefused = "refused" in reply;
    response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
    response.end(
      JSON.stringify(isRefused ? { error: { type: "invalid_request_error", message: reply.refused } } : reply),
    );
  });
  return { ...server, requests };
}
