// Public API. A name added here is supported until the next major version.
export { type AnthropicConversation, type AnthropicMessage, fromAnthropic } from "./anthropic/from.ts";
export { type ToAnthropicOptions, toAnthropic } from "./anthropic/to.ts";
export type { AdaptedMessage, AnyMessage } from "./shared/message.ts";
