// Public API. A name added here is supported until the next major version.
export { fromAiSdk } from "./ai-sdk/from.ts";
export { toAiSdk } from "./ai-sdk/to.ts";
export { fromUiMessages, toUiMessages } from "./ai-sdk/ui.ts";
export type { AdaptedMessage, AnyMessage } from "./shared/message.ts";
