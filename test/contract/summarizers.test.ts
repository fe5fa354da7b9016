import { afterAll, beforeAll } from "vitest";
import { geminiSummarizer } from "../../src/index.ts";
import { extractiveSummarizer } from "../../src/models/extractive-summarizer.ts";
import { type GeminiServer, startGeminiServer } from "../support/gemini-server.ts";
import { describeSummarizer } from "./summarizer.contract.ts";

let server: GeminiServer;
beforeAll(async () => {
  server = await startGeminiServer("good");
});
afterAll(() => server.close());

describeSummarizer("extractive", { create: extractiveSummarizer, deterministic: true });

describeSummarizer("gemini", {
  create: () => geminiSummarizer({ apiKey: "contract", baseUrl: server.url }),
  deterministic: true,
});
