import { type AnthropicConversation, toAnthropic } from "../../src/adapters/anthropic.ts";
import { type GeminiConversation, toGemini } from "../../src/adapters/gemini.ts";
import type { LlxprtConversation } from "../../src/adapters/llxprt.ts";
import type { MessageInput, PartInput } from "../../src/index.ts";

/** Conversations, in the files that the agents' own programs would have written of them. */

type MessageParam = AnthropicConversation["messages"][number];
type Fields = Record<string, unknown>;

function jsonLines(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Claude Code: a line for each block of an assistant's message, and for each message of the user's. */
function claudeCodeFile({ messages }: AnthropicConversation): string {
  let parentUuid: string | null = null;
  const lines: object[] = [];
  const write = (type: string, message: Fields, more: Fields = {}): void => {
    const uuid = `uuid-${lines.length}`;
    lines.push({ type, uuid, parentUuid, sessionId: "s", cwd: "/srv/tide", version: "2.1.17", message, ...more });
    parentUuid = uuid;
  };
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== "assistant") {
      write("user", { role, content });
      continue;
    }
    const about = { id: `msg_${index}`, type: "message", role, model: "claude", usage: { output_tokens: index } };
    const contents = typeof content === "string" ? [content] : content.map((block) => [block]);
    for (const piece of contents) write("assistant", { ...about, content: piece }, { requestId: `req_${index}` });
  }
  return jsonLines(lines);
}

/** The same, where each result has a line, as parallel calls end one by one. */
export function claudeCodeFileOf(ours: readonly MessageInput[]): string {
  const { messages } = toAnthropic(ours);
  return claudeCodeFile({
    messages: messages.flatMap((message): MessageParam[] => {
      const { content } = message;
      if (typeof content === "string" || content.every(({ type }) => type !== "tool_result")) return [message];
      return content.map((block) => ({ ...message, content: [block] }) as MessageParam);
    }),
  });
}

/**
 * Gemini CLI: a record for each content, its calls listed beside it and written again when they have run; what is behind
 * the responses in a content is a record of the user's.
 */
export function geminiCliFile({ contents }: GeminiConversation): string {
  const lines: object[] = [{ sessionId: "s", projectHash: "h", kind: "main" }];
  let record: Fields = {};
  let calls: Fields[] = [];
  for (const [index, { role, parts = [] }] of contents.entries()) {
    if (role === "model") {
      record = { id: `g${index}`, type: "gemini", timestamp: "2026-03-01T00:00:00Z", content: parts, model: "m" };
      calls = parts.flatMap(({ functionCall }) => {
        if (functionCall === undefined) return [];
        const { id, name, args = {} } = functionCall;
        return [{ id, name, args, status: "executing" }];
      });
      lines.push(record);
      if (calls.length > 0) lines.push({ ...record, toolCalls: calls });
      continue;
    }
    let call: Fields | undefined;
    const words: object[] = [];
    for (const part of parts) {
      if (part.functionResponse !== undefined) {
        const { id } = part.functionResponse;
        calls = calls.map((one) => (one.id === id ? { ...one, status: "success", result: [part] } : one));
        call = calls.find((one) => one.id === id);
      } else if (words.length === 0 && call !== undefined && (part.inlineData ?? part.fileData) !== undefined) {
        (call.result as object[]).push(part);
      } else words.push(part);
    }
    if (call !== undefined) lines.push({ ...record, toolCalls: calls });
    if (words.length > 0) lines.push({ id: `u${index}`, type: "user", content: words });
  }
  return jsonLines(lines);
}

export function geminiCliFileOf(ours: readonly MessageInput[]): string {
  return geminiCliFile(toGemini(ours));
}

/** llxprt-code: a line for each content. */
export function llxprtFile({ contents }: LlxprtConversation): string {
  const start = { type: "session_start", payload: { sessionId: "s", provider: "p", model: "m" } };
  const lines = contents.map((content) => ({ type: "content", payload: { content } }));
  return jsonLines([start, ...lines].map((line, seq) => ({ v: 1, seq, ts: "2026-03-01T00:00:00Z", ...line })));
}

/** Codex: items of OpenAI's Responses API, each on a line. What the user says at once is one; answers say nothing but words. */
export function codexFileOf(ours: readonly MessageInput[]): string {
  const items = ours.flatMap(({ role, parts = [] }) => {
    const found = (parts as readonly PartInput[]).map(codexItemOf);
    if (role !== "user") return found;
    return [{ type: "message", role, content: found.flatMap(({ content }) => content) }];
  });
  const lines = items.map((payload) => ({ type: "response_item", payload }));
  return jsonLines([{ type: "session_meta", payload: { id: "s", cwd: "/srv/tide" } }, ...lines]);
}

function codexItemOf(part: PartInput): Fields {
  const said = (block: object) => ({ type: "message", role: "assistant", content: [block] });
  switch (part.type) {
    case "reasoning":
      return { type: "reasoning", summary: [{ type: "summary_text", text: part.text }], encrypted_content: "QQ==" };
    case "tool_call": {
      const { toolCallId: call_id, name, args } = part;
      return { type: "function_call", call_id, name, arguments: JSON.stringify(args) };
    }
    case "tool_result":
      return { type: "function_call_output", call_id: part.toolCallId, output: part.content };
    case "file":
      return said({ type: "input_image", image_url: `data:${part.mediaType};base64,${part.data}` });
    default:
      return said({ type: "output_text", text: part.text });
  }
}

/** opencode, as it exports a session: a step of the assistant's holds its calls with their results. */
export function opencodeFileOf(ours: readonly MessageInput[]): string {
  const messages: { info: Fields; parts: Fields[] }[] = [];
  for (const [index, { role, parts = [] }] of ours.entries()) {
    if (role === "tool") {
      for (const { toolCallId, content, isError } of parts as readonly Fields[]) {
        const called = messages.at(-1)!.parts.find(({ callID }) => callID === toolCallId) as { state: Fields };
        const outcome =
          isError === true ? { status: "error", error: content } : { status: "completed", output: content };
        Object.assign(called.state, outcome);
      }
      continue;
    }
    const info = { id: `msg_${index}`, sessionID: "s", role, time: { created: index, completed: index } };
    const told = (parts as readonly PartInput[]).map((part): Fields => {
      switch (part.type) {
        case "tool_call":
          return {
            type: "tool",
            callID: part.toolCallId,
            tool: part.name,
            state: { status: "running", input: part.args },
          };
        case "file":
          return { type: "file", mime: part.mediaType, url: `data:${part.mediaType};base64,${part.data}` };
        default:
          return { type: part.type, text: part.text };
      }
    });
    const isStep = role === "assistant";
    messages.push({ info, parts: isStep ? [{ type: "step-start" }, ...told, { type: "step-finish" }] : told });
  }
  return JSON.stringify({ info: { id: "s", directory: "/srv/tide" }, messages });
}
