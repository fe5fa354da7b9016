import type { Suite } from "./run.ts";

/** The suites that `npm run suites` knows. */
export const SUITES: readonly Suite[] = [
  {
    // https://github.com/openai/openai-agents-js
    option: "openai-agents",
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
];
