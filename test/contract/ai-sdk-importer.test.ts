import { aiSdk } from "../../src/importers/ai-sdk.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: aiSdk,
  sample: sampleOf("ai-sdk/chat.json"),
  foreign: samplesBut("ai-sdk"),
  isDocument: true,
});
