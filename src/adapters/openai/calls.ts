import type { DataPart, Part, ToolCallPart } from "../../core/message.ts";
import { legalId } from "../shared/legal-id.ts";
import { isUnknownBlock, readBlock } from "../shared/message.ts";
import { asObject, type Fields, isName, isObject, keep, nested, ownOf } from "../shared/own.ts";

const ILLEGAL_IN_NAME = /[^a-zA-Z0-9_-]/g;
const NAME_CHARS_MAX = 64;
/** Matches nothing: ids may have any character. */
const ILLEGAL_IN_ID = /(?!)/g;
const ID_CHARS_MAX = 40;
/** Marks an entry of `tool_calls` that is not a call. */
const ODD_CALL = "tool_call";

/** Converts `tool_calls`. An entry that is not a valid call is kept whole in a `data` part. */
export function callsOf(toolCalls: unknown): (ToolCallPart | DataPart)[] {
  if (!Array.isArray(toolCalls)) return [];
  return toolCalls.map((call) => {
    const part = readBlock("openai", call, [functionCallOf, customCallOf]);
    return part.type === "data" ? { ...part, ...keep("openai", {}, { as: ODD_CALL }) } : part;
  });
}

function functionCallOf({ id, type, function: called, ...fields }: Fields): ToolCallPart | undefined {
  const { name, arguments: text, ...inner } = asObject(called);
  if ((type !== "function" && type !== undefined) || fields.custom !== undefined) return undefined;
  if (!isName(id) || !isName(name) || !isArguments(text)) return undefined;
  const { args, raw } = readArguments(text);
  // Some servers leave out the type.
  const form = { raw, as: type === undefined ? "untyped" : undefined };
  const own = keep("openai", { ...fields, ...nested("function", inner) }, form);
  return { type: "tool_call", toolCallId: id, name, args, ...own };
}

function customCallOf({ id, type, custom, ...fields }: Fields): ToolCallPart | undefined {
  const { name, input, ...inner } = asObject(custom);
  if (type !== "custom" || fields.function !== undefined) return undefined;
  if (!isName(id) || !isName(name) || typeof input !== "string") return undefined;
  const own = keep("openai", { ...fields, ...nested("custom", inner) }, { as: type });
  return { type: "tool_call", toolCallId: id, name, args: input, ...own };
}

/** Converts the legacy `function_call`. Its name serves as the id, because its result has no id. */
export function legacyCallOf(call: unknown): ToolCallPart[] {
  const { name, arguments: text, ...fields } = asObject(call);
  if (!isName(name) || !isArguments(text)) return [];
  const { args, raw } = readArguments(text);
  return [{ type: "tool_call", toolCallId: name, name, args, ...keep("openai", fields, { as: "function_call", raw }) }];
}

export function isCall(part: Part): part is ToolCallPart | DataPart {
  return part.type === "tool_call" || (isUnknownBlock(part, "openai") && ownOf(part, "openai").form.as === ODD_CALL);
}

export function isLegacyCall(part: Part): boolean {
  return ownOf(part, "openai").form.as === "function_call";
}

/** Returns an entry of `tool_calls`, or the value of `function_call` for a legacy call. */
export function callBlockOf(part: ToolCallPart | DataPart): unknown {
  if (part.type === "data") return part.data;
  const { fields, form } = ownOf(part, "openai");
  const name = legalId(part.name, ILLEGAL_IN_NAME, NAME_CHARS_MAX);
  if (form.as === "function_call") return { ...fields, name, arguments: argumentsOf(part) };
  const id = callIdOf(part);
  if (form.as === "custom" && typeof part.args === "string") {
    return { ...fields, id, type: "custom", custom: { ...asObject(fields.custom), name, input: part.args } };
  }
  const called = { ...asObject(fields.function), name, arguments: argumentsOf(part) };
  return { ...fields, id, ...(form.as !== "untyped" && { type: "function" }), function: called };
}

export function callIdOf({ toolCallId }: { toolCallId: string }): string {
  return legalId(toolCallId, ILLEGAL_IN_ID, ID_CHARS_MAX);
}

/** Some programs store arguments that are parsed already. */
function isArguments(value: unknown): value is string | Fields {
  return typeof value === "string" || isObject(value);
}

/** Parses the arguments. `raw` is the original text if `JSON.stringify` would write another text, for example without spaces. */
function readArguments(text: string | Fields): { args: unknown; raw: string | undefined } {
  if (typeof text !== "string") return { args: text, raw: undefined };
  try {
    const args: unknown = JSON.parse(text);
    return { args, raw: JSON.stringify(args) === text ? undefined : text };
  } catch {
    return { args: text, raw: text };
  }
}

/** Returns the original text of the arguments, unless a context has shortened them. */
function argumentsOf(part: ToolCallPart): string {
  const { raw } = ownOf(part, "openai").form;
  const written = JSON.stringify(part.args === undefined ? {} : part.args);
  return typeof raw === "string" && JSON.stringify(readArguments(raw).args) === written ? raw : written;
}
