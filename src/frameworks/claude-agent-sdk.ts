// Public API. A name added here is supported until the next major version.
export {
  CoppiceSessionStore,
  type CoppiceSessionStoreOptions,
  type SessionKey,
  type SessionStoreEntry,
  type SessionSummaryEntry,
} from "./claude-agent-sdk/session-store.ts";
