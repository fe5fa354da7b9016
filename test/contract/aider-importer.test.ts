import { aider } from "../../src/importers/aider.ts";
import { describeImporter } from "./importer.contract.ts";
import { sampleOf, samplesBut } from "./importer-samples.ts";

describeImporter({
  importer: aider,
  sample: sampleOf("aider/.aider.chat.history.md"),
  foreign: samplesBut("aider"),
  isText: true,
});
