/** The fields in which OpenAI-compatible servers put a model's reasoning. OpenAI itself does not send it. */
export const REASONING_FIELDS = ["reasoning_content", "reasoning"] as const;

/** The most characters that OpenAI takes in a call's id. */
export const CALL_ID_CHARS_MAX = 40;

/** The most characters that OpenAI takes in a tool's name. */
export const TOOL_NAME_CHARS_MAX = 64;

/** Returns true for a speaker's name that OpenAI takes. */
export function isLegalName(name: unknown): name is string {
  return typeof name === "string" && /^[^\s<|\\/>]{1,64}$/.test(name) && name.isWellFormed();
}
