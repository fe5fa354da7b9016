// Public API. A name added here is supported until the next major version.
export { CoppiceSession, type CoppiceSessionOptions } from "./openai-agents/session.ts";
