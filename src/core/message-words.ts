/** Who speaks. */
export const ROLES = ["system", "user", "assistant", "tool"] as const;

/** What a message is made of. */
export const PART_TYPES = ["text", "reasoning", "tool_call", "tool_result", "file", "data"] as const;
