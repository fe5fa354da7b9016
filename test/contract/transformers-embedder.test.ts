import { setTimeout as sleep } from "node:timers/promises";
import { transformersEmbedder } from "../../src/index.ts";
import { vectorOf } from "../support/gemini-model.ts";
import { describeRemoteEmbedder } from "./embedder.contract.ts";

describeRemoteEmbedder("a pipeline of Transformers.js", {
  create: () =>
    transformersEmbedder({
      pipeline: async (texts) => {
        await sleep(1);
        return { tolist: () => texts.map((text) => vectorOf(text, 384)) };
      },
      model: "Xenova/all-MiniLM-L6-v2",
    }),
  close: ["The session lock in lock.ts is never released", "releasing locks: lock.ts forgets its session"],
  far: "Bake the bread at 230 degrees for forty minutes",
});
