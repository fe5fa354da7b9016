import type { FilePart, Part, ReasoningPart, ToolCallPart } from "../../core/message.ts";
import { legalId } from "../shared/legal-id.ts";
import {
  argsObject,
  type ContentPart,
  foreignBlock,
  isContent,
  isForeignBlock,
  standInFor,
} from "../shared/message.ts";
import { type Fields, isName, isObject, keep, nested, ownOf } from "../shared/own.ts";

/** The kinds of part that we convert. A part has exactly one of these keys. */
const KINDS = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];

/** The media type of a file whose type is unknown. */
const UNKNOWN_TYPE = "application/octet-stream";

const ILLEGAL_IN_NAME = /^[^a-zA-Z_]|[^a-zA-Z0-9_.:-]/g;
const NAME_CHARS_MAX = 64;

export function toolName(name: string): string {
  return legalId(name, ILLEGAL_IN_NAME, NAME_CHARS_MAX);
}

/** Returns the kind of a part, or undefined if it has none or several. */
export function kindOf(part: unknown): string | undefined {
  if (!isObject(part)) return undefined;
  const kinds = Object.keys(part).filter((key) => KINDS.includes(key));
  return kinds.length === 1 ? kinds[0] : undefined;
}

/** Converts a part of a user or system content. Kinds that we do not know are kept whole in a `data` part. */
export function contentOfPart(part: unknown): ContentPart {
  const kind = kindOf(part);
  if (kind === "text" && typeof (part as Fields).text === "string") {
    const { text, ...fields } = part as Fields & { text: string };
    return { type: "text", text, ...keep("gemini", fields) };
  }
  const file = kind === "inlineData" || kind === "fileData" ? fileOfPart(part as Fields, kind) : undefined;
  return file ?? foreignBlock("gemini", part);
}

/** Converts a part of a model content. @param idFor  Makes the id of a call that has none, from its function's name. */
export function partOfModel(part: unknown, idFor: (name: string) => string): Part {
  const kind = kindOf(part);
  if (kind === "text") return thoughtOfPart(part as Fields) ?? contentOfPart(part);
  return (kind === "functionCall" ? callOfPart(part as Fields, idFor) : undefined) ?? contentOfPart(part);
}

/** Converts a thought. An empty text with a signature counts as a thought, because only the model can use it. */
function thoughtOfPart({ text, ...fields }: Fields): ReasoningPart | undefined {
  if (typeof text !== "string") return undefined;
  if (fields.thought === true) return { type: "reasoning", text, ...keep("gemini", fields, { as: "thought" }) };
  const isSignature = text === "" && typeof fields.thoughtSignature === "string";
  return isSignature ? { type: "reasoning", text, ...keep("gemini", fields, { as: "signature" }) } : undefined;
}

function callOfPart({ functionCall, ...fields }: Fields, idFor: (name: string) => string): ToolCallPart | undefined {
  if (!isObject(functionCall) || !isName(functionCall.name)) return undefined;
  const { id, name, args, ...inner } = functionCall as Fields & { name: string };
  if ((id !== undefined && !isName(id)) || (args !== undefined && !isObject(args))) return undefined;
  const own = keep(
    "gemini",
    { ...fields, ...nested("functionCall", inner) },
    { id: id === undefined ? "absent" : undefined, args: args === undefined ? "absent" : undefined },
  );
  return { type: "tool_call", toolCallId: id ?? idFor(name), name, args: args ?? {}, ...own };
}

/** Converts a file, given by its bytes or its URI. */
export function fileOfPart(part: Fields, kind: "inlineData" | "fileData"): FilePart | undefined {
  const { [kind]: about, ...fields } = part;
  if (!isObject(about)) return undefined;
  const source = kind === "inlineData" ? "data" : "fileUri";
  const { mimeType, displayName, [source]: held, ...inner } = about;
  if (typeof held !== "string" || (mimeType !== undefined && !isName(mimeType))) return undefined;
  if (displayName !== undefined && !isName(displayName)) return undefined;
  const own = keep(
    "gemini",
    { ...fields, ...nested(kind, inner) },
    // Only some of Gemini's services accept a name, so only a name that came from Gemini is sent back.
    { mimeType: mimeType === undefined ? "absent" : undefined, named: displayName === undefined ? undefined : true },
  );
  const named = displayName === undefined ? {} : { name: displayName };
  const content = kind === "inlineData" ? { data: held } : { url: held };
  return { type: "file", mediaType: mimeType ?? UNKNOWN_TYPE, ...named, ...content, ...own };
}

/** Converts text, a file or data. @param takesFiles  False if files are not allowed there; they become text then. */
export function partOfContent(part: ContentPart, takesFiles = true): unknown {
  if (isForeignBlock(part, "gemini")) return part.data;
  if (part.type === "text") return { ...ownOf(part, "gemini").fields, text: part.text };
  if (part.type === "file" && takesFiles && isTaken(part)) return partOfFile(part);
  return { text: standInFor(part) };
}

/** Gemini takes a URI of unknown type, but no bytes of unknown type. */
function isTaken(part: FilePart): boolean {
  return part.data === undefined ? part.url !== undefined : "gemini" in part || !part.mediaType.includes("*");
}

export function partOfFile(part: FilePart): Fields {
  const { fields, form } = ownOf(part, "gemini");
  const kind = part.data === undefined ? "fileData" : "inlineData";
  const isKnown = form.mimeType !== "absent" && !part.mediaType.includes("*");
  const about = {
    ...(isObject(fields[kind]) ? fields[kind] : {}),
    ...(isKnown && { mimeType: part.mediaType }),
    ...(form.named === true && part.name !== undefined && { displayName: part.name }),
    ...(part.data === undefined ? { fileUri: part.url } : { data: part.data }),
  };
  return { ...fields, [kind]: about };
}

/** Converts a part of an assistant message. Returns undefined for reasoning of other models. */
export function partOfSaid(part: Part): unknown {
  if (isContent(part)) return partOfContent(part);
  const { fields, form } = ownOf(part, "gemini");
  if (part.type === "reasoning") return form.as === undefined ? undefined : { ...fields, text: part.text };
  if (part.type !== "tool_call") return undefined;
  const args = argsObject(part.args);
  const isBare = form.args === "absent" && Object.keys(args).length === 0;
  const functionCall = {
    ...(isObject(fields.functionCall) ? fields.functionCall : {}),
    ...(form.id !== "absent" && { id: part.toolCallId }),
    name: toolName(part.name),
    ...(!isBare && { args }),
  };
  return { ...fields, functionCall };
}
