export const ROLES = ["system", "user", "assistant", "tool"] as const;

export const PART_TYPES = ["text", "reasoning", "tool_call", "tool_result", "file", "data"] as const;
