// Public API. A name added here is supported until the next major version.
export { fromGemini, type GeminiConversation } from "./gemini/from.ts";
export { type ToGeminiOptions, toGemini } from "./gemini/to.ts";
export type { AdaptedMessage, AnyMessage } from "./shared/message.ts";
