// Public API. A name added here is supported until the next major version.
export { CoppiceMemoryService, type CoppiceMemoryServiceOptions } from "./adk/memory-service.ts";
export { CoppiceSessionService } from "./adk/session-service.ts";
