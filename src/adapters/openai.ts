// Public API. A name added here is supported until the next major version.
export { fromOpenai, type OpenaiMessage } from "./openai/from.ts";
export { toOpenai } from "./openai/to.ts";
export type { AdaptedMessage, AnyMessage } from "./shared/message.ts";
