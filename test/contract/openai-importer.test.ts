import { openai } from "../../src/importers/openai.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: openai,
  sample: sampleOf("openai/request.json"),
  foreign: samplesBut("openai"),
  isDocument: true,
});
describeImporter({ importer: openai, sample: sampleOf("openai/training.jsonl"), foreign: samplesBut("openai") });
