import { afterAll, beforeAll } from "vitest";
import { geminiEmbedder, openaiEmbedder, staticEmbedder } from "../../src/index.ts";
import { type GeminiServer, startGeminiServer } from "../support/gemini-server.ts";
import { OPENAI_DIMENSION, type OpenaiServer, startOpenaiServer } from "../support/openai-server.ts";
import { staticModel } from "../support/static-model.ts";
import { describeLocalEmbedder, describeRemoteEmbedder } from "./embedder.contract.ts";

const TEXTS = {
  close: ["The session lock in lock.ts is never released", "releasing locks: lock.ts forgets its session"],
  far: "Bake the bread at 230 degrees for forty minutes",
} as const;

let gemini: GeminiServer;
let openai: OpenaiServer;
beforeAll(async () => {
  gemini = await startGeminiServer("good");
  openai = await startOpenaiServer("good");
});
afterAll(async () => {
  await gemini.close();
  await openai.close();
});

for (const model of ["gemini-embedding-2", "gemini-embedding-001"] as const) {
  describeRemoteEmbedder(model, {
    create: () => geminiEmbedder({ apiKey: "contract", baseUrl: gemini.url, model }),
    ...TEXTS,
  });
}

describeRemoteEmbedder("a server with OpenAI's API", {
  create: () => openaiEmbedder({ baseUrl: openai.url, model: "words", dimension: OPENAI_DIMENSION }),
  ...TEXTS,
});

const folder = staticModel();

describeLocalEmbedder("a static model", {
  create: () => staticEmbedder({ folder }),
  close: ["The session lock is never released", "release a latch"],
  far: "bake the bread",
  wordless: ["", " \n\t", "☃"],
});
