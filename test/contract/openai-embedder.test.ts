import { afterAll, beforeAll } from "vitest";
import { openaiEmbedder } from "../../src/index.ts";
import { OPENAI_DIMENSION, type OpenaiServer, startOpenaiServer } from "../support/openai-server.ts";
import { describeRemoteEmbedder } from "./embedder.contract.ts";

let server: OpenaiServer;
beforeAll(async () => {
  server = await startOpenaiServer("good");
});
afterAll(() => server.close());

describeRemoteEmbedder("a server with OpenAI's API", {
  create: () => openaiEmbedder({ baseUrl: server.url, model: "words", dimension: OPENAI_DIMENSION }),
  close: ["The session lock in lock.ts is never released", "releasing locks: lock.ts forgets its session"],
  far: "Bake the bread at 230 degrees for forty minutes",
});
