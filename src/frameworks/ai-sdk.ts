// Public API. A name added here is supported until the next major version.
export { CoppiceChats } from "./ai-sdk/chats.ts";
export { type ContextSteps, contextSteps, type PreparedStep } from "./ai-sdk/context-steps.ts";
