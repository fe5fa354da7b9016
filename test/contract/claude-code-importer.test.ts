import { claudeCode } from "../../src/importers/claude-code/importer.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: claudeCode,
  sample: sampleOf("claude-code/3f6c1d2e-0a4b-4c1d-9e8f-5a6b7c8d9e0f.jsonl"),
  foreign: samplesBut("claude-code"),
});
