import type { FilePart, Part, ToolCallPart, ToolResultPart } from "../../core/message.ts";
import { dataUrlOf, readDataUrl } from "../shared/data-url.ts";
import { type ContentPart, foreignBlock, isForeignBlock, resultValue, standInFor } from "../shared/message.ts";
import { type Fields, isName, isObject, keep, ownOf } from "../shared/own.ts";

/** The text that the SDK sends to a model when a person denies a call. */
const DENIED = "Tool execution denied.";

/** Provider metadata of a UI part is called provider options in a model message. */
function keptFor(metadata: unknown): Fields {
  return metadata === undefined ? {} : keep("aiSdk", { providerOptions: metadata });
}

function metadataOf(part: Part, key: string): Fields {
  const { providerOptions } = ownOf(part, "aiSdk").fields;
  return providerOptions === undefined ? {} : { [key]: providerOptions };
}

/** Converts a text or file part of any message. Other kinds, such as sources, are kept whole in a `data` part. */
export function contentOfUiPart(part: unknown): ContentPart {
  if (!isObject(part)) return foreignBlock("aiSdkUi", part);
  const { type, providerMetadata, ...rest } = part;
  if (type === "text" && typeof rest.text === "string") {
    const { text, ...fields } = rest as { text: string };
    return { type, text, ...keptFor(providerMetadata), ...keep("aiSdkUi", fields) };
  }
  const file = type === "file" ? fileOfUiPart(rest) : undefined;
  return file === undefined ? foreignBlock("aiSdkUi", part) : { ...file, ...keptFor(providerMetadata) };
}

function fileOfUiPart({ mediaType, filename, url, ...fields }: Fields): FilePart | undefined {
  if (!isName(mediaType) || typeof url !== "string") return undefined;
  if (filename !== undefined && typeof filename !== "string") return undefined;
  const read = readDataUrl(url);
  // The type in a data URL may differ from the part's.
  const content = read === undefined ? { url } : { data: read.data };
  const urlType = read === undefined || read.mediaType === mediaType ? undefined : read.mediaType;
  const named = filename === undefined ? {} : { name: filename };
  return { type: "file", mediaType, ...named, ...content, ...keep("aiSdkUi", fields, { urlType }) };
}

/** Converts a part of an assistant message. A call that was answered also yields its result. */
export function saidInUiPart(part: unknown): { said: Part; result: ToolResultPart | undefined } {
  if (isObject(part) && part.type === "reasoning" && typeof part.text === "string") {
    const { type, text, providerMetadata, ...fields } = part as Fields & { text: string };
    const said = { type: "reasoning" as const, text, ...keptFor(providerMetadata), ...keep("aiSdkUi", fields) };
    return { said, result: undefined };
  }
  return callInUiPart(part) ?? { said: contentOfUiPart(part), result: undefined };
}

function callInUiPart(part: unknown): { said: ToolCallPart; result: ToolResultPart | undefined } | undefined {
  if (!isObject(part) || !isName(part.toolCallId) || part.providerExecuted === true) return undefined;
  const name = nameOfTool(part);
  if (name === undefined) return undefined;
  const {
    type,
    toolName: _,
    toolCallId,
    input,
    callProviderMetadata,
    ...rest
  } = part as Fields & { toolCallId: string };
  const { output, errorText, resultProviderMetadata, state, ...others } = rest;
  const outcome = outcomeIn(rest);
  // The fields of an unanswered call must equal those of the answered one, so that both give the same message.
  const own = outcome !== undefined ? others : state === "input-available" ? { ...rest, state: undefined } : rest;
  const form = { as: type === "dynamic-tool" ? type : undefined, input: input === undefined ? "absent" : undefined };
  const said = {
    type: "tool_call" as const,
    toolCallId,
    name,
    args: input === undefined ? {} : input,
    ...keptFor(callProviderMetadata),
    ...keep("aiSdkUi", own, form),
  };
  if (outcome === undefined) return { said, result: undefined };
  const result = { type: "tool_result" as const, toolCallId, name, ...outcome, ...keptFor(resultProviderMetadata) };
  return { said, result };
}

/** Returns the result in a call's part, or undefined while there is none. */
function outcomeIn({
  state,
  output,
  errorText,
  approval,
}: Fields): Pick<ToolResultPart, "content" | "isError"> | undefined {
  if (state === "output-available" && output !== undefined) return { content: uiOutputContent(output) };
  if (state === "output-error" && typeof errorText === "string") return { content: errorText, isError: true };
  if (state !== "output-denied") return undefined;
  const reason = isObject(approval) && isName(approval.reason) ? approval.reason : DENIED;
  return { content: reason, isError: true, ...keep("aiSdkUi", {}, { as: state }) };
}

function uiOutputContent(output: unknown): string | ContentPart[] {
  return typeof output === "string" ? output : [{ type: "data", data: output }];
}

function nameOfTool({ type, toolName }: Fields): string | undefined {
  if (type === "dynamic-tool") return isName(toolName) ? toolName : undefined;
  const [, name] = /^tool-(.+)$/s.exec(String(type)) ?? [];
  return name;
}

/** Converts a part back. Returns undefined for a result, which goes into the part of its call. */
export function uiPartOf(part: Part): unknown {
  if (isForeignBlock(part, "aiSdkUi")) return part.data;
  const { fields, form } = ownOf(part, "aiSdkUi");
  switch (part.type) {
    case "text":
    case "reasoning":
      return { ...fields, type: part.type, text: part.text, ...metadataOf(part, "providerMetadata") };
    case "file": {
      const { mediaType, name, data, url } = part;
      if (data === undefined && url === undefined) return { type: "text", text: standInFor(part) };
      const urlType = typeof form.urlType === "string" ? form.urlType : mediaType;
      const content = { url: data === undefined ? url : dataUrlOf(urlType, data) };
      const named = name === undefined ? {} : { filename: name };
      return { ...fields, type: "file", mediaType, ...named, ...content, ...metadataOf(part, "providerMetadata") };
    }
    case "tool_call":
      return {
        state: "input-available",
        ...fields,
        ...(form.as === "dynamic-tool" ? { type: form.as, toolName: part.name } : { type: `tool-${part.name}` }),
        toolCallId: part.toolCallId,
        ...(form.input !== "absent" && { input: part.args === undefined ? {} : part.args }),
        ...metadataOf(part, "callProviderMetadata"),
      };
    case "data":
      return { type: "text", text: standInFor(part) };
    case "tool_result":
      return undefined;
  }
}

/** Returns the fields that a call's part gets with its result. */
export function outcomeOf(part: ToolResultPart): Fields {
  const metadata = metadataOf(part, "resultProviderMetadata");
  const output = resultValue(part);
  const { as } = ownOf(part, "aiSdkUi").form;
  if (as !== undefined) return { state: as, ...metadata };
  if (part.isError !== true) return { state: "output-available", output, ...metadata };
  return {
    state: "output-error",
    errorText: typeof output === "string" ? output : JSON.stringify(output),
    ...metadata,
  };
}
