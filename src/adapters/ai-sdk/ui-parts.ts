import type { FilePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from "../../core/message.ts";
import { dataUrlOf, readDataUrl } from "../shared/data-url.ts";
import { type ContentPart, hasContent, isUnknownBlock, readBlock, resultValue, standInFor } from "../shared/message.ts";
import { asObject, defined, type Fields, isName, isObject, keep, ownOf } from "../shared/own.ts";

/** The text that the SDK sends to a model when a person denies a call. */
const DENIED = "Tool execution denied.";

/** In a model message, the provider metadata of a UI part is called provider options. */
function kept(providerOptions: unknown, fields: Fields, form?: Fields): Fields {
  return { ...keep("aiSdk", { providerOptions }), ...keep("aiSdkUi", fields, form) };
}

function metadataOf(part: Part, key: string): Fields {
  return defined({ [key]: ownOf(part, "aiSdk").fields.providerOptions });
}

export function contentOfUiPart(part: unknown): ContentPart {
  return readBlock<ContentPart>("aiSdkUi", part, [readText, readFile]);
}

function readText({ type, text, providerMetadata, ...fields }: Fields): TextPart | undefined {
  return type === "text" && typeof text === "string" ? { type, text, ...kept(providerMetadata, fields) } : undefined;
}

function readReasoning({ type, text, providerMetadata, ...fields }: Fields): ReasoningPart | undefined {
  if (type !== "reasoning" || typeof text !== "string") return undefined;
  return { type, text, ...kept(providerMetadata, fields) };
}

function readFile(part: Fields): FilePart | undefined {
  const { type, mediaType, filename: name, url, providerMetadata, ...fields } = part;
  if (type !== "file" || !isName(mediaType) || typeof url !== "string") return undefined;
  if (name !== undefined && typeof name !== "string") return undefined;
  const read = readDataUrl(url);
  // The type in a data URL may differ from the part's.
  const content = read === undefined ? { url } : { data: read.data };
  const urlType = read?.mediaType === mediaType ? undefined : read?.mediaType;
  return defined<FilePart>({ type, mediaType, name, ...content, ...kept(providerMetadata, fields, { urlType }) });
}

/** Converts a part of an assistant message. An answered call also yields its result. */
export function saidInUiPart(part: unknown): { said: Part; result?: ToolResultPart } {
  const call = isObject(part) ? callInUiPart(part) : undefined;
  return call ?? { said: readBlock<Part>("aiSdkUi", part, [readReasoning, readText, readFile]) };
}

function callInUiPart(part: Fields): { said: ToolCallPart; result?: ToolResultPart } | undefined {
  const { type, toolName: _, toolCallId, input, callProviderMetadata, ...rest } = part;
  const name = nameOfTool(part);
  if (!isName(toolCallId) || part.providerExecuted === true || name === undefined) return undefined;
  const { output, errorText, resultProviderMetadata, state, ...others } = rest;
  const outcome = outcomeIn(rest);
  // An answer must not change the fields of its call, so that both give the same message.
  const fields = outcome !== undefined ? others : state === "input-available" ? { ...rest, state: undefined } : rest;
  const form = { as: type === "dynamic-tool" ? type : undefined, input: input === undefined ? "absent" : undefined };
  const args = input === undefined ? {} : input;
  const own = kept(callProviderMetadata, fields, form);
  const said: ToolCallPart = { type: "tool_call", toolCallId, name, args, ...own };
  if (outcome === undefined) return { said };
  return { said, result: { type: "tool_result", toolCallId, name, ...outcome, ...kept(resultProviderMetadata, {}) } };
}

function outcomeIn(part: Fields): Pick<ToolResultPart, "content" | "isError"> | undefined {
  const { state, output, errorText, approval } = part;
  if (state === "output-available" && output !== undefined) {
    return { content: typeof output === "string" ? output : [{ type: "data", data: output }] };
  }
  if (state === "output-error" && typeof errorText === "string") return { content: errorText, isError: true };
  if (state !== "output-denied") return undefined;
  const { reason } = asObject(approval);
  return { content: isName(reason) ? reason : DENIED, isError: true, ...keep("aiSdkUi", {}, { as: state }) };
}

function nameOfTool({ type, toolName }: Fields): string | undefined {
  if (type === "dynamic-tool") return isName(toolName) ? toolName : undefined;
  const [, name] = /^tool-(.+)$/s.exec(String(type)) ?? [];
  return name;
}

/** Returns undefined for a result, which goes into the part of its call. */
export function uiPartOf(part: Part): unknown {
  if (isUnknownBlock(part, "aiSdkUi")) return part.data;
  const { fields, form } = ownOf(part, "aiSdkUi");
  switch (part.type) {
    case "text":
    case "reasoning":
      return { ...fields, type: part.type, text: part.text, ...metadataOf(part, "providerMetadata") };
    case "file": {
      if (!hasContent(part)) return { type: "text", text: standInFor(part) };
      const { mediaType, name: filename, data, url: given } = part;
      const urlType = typeof form.urlType === "string" ? form.urlType : mediaType;
      const url = data === undefined ? given : dataUrlOf(urlType, data);
      return defined({ ...fields, type: "file", mediaType, filename, url, ...metadataOf(part, "providerMetadata") });
    }
    case "tool_call": {
      const { toolCallId, name, args = {} } = part;
      const kind = form.as === "dynamic-tool" ? { type: form.as, toolName: name } : { type: `tool-${name}` };
      const input = form.input === "absent" ? {} : { input: args };
      const metadata = metadataOf(part, "callProviderMetadata");
      return { state: "input-available", ...fields, ...kind, toolCallId, ...input, ...metadata };
    }
    case "data":
      return { type: "text", text: standInFor(part) };
    case "tool_result":
      return undefined;
  }
}

export function outcomeOf(part: ToolResultPart): Fields {
  const metadata = metadataOf(part, "resultProviderMetadata");
  const output = resultValue(part);
  const { as } = ownOf(part, "aiSdkUi").form;
  if (as !== undefined) return { state: as, ...metadata };
  if (part.isError !== true) return { state: "output-available", output, ...metadata };
  const errorText = typeof output === "string" ? output : JSON.stringify(output);
  return { state: "output-error", errorText, ...metadata };
}
