import type { Suite } from "./run.ts";

/** The suites that `npm run suites` knows. */
export const SUITES: readonly Suite[] = [
  {
    // https://github.com/openai/openai-agents-js
    option: "openai-agents",
    versions: "0.17",
    folder: "packages/agents-core",
    tests: ["test/memorySession.test.ts", "test/hitlMemorySessionScenario.test.ts"],
    files: {
      "src/memory/memorySession.ts": `
        import { openStore } from "SOURCE/index.ts";
        import { CoppiceSession } from "SOURCE/frameworks/openai-agents.ts";
        export class MemorySession extends CoppiceSession {
          constructor({ initialItems = [], ...options } = {}) {
            super(openStore(":memory:"), options);
            void this.addItems(initialItems);
          }
        }`,
    },
    aliases: {
      "@openai/agents-core/_shims/config": "./src/shims/config-node.ts",
      "@openai/agents-core/_shims": "./src/shims/shims-node.ts",
      "@openai/agents-core": "./src/index.ts",
    },
  },
  {
    // https://github.com/anthropics/claude-agent-sdk-typescript
    option: "claude-agent-sdk",
    versions: "0.3",
    folder: "examples/session-stores/shared",
    tests: ["coppice.test.ts"],
    files: {
      "coppice.test.ts": `
        import { openStore } from "SOURCE/index.ts";
        import { CoppiceSessionStore } from "SOURCE/frameworks/claude-agent-sdk.ts";
        import { runSessionStoreConformance } from "./conformance.ts";
        runSessionStoreConformance(() => new CoppiceSessionStore(openStore(":memory:")));`,
    },
    aliases: { "bun:test": "vitest" },
  },
  {
    // https://github.com/google/adk-js
    option: "adk",
    versions: "2.0",
    folder: "core",
    tests: ["test/sessions/database_session_service_test.ts", "test/memory/in_memory_memory_service_test.ts"],
    files: {
      // Two cases look into the tables of their database. Here they get what a second service reads from the store.
      "coppice-adk.ts": `
        export * from "SOURCE/../node_modules/@google/adk/dist/esm/index.js";
        import { openStore } from "SOURCE/index.ts";
        import { CoppiceMemoryService, CoppiceSessionService } from "SOURCE/frameworks/adk.ts";
        const tablesOf = (store) => {
          const read = (sessionId) =>
            new CoppiceSessionService(store).getSession({ appName: "test-app", userId: "test-user", sessionId });
          return {
            find: async (_table, { sessionId }) =>
              (await read(sessionId)).events.map((eventData) => ({ sessionId, eventData })),
            findOne: async (_table, { id }) => ({ id, updateTime: new Date((await read(id)).lastUpdateTime) }),
          };
        };
        export function DatabaseSessionService() {
          const store = openStore(":memory:");
          const orm = { close: async () => store.close(), em: { fork: () => tablesOf(store) } };
          return Object.assign(new CoppiceSessionService(store), { init: async () => {}, orm });
        }
        export function InMemoryMemoryService() {
          return new CoppiceMemoryService(openStore(":memory:"));
        }`,
      "no-driver.ts": "export class SqliteDriver {}",
      "src/sessions/database_session_service.ts":
        'export * from "SOURCE/../node_modules/@google/adk/dist/esm/sessions/database_session_service.js";',
      "src/sessions/db/operations.ts":
        'export * from "SOURCE/../node_modules/@google/adk/dist/esm/sessions/db/operations.js";',
    },
    aliases: { "@google/adk": "./coppice-adk.ts", "@mikro-orm/sqlite": "./no-driver.ts" },
    excused: {
      "DatabaseSessionService should fail with incompatible schema version":
        "It writes into the table in which ADK keeps the version of its own tables. A store refuses newer versions itself.",
    },
  },
];
