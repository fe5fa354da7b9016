import type { Suite } from "./run.ts";

/** The suites that `npm run suites` knows. */
export const SUITES: readonly Suite[] = [
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
