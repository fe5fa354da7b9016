import type { FilePart, Part, ToolResultPart } from "../../core/message.ts";
import { type ContentPart, foreignBlock, isForeignBlock, resultValue, standInFor } from "../shared/message.ts";
import { type Fields, isName, isObject, keep, ownOf } from "../shared/own.ts";

/** Converts a text, code or media block. Kinds that we do not know are kept whole in a `data` part. */
export function contentOfBlock(block: unknown): ContentPart {
  if (!isObject(block)) return foreignBlock("llxprt", block);
  const { type, ...rest } = block;
  if (type === "text" && typeof rest.text === "string") {
    const { text, ...fields } = rest as { text: string };
    return { type, text, ...keep("llxprt", fields) };
  }
  if (type === "code" && typeof rest.code === "string") {
    const { code, ...fields } = rest as { code: string };
    return { type: "text", text: code, ...keep("llxprt", fields, { as: type }) };
  }
  return (type === "media" ? fileOfBlock(rest) : undefined) ?? foreignBlock("llxprt", block);
}

function fileOfBlock({ mimeType, data, encoding, filename, ...fields }: Fields): FilePart | undefined {
  if (!isName(mimeType) || typeof data !== "string" || (encoding !== "url" && encoding !== "base64")) return undefined;
  if (filename !== undefined && typeof filename !== "string") return undefined;
  const named = filename === undefined ? {} : { name: filename };
  const held = encoding === "url" ? { url: data } : { data };
  return { type: "file", mediaType: mimeType, ...named, ...held, ...keep("llxprt", fields) };
}

/** Converts a block of the model. */
export function partOfBlock(block: unknown): Part {
  if (!isObject(block)) return foreignBlock("llxprt", block);
  const { type, ...rest } = block;
  if (type === "thinking" && typeof rest.thought === "string") {
    const { thought, ...fields } = rest as { thought: string };
    return { type: "reasoning", text: thought, ...keep("llxprt", fields) };
  }
  if (type === "tool_call" && isName(rest.id) && isName(rest.name)) {
    const { id, name, parameters, ...fields } = rest as Fields & { id: string; name: string };
    const form = { parameters: parameters === undefined ? "absent" : undefined };
    return {
      type: "tool_call",
      toolCallId: id,
      name,
      args: parameters === undefined ? {} : parameters,
      ...keep("llxprt", fields, form),
    };
  }
  return contentOfBlock(block);
}

/**
 * Converts a tool response. Returns undefined for any other block. If the call failed and `result` is empty, `error`
 * becomes the content.
 */
export function resultOfBlock(block: unknown): ToolResultPart | undefined {
  if (!isObject(block) || block.type !== "tool_response" || !isName(block.callId)) return undefined;
  const { type, callId, toolName, result, error, ...fields } = block as Fields & { callId: string };
  const named = isName(toolName) ? { name: toolName } : {};
  if (!isName(toolName) && toolName !== undefined) fields.toolName = toolName;
  const form: Fields = { toolName: isName(toolName) ? undefined : "absent" };
  const isError = isName(error);
  if (!isError && error !== undefined) fields.error = error;
  const isEmpty = result === undefined || result === null || result === "";
  if (isError && isEmpty) form.result = result === undefined ? "absent" : result === null ? "null" : "empty";
  else if (isError && result !== error) fields.error = error;
  else if (result === undefined) form.result = "absent";
  const value = isError && isEmpty ? error : result === undefined ? "" : result;
  return {
    type: "tool_result",
    toolCallId: callId,
    ...named,
    content: typeof value === "string" ? value : [{ type: "data", data: value }],
    ...(isError && { isError }),
    ...keep("llxprt", fields, form),
  };
}

/** Converts a part back. Returns undefined for a result: see `blockOfResult`. */
export function blockOfPart(part: Part): unknown {
  if (isForeignBlock(part, "llxprt")) return part.data;
  const { fields, form } = ownOf(part, "llxprt");
  switch (part.type) {
    case "text":
      return form.as === "code"
        ? { ...fields, type: "code", code: part.text }
        : { ...fields, type: "text", text: part.text };
    case "reasoning":
      return { ...fields, type: "thinking", thought: part.text };
    case "tool_call": {
      const isBare = form.parameters === "absent";
      const parameters = isBare ? {} : { parameters: part.args === undefined ? {} : part.args };
      return { ...fields, type: "tool_call", id: part.toolCallId, name: part.name, ...parameters };
    }
    case "file": {
      const { mediaType, name, data, url } = part;
      if ((data ?? url) === undefined) return { type: "text", text: standInFor(part) };
      const named = name === undefined ? {} : { filename: name };
      const held = data === undefined ? { data: url, encoding: "url" } : { data, encoding: "base64" };
      return { ...fields, type: "media", mimeType: mediaType, ...held, ...named };
    }
    case "data":
      return { type: "text", text: standInFor(part) };
    case "tool_result":
      return undefined;
  }
}

export function blockOfResult(part: ToolResultPart, toolName: string): Fields {
  const { fields, form } = ownOf(part, "llxprt");
  const block = { type: "tool_response", callId: part.toolCallId, ...(form.toolName !== "absent" && { toolName }) };
  const value = resultValue(part);
  const isShort = part.isError === true && typeof value === "string" && form.result !== undefined;
  const isBare = form.result === "absent" && (isShort || value === "");
  const result = isShort ? (form.result === "null" ? null : "") : value;
  const failed = part.isError === true ? { error: typeof value === "string" ? value : JSON.stringify(value) } : {};
  return { ...block, ...(!isBare && { result }), ...failed, ...fields };
}
