// Public API. A name added here is supported until the next major version.
export { CoppiceChatMessageHistory } from "./langgraph/chat-history.ts";
export { CoppiceStore } from "./langgraph/item-store.ts";
export { CoppiceSaver, type CoppiceSaverOptions } from "./langgraph/saver.ts";
