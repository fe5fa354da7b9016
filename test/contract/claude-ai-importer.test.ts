import { claudeAi } from "../../src/importers/claude-ai.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: claudeAi,
  sample: sampleOf("claude-ai/conversations.json"),
  foreign: samplesBut("claude-ai"),
  isDocument: true,
});
