import type { FilePart, Part, ReasoningPart, TextPart, ToolCallPart } from "../../core/message.ts";
import { legalId } from "../shared/legal-id.ts";
import { argsObject, type ContentPart, isContent, isUnknownBlock, readBlock, standInFor } from "../shared/message.ts";
import { asObject, defined, type Fields, isName, isObject, keep, nested, ownOf } from "../shared/own.ts";

/** The kinds of part that are converted. Such a part has exactly one of these keys. */
const KINDS = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];

const UNKNOWN_TYPE = "application/octet-stream";

const ILLEGAL_IN_NAME = /^[^a-zA-Z_]|[^a-zA-Z0-9_.:-]/g;
const NAME_CHARS_MAX = 64;

export function toolName(name: string): string {
  return legalId(name, ILLEGAL_IN_NAME, NAME_CHARS_MAX);
}

/** Returns undefined if a part has no kind or several. */
export function kindOf(part: Fields): string | undefined {
  const kinds = Object.keys(part).filter((key) => KINDS.includes(key));
  return kinds.length === 1 ? kinds[0] : undefined;
}

/** Converts a part of the user. Unknown kinds of part are kept whole in a `data` part. */
export function contentOfPart(part: unknown): ContentPart {
  return readBlock<ContentPart>("gemini", part, [readText, readFile]);
}

/** Converts a part of the model. @param idFor  Makes an id, from the function's name, for a call that has none. */
export function assistantPartOf(part: unknown, idFor: (name: string) => string): Part {
  return readBlock<Part>("gemini", part, [readThought, (call) => readCall(call, idFor), readText, readFile]);
}

function readText(part: Fields): TextPart | undefined {
  const { text, ...fields } = part;
  if (kindOf(part) !== "text" || typeof text !== "string") return undefined;
  return { type: "text", text, ...keep("gemini", fields) };
}

/** An empty text with a signature counts as a thought, because only the model can use it. */
function readThought(part: Fields): ReasoningPart | undefined {
  const { text, ...fields } = part;
  if (kindOf(part) !== "text" || typeof text !== "string") return undefined;
  const isSignature = text === "" && typeof fields.thoughtSignature === "string";
  const as = fields.thought === true ? "thought" : isSignature ? "signature" : undefined;
  return as === undefined ? undefined : { type: "reasoning", text, ...keep("gemini", fields, { as }) };
}

function readCall(part: Fields, idFor: (name: string) => string): ToolCallPart | undefined {
  const { functionCall, ...fields } = part;
  const { id, name, args, ...inner } = asObject(functionCall);
  if (kindOf(part) !== "functionCall" || !isName(name)) return undefined;
  if ((id !== undefined && !isName(id)) || (args !== undefined && !isObject(args))) return undefined;
  const form = { id: id === undefined ? "absent" : undefined, args: args === undefined ? "absent" : undefined };
  const own = keep("gemini", { ...fields, ...nested("functionCall", inner) }, form);
  return { type: "tool_call", toolCallId: id ?? idFor(name), name, args: args ?? {}, ...own };
}

export function readFile(part: Fields): FilePart | undefined {
  const kind = kindOf(part);
  if (kind !== "inlineData" && kind !== "fileData") return undefined;
  const source = kind === "inlineData" ? "data" : "fileUri";
  const { [kind]: about, ...fields } = part;
  const { mimeType, displayName: name, [source]: held, ...inner } = asObject(about);
  if (typeof held !== "string" || (mimeType !== undefined && !isName(mimeType))) return undefined;
  if (name !== undefined && !isName(name)) return undefined;
  // Only some of Gemini's services accept a name, so only a name that came from Gemini is sent back.
  const form = { mimeType: mimeType === undefined ? "absent" : undefined, named: name === undefined ? name : true };
  const own = keep("gemini", { ...fields, ...nested(kind, inner) }, form);
  const content = kind === "inlineData" ? { data: held } : { url: held };
  return defined<FilePart>({ type: "file", mediaType: mimeType ?? UNKNOWN_TYPE, name, ...content, ...own });
}

/** @param takesFiles  If false, files become text. */
export function partOfContent(part: ContentPart, takesFiles = true): unknown {
  if (isUnknownBlock(part, "gemini")) return part.data;
  if (part.type === "text") return { ...ownOf(part, "gemini").fields, text: part.text };
  if (part.type === "file" && takesFiles && isAccepted(part)) return partOfFile(part);
  return { text: standInFor(part) };
}

/** Gemini accepts a file of unknown type at a URI, but refuses bytes of unknown type. */
function isAccepted(part: FilePart): boolean {
  return part.data === undefined ? part.url !== undefined : "gemini" in part || !part.mediaType.includes("*");
}

export function partOfFile({ mediaType, name, data, url, ...part }: FilePart): Fields {
  const { fields, form } = ownOf(part, "gemini");
  const kind = data === undefined ? "fileData" : "inlineData";
  const isKnown = form.mimeType !== "absent" && !mediaType.includes("*");
  const about = {
    ...asObject(fields[kind]),
    mimeType: isKnown ? mediaType : undefined,
    displayName: form.named === true ? name : undefined,
    ...(data === undefined ? { fileUri: url } : { data }),
  };
  return { ...fields, [kind]: defined(about) };
}

/** Returns undefined for reasoning of other models. */
export function partOfAssistant(part: Part): unknown {
  if (isContent(part)) return partOfContent(part);
  const { fields, form } = ownOf(part, "gemini");
  if (part.type === "reasoning") return form.as === undefined ? undefined : { ...fields, text: part.text };
  if (part.type !== "tool_call") return undefined;
  const args = argsObject(part.args);
  const isBare = form.args === "absent" && Object.keys(args).length === 0;
  const functionCall = {
    ...asObject(fields.functionCall),
    id: form.id === "absent" ? undefined : part.toolCallId,
    name: toolName(part.name),
    args: isBare ? undefined : args,
  };
  return { ...fields, functionCall: defined(functionCall) };
}
