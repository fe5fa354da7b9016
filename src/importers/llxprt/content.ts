import type { Part, Role } from "../../core/message.ts";
import { dataPartOf, filePartOf, resultTextOf } from "../file-parts.ts";
import type { JsonObject } from "../lines.ts";
import { objectsOf, stringOf } from "../values.ts";

export const ROLES: Record<string, Role> = { human: "user", ai: "assistant", tool: "tool" };

/**
 * The blocks of a content as parts of a message of `role`. Fields of a block that a part does not have stay in it under
 * their own names; a block of a kind we have no part for, or that the role may not have, becomes data.
 */
export function partsOf(role: Role, content: JsonObject): Part[] {
  return objectsOf(content.blocks).map((block) => partOf(role, block));
}

function partOf(role: Role, block: JsonObject): Part {
  const { type, ...fields } = block;
  if (type === "text" && typeof fields.text === "string") return { type, ...fields, text: fields.text };
  if (role === "assistant" && type === "thinking" && typeof fields.thought === "string") {
    const { thought, ...rest } = fields;
    return { type: "reasoning", ...rest, text: thought as string };
  }
  if (role === "assistant" && type === "tool_call" && stringOf(fields.id) && stringOf(fields.name)) {
    const { id, name, parameters, ...rest } = fields;
    return { type: "tool_call", ...rest, toolCallId: id as string, name: name as string, args: parameters ?? {} };
  }
  if (type === "code" && typeof fields.code === "string")
    return { ...fields, type: "text", text: fields.code, code: true };
  if (type === "media" && typeof fields.data === "string") {
    const { data, mimeType, encoding, filename, ...rest } = fields;
    const named = stringOf(filename) === undefined ? rest : { ...rest, name: filename as string };
    if (encoding === "url") return filePartOf(data as string, stringOf(mimeType), named);
    return {
      type: "file",
      ...named,
      mediaType: stringOf(mimeType) ?? "application/octet-stream",
      data: data as string,
    };
  }
  return dataPartOf(block);
}

/** A tool's answer; undefined for a block that is none. */
export function resultPartOf({ type, callId, toolName, result, error, ...fields }: JsonObject): Part | undefined {
  if (type !== "tool_response" || !stringOf(callId)) return undefined;
  const answer = resultTextOf(result);
  const part: Part = {
    type: "tool_result",
    ...fields,
    toolCallId: callId as string,
    content: answer === "" ? resultTextOf(error) : answer,
  };
  if (stringOf(toolName)) part.name = toolName as string;
  if (stringOf(error)) {
    part.isError = true;
    if (answer !== "") part.error = error as string;
  }
  return part;
}
