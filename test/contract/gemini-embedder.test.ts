import { afterAll, beforeAll } from "vitest";
import { geminiEmbedder } from "../../src/index.ts";
import { type GeminiServer, startGeminiServer } from "../support/gemini-server.ts";
import { describeRemoteEmbedder } from "./embedder.contract.ts";

let server: GeminiServer;
beforeAll(async () => {
  server = await startGeminiServer("good");
});
afterAll(() => server.close());

const TEXTS = {
  close: ["The session lock in lock.ts is never released", "releasing locks: lock.ts forgets its session"],
  far: "Bake the bread at 230 degrees for forty minutes",
} as const;

describeRemoteEmbedder("gemini-embedding-2", {
  create: () => geminiEmbedder({ apiKey: "contract", baseUrl: server.url }),
  ...TEXTS,
});

describeRemoteEmbedder("gemini-embedding-001", {
  create: () => geminiEmbedder({ apiKey: "contract", baseUrl: server.url, model: "gemini-embedding-001" }),
  ...TEXTS,
});
