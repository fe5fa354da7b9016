import type { JsonValue, Part, ToolResultPart } from "../../core/message.ts";
import { dataPartOf, filePartOf, type PlainPart, resultPart, resultTextOf } from "../file-parts.ts";
import type { JsonObject } from "../lines.ts";
import { objectOf, objectsOf, stringOf } from "../values.ts";

/** Returns the parts in the `content` of an item: blocks of OpenAI's Responses API. */
export function contentPartsOf(content: JsonValue | undefined): PlainPart[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (Array.isArray(content) ? content : [content]).map(contentPartOf);
}

function contentPartOf(block: JsonValue): PlainPart {
  const { type, text, image_url: url, ...fields } = objectOf(block);
  if (typeof text === "string" && (type === "input_text" || type === "output_text" || type === "text")) {
    return { type: "text", ...fields, text };
  }
  if (type === "input_image" && typeof url === "string") return filePartOf(url, "image/*", fields);
  return dataPartOf(block);
}

/** Returns the parts that an item adds to an assistant message, or undefined if the item does not belong to one. */
export function assistantPartsOf(item: JsonObject): Part[] | undefined {
  const { type, id, call_id, name, arguments: words, input, action, status: _, ...fields } = item;
  const toolCallId = stringOf(call_id) ?? stringOf(id);
  switch (type) {
    case "message":
      return item.role === "assistant" ? contentPartsOf(item.content) : undefined;
    case "reasoning":
      return [reasoningOf(item)];
    case "function_call":
    case "tool_search_call":
      if (toolCallId === undefined) return [dataPartOf(item)];
      return [callOf(toolCallId, stringOf(name) ?? (type as string), argumentsOf(words))];
    case "custom_tool_call":
      if (toolCallId === undefined || !stringOf(name)) return [dataPartOf(item)];
      return [{ ...callOf(toolCallId, name as string, { args: input ?? "" }), custom: true }];
    case "local_shell_call":
      if (toolCallId === undefined) return [dataPartOf(item)];
      return [callOf(toolCallId, "local_shell", { args: action ?? {} })];
    case "image_generation_call": {
      const { result, ...about } = fields;
      if (typeof result !== "string") return [dataPartOf(item)];
      return [{ type: "file", mediaType: "image/png", data: result, ...about }];
    }
    // The provider runs these calls and writes no answer to them. (A tool search that the program ran has a call id.)
    case "tool_search_output":
    case "web_search_call":
    case "compaction":
    case "context_compaction":
      return [dataPartOf(item)];
    default:
      return undefined;
  }
}

function callOf(toolCallId: string, name: string, given: { args: JsonValue; arguments?: string }): Part {
  return { type: "tool_call", toolCallId, name, ...given };
}

/** Parses the JSON arguments of a call. Also keeps the string if serializing the value would give another string. */
function argumentsOf(words: JsonValue | undefined): { args: JsonValue; arguments?: string } {
  if (typeof words !== "string") return { args: words ?? {} };
  try {
    const args: JsonValue = JSON.parse(words);
    return JSON.stringify(args) === words ? { args } : { args, arguments: words };
  } catch {
    return { args: words };
  }
}

function reasoningOf({ type: _, summary, content, ...rest }: JsonObject): Part {
  const words = [...objectsOf(summary), ...objectsOf(content)].flatMap(({ text }) => stringOf(text) ?? []);
  return { type: "reasoning", ...rest, text: words.join("\n\n") };
}

export function resultPartOf(item: JsonObject): ToolResultPart | undefined {
  const { type, call_id, output, tools } = item;
  const toolCallId = stringOf(call_id);
  if (toolCallId === undefined) return undefined;
  if (type === "tool_search_output") return resultPart(toolCallId, resultTextOf(tools));
  if (type !== "function_call_output" && type !== "custom_tool_call_output") return undefined;
  const { content, content_items, body, success } = objectOf(output);
  const answer = content_items ?? content ?? body ?? output;
  const isError = success === false || undefined;
  return resultPart(toolCallId, Array.isArray(answer) ? contentPartsOf(answer) : resultTextOf(answer), { isError });
}

export function wordsOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.type === "text" || part.type === "reasoning" ? [part.text] : []));
}
