/** Where servers that speak OpenAI's language put what their models think; OpenAI itself does not show it. */
export const REASONING_FIELDS = ["reasoning_content", "reasoning"] as const;

/** Characters of a call's id that OpenAI takes. */
export const CALL_ID_CHARS_MAX = 40;

/** Of a tool's name. */
export const TOOL_NAME_CHARS_MAX = 64;

/** Of whoever speaks. */
export function isLegalName(name: unknown): name is string {
  return typeof name === "string" && /^[^\s<|\\/>]{1,64}$/.test(name) && name.isWellFormed();
}
