import type { FilePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from "../core/message.ts";
import { wellFormed } from "../core/well-formed.ts";
import {
  type AdaptedMessage,
  type AnyMessage,
  CallNames,
  hasContent,
  isContent,
  isUnknownBlock,
  partsOf,
  readBlock,
  refuse,
  resultValue,
  splitByRole,
  standInFor,
  textReader,
} from "./shared/message.ts";
import { asObject, defined, type Fields, isName, keep, keepInMetadata, ownOf } from "./shared/own.ts";

export type { AdaptedMessage, AnyMessage, LlxprtBlock, LlxprtContent, LlxprtConversation };

/**
 * An entry of llxprt-code's history and recordings (its `IContent`), with the fields that the adapter reads. llxprt-code publishes
 * no types.
 */
interface LlxprtContent {
  speaker: "human" | "ai" | "tool";
  blocks: LlxprtBlock[];
  metadata?: { timestamp?: number; [field: string]: unknown };
}

type LlxprtBlock =
  | { type: "text"; text: string; [field: string]: unknown }
  | { type: "code"; code: string; language?: string; [field: string]: unknown }
  | { type: "thinking"; thought: string; [field: string]: unknown }
  | {
      type: "media";
      mimeType: string;
      data: string;
      encoding: "url" | "base64";
      filename?: string;
      [field: string]: unknown;
    }
  | { type: "tool_call"; id: string; name: string; parameters: unknown; [field: string]: unknown }
  | {
      type: "tool_response";
      callId: string;
      toolName: string;
      result: unknown;
      error?: string;
      [field: string]: unknown;
    };

/** llxprt-code keeps the system instruction outside the history. */
interface LlxprtConversation {
  systemInstruction?: string;
  contents: LlxprtContent[];
}

/**
 * Converts contents of llxprt-code. A content whose speaker is `ai` becomes one message. In any other content, each run of tool
 * responses becomes one message, and each run of other blocks another. Unknown fields are kept under `llxprt` in the part or in
 * `metadata`, and `toLlxprt` restores them. A content's timestamp becomes `createdAt` of its messages.
 *
 * @throws {StoreError} `MESSAGE_INVALID` for an unknown speaker, and for blocks that are not an array.
 */
export function fromLlxprt(contents: LlxprtContent | readonly LlxprtContent[] | LlxprtConversation): AdaptedMessage[] {
  const { systemInstruction, contents: said } =
    "contents" in contents ? contents : { systemInstruction: undefined, contents: [contents].flat() };
  const system: AdaptedMessage[] =
    systemInstruction === undefined ? [] : [{ role: "system", parts: [{ type: "text", text: systemInstruction }] }];
  return [...system, ...said.flatMap((content, index) => messagesOf(content, `contents[${index}]`))];
}

function messagesOf(content: LlxprtContent, path: string): AdaptedMessage[] {
  const { speaker, blocks, ...fields } = content as unknown as Fields;
  if (!Array.isArray(blocks)) refuse(`${path}.blocks`, "it is not a list");
  const { timestamp } = asObject(fields.metadata);
  const createdAt = Number.isSafeInteger(timestamp) ? { createdAt: timestamp as number } : {};
  switch (speaker) {
    case "ai":
      return [
        { role: "assistant", parts: blocks.map(assistantPartOf), ...createdAt, ...keepInMetadata("llxprt", fields) },
      ];
    case "human":
    case "tool":
      return splitByRole(blocks.map(partOfBlock), speaker === "tool" ? "tool" : "user").map((run, index) => {
        const isOther = (run.role === "tool") !== (speaker === "tool");
        const form = index > 0 ? { joined: true } : { speaker: isOther ? speaker : undefined };
        return { ...run, ...createdAt, ...keepInMetadata("llxprt", index === 0 ? fields : {}, form) };
      });
    default:
      return refuse(`${path}.speaker`, `llxprt-code has no speaker ${JSON.stringify(speaker)}`);
  }
}

const SPEAKERS = { user: "human", assistant: "ai", tool: "tool" } as const;

/**
 * Converts our messages, usually those of a rendered context, to contents for the history of llxprt-code. Messages that
 * `fromLlxprt` made from one content become one content again, and any other message becomes a content of its own.
 * Data becomes text, and so do files in results. System messages become one text beside the history.
 */
export function toLlxprt(messages: readonly AnyMessage[]): LlxprtConversation {
  const system: string[] = [];
  const contents: { speaker: unknown; blocks: unknown[] }[] = [];
  const names = new CallNames();
  for (const message of wellFormed(messages)) {
    const { fields, form } = ownOf(message.metadata, "llxprt");
    const parts = partsOf(message);
    names.learn(parts);
    if (message.role === "system") {
      const said = parts.filter(isContent);
      system.push(...said.map((part) => (part.type === "text" ? part.text : standInFor(part))));
      continue;
    }
    const blocks = parts.map((part) =>
      part.type === "tool_result" ? blockOfResult(part, names.nameFor(part)) : blockOfPart(part),
    );
    const last = contents.at(-1);
    if (form.joined === true && message.role !== "assistant" && last !== undefined && last.speaker !== "ai") {
      last.blocks.push(...blocks);
    } else contents.push({ ...fields, speaker: form.speaker ?? SPEAKERS[message.role], blocks });
  }
  const conversation = system.length === 0 ? { contents } : { systemInstruction: system.join("\n\n"), contents };
  return conversation as unknown as LlxprtConversation;
}

const CONTENT_READERS = [textReader("llxprt"), readCode, readFile];

/** Converts a block of the model. Unknown kinds of block are kept whole in a `data` part. */
function assistantPartOf(block: unknown): Part {
  return readBlock<Part>("llxprt", block, [readThought, readCall, ...CONTENT_READERS]);
}

function partOfBlock(block: unknown): Part {
  return readBlock<Part>("llxprt", block, [readResult, ...CONTENT_READERS]);
}

function readCode({ type, code, ...fields }: Fields): TextPart | undefined {
  if (type !== "code" || typeof code !== "string") return undefined;
  return { type: "text", text: code, ...keep("llxprt", fields, { as: type }) };
}

function readFile({ type, mimeType, data, encoding, filename: name, ...fields }: Fields): FilePart | undefined {
  if (type !== "media" || !isName(mimeType) || typeof data !== "string") return undefined;
  if ((encoding !== "url" && encoding !== "base64") || (name !== undefined && typeof name !== "string"))
    return undefined;
  const held = encoding === "url" ? { url: data } : { data };
  return defined<FilePart>({ type: "file", mediaType: mimeType, name, ...held, ...keep("llxprt", fields) });
}

function readThought({ type, thought, ...fields }: Fields): ReasoningPart | undefined {
  if (type !== "thinking" || typeof thought !== "string") return undefined;
  return { type: "reasoning", text: thought, ...keep("llxprt", fields) };
}

function readCall({ type, id, name, parameters, ...fields }: Fields): ToolCallPart | undefined {
  if (type !== "tool_call" || !isName(id) || !isName(name)) return undefined;
  const isBare = parameters === undefined;
  const own = keep("llxprt", fields, { parameters: isBare ? "absent" : undefined });
  return { type: "tool_call", toolCallId: id, name, args: isBare ? {} : parameters, ...own };
}

/** If the call failed and `result` is empty, `error` becomes the content. */
function readResult({ type, callId, toolName, result, error, ...fields }: Fields): ToolResultPart | undefined {
  if (type !== "tool_response" || !isName(callId)) return undefined;
  const name = isName(toolName) ? toolName : undefined;
  if (name === undefined) fields.toolName = toolName;
  const form: Fields = { toolName: name === undefined ? "absent" : undefined };
  const isError = isName(error);
  const isEmpty = result === undefined || result === null || result === "";
  if (isError && isEmpty) form.result = result === undefined ? "absent" : result === null ? "null" : "empty";
  else {
    if (!isError || result !== error) fields.error = error;
    if (result === undefined) form.result = "absent";
  }
  const value = isError && isEmpty ? error : result === undefined ? "" : result;
  const part: ToolResultPart = {
    type: "tool_result",
    toolCallId: callId,
    name,
    content: typeof value === "string" ? value : [{ type: "data", data: value }],
    isError: isError ? true : undefined,
  };
  return { ...defined(part), ...keep("llxprt", fields, form) };
}

function blockOfPart(part: Exclude<Part, ToolResultPart>): unknown {
  if (isUnknownBlock(part, "llxprt")) return part.data;
  const { fields, form } = ownOf(part, "llxprt");
  switch (part.type) {
    case "text": {
      const said = form.as === "code" ? { type: "code", code: part.text } : { type: "text", text: part.text };
      return { ...fields, ...said };
    }
    case "reasoning":
      return { ...fields, type: "thinking", thought: part.text };
    case "tool_call": {
      const parameters = form.parameters === "absent" ? undefined : part.args === undefined ? {} : part.args;
      return defined({ ...fields, type: "tool_call", id: part.toolCallId, name: part.name, parameters });
    }
    case "file": {
      if (!hasContent(part)) return { type: "text", text: standInFor(part) };
      const { mediaType: mimeType, name: filename, data, url } = part;
      const held = data === undefined ? { data: url, encoding: "url" } : { data, encoding: "base64" };
      return defined({ ...fields, type: "media", mimeType, ...held, filename });
    }
    case "data":
      return { type: "text", text: standInFor(part) };
  }
}

function blockOfResult(part: ToolResultPart, toolName: string): Fields {
  const { fields, form } = ownOf(part, "llxprt");
  const value = resultValue(part);
  const isShort = part.isError === true && typeof value === "string" && form.result !== undefined;
  const isBare = form.result === "absent" && (isShort || value === "");
  const result = isShort ? (form.result === "null" ? null : "") : value;
  const error = typeof value === "string" ? value : JSON.stringify(value);
  return defined({
    type: "tool_response",
    callId: part.toolCallId,
    toolName: form.toolName === "absent" ? undefined : toolName,
    result: isBare ? undefined : result,
    error: part.isError === true ? error : undefined,
    ...fields,
  });
}
