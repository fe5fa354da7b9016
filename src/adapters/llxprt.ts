// Public API. A name added here is supported until the next major version.
export type { LlxprtBlock, LlxprtContent, LlxprtConversation } from "./llxprt/content.ts";
export { fromLlxprt } from "./llxprt/from.ts";
export { toLlxprt } from "./llxprt/to.ts";
export type { AdaptedMessage, AnyMessage } from "./shared/message.ts";
